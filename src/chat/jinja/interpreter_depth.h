// Counts how deep the interpreter's functions call each other.
#pragma once

#include "chat/jinja/interpreter.h"

namespace emlx::jinja {

class Interpreter::DepthGuard {
 public:
  explicit DepthGuard(Interpreter& interpreter) : interpreter_(interpreter) {
    if (++interpreter_.depth_ > kMaxCallDepth)
      interpreter_.runtime_.fail("expected calls nested at most {} deep, got more", kMaxCallDepth);
  }
  ~DepthGuard() { --interpreter_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Interpreter& interpreter_;
};

}  // namespace emlx::jinja
