// Tokens to a Program. The grammar is jinja2's; what jinja2 has and this subset lacks is refused by
// name: extends, block, include, import, from, autoescape, recursive loops, and some filters.
#pragma once

#include <memory>
#include <string_view>

#include "chat/jinja/ast.h"

namespace emlx::jinja {

// Throws Error(InvalidFile or Unsupported): "chat template line N: ...".
std::shared_ptr<const Program> parse_program(std::string_view source);

}  // namespace emlx::jinja
