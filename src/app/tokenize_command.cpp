#include <fmt/format.h>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"

namespace emlx {

int run_tokenize(const TokenizeFlags& flags) {
  const std::string prompt = read_prompt(flags.prompt);
  const TextModel text = open_text_model(find_model(flags.model));
  const std::vector<TokenId> ids = flags.chat
                                       ? encode_chat(text, single_turn("", prompt), ChatOptions{})
                                       : encode_raw(text, prompt);
  if (flags.json) {
    JsonArray tokens;
    for (const TokenId id : ids)
      tokens.push_back(JsonObject{{"id", id}, {"token", text.tokenizer->token_text(id)}});
    print(to_json(JsonObject{{"count", ids.size()}, {"tokens", std::move(tokens)}},
                  JsonStyle::Python) +
          "\n");
    return 0;
  }
  for (const TokenId id : ids) {
    std::string quoted;
    append_json_string(quoted, text.tokenizer->token_text(id));
    if (!print(fmt::format("{:>7}  {}\n", id, quoted))) return 0;
  }
  print_error(dim(fmt::format("{} tokens", ids.size())) + "\n");
  return 0;
}

}  // namespace emlx
