// Chat templates: Jinja, rendered as transformers does (jinja2's ImmutableSandboxedEnvironment with
// trim_blocks, lstrip_blocks and loop controls; no autoescape).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/json.h"

namespace emlx {

namespace jinja {
struct Program;
}

// A parsed template. Immutable; copies share it, any number of threads may render it at once.
// Parsing and rendering need up to 350 KiB of stack.
class ChatTemplate {
 public:
  // Throws Error(InvalidFile) for what is no template, Error(Unsupported) for what this subset of
  // Jinja lacks: "chat template line N: expected ..., got ...".
  static ChatTemplate parse(std::string_view source);

  // `variables`: messages, tools, add_generation_prompt, bos_token, ... Throws
  // Error(InvalidArgument) if they do not fit the template or it asks for too much memory or time,
  // Error(Unsupported) if it comes upon a method this subset lacks. What a template says through
  // raise_exception() is the whole message.
  std::string render(const JsonObject& variables) const;

  // Whether a string literal of the template is exactly `text`.
  bool has_literal(std::string_view text) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const jinja::Program> program);

  std::shared_ptr<const jinja::Program> program_;
};

}  // namespace emlx
