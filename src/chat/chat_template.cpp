#include "chat/chat_template.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "chat/jinja/interpreter.h"
#include "chat/jinja/parser.h"

namespace emlx {
namespace {

constexpr std::size_t kMaxSource = std::size_t{4} << 20;

}  // namespace

ChatTemplate::ChatTemplate(std::shared_ptr<const jinja::Program> program)
    : program_(std::move(program)) {}

ChatTemplate ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSource)
    fail(ErrorCode::InvalidFile, "chat template line 1: expected at most {} bytes, got {}",
         kMaxSource, source.size());
  return ChatTemplate(jinja::parse_program(source));
}

std::string ChatTemplate::render(const JsonObject& variables) const {
  return jinja::Interpreter(*program_, variables).run();
}

bool ChatTemplate::has_literal(std::string_view text) const {
  const auto& literals = program_->literals;
  return std::find(literals.begin(), literals.end(), text) != literals.end();
}

}  // namespace emlx
