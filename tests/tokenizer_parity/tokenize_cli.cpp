// The tokenizer behind JSON lines, for hf_parity.py.
//
//   tokenize_cli tokenizer FILE    FILE is a tokenizer.json
//   tokenize_cli vocab FILE        FILE is a GGUF vocabulary as JSON (some members of VocabData)
//   tokenize_cli gguf FILE         FILE is a GGUF model
//
// Each line of standard input is a request, answered by one line:
//   {"op": "encode", "texts": [..], "add_special_tokens": bool}   -> [[id, ..], ..]
//   {"op": "decode", "ids": [[..], ..], "skip_special_tokens": bool} -> [[whole, streamed], ..]
//   {"op": "normalize", "normalizer": {..}, "texts": [..]}        -> [text, ..]
//   {"op": "pre_tokenize", "pre_tokenizer": {..}, "texts": [..]}  -> [[piece, ..], ..]
//   {"op": "tokenizer_json"}                                      -> the file made of the
//   vocabulary
#include <fmt/format.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "formats/gguf.h"
#include "formats/gguf_vocab.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace emlx {
namespace {

constexpr std::size_t kMaxFile = std::size_t{64} << 20;

VocabData vocab_from_json(const JsonObject& file) {
  VocabData vocab;
  vocab.model = std::string(file.at("model").as_string());
  vocab.pre = std::string(file.at("pre").as_string());
  for (const auto& text : file.at("tokens").as_array()) vocab.tokens.emplace_back(text.as_string());
  for (const auto& type : file.at("types").as_array())
    vocab.types.push_back(static_cast<VocabTokenType>(type.as_int64()));
  for (const auto& merge : file.at("merges").as_array())
    vocab.merges.emplace_back(merge.as_string());
  return vocab;
}

JsonArray decode(const Tokenizer& tokenizer, const JsonArray& list, bool skip) {
  std::vector<TokenId> ids;
  for (const auto& id : list) ids.push_back(static_cast<TokenId>(id.as_int64()));
  StreamDecoder stream(tokenizer, skip);
  std::string streamed;
  for (const TokenId id : ids) streamed += stream.append(id);
  streamed += stream.finish();
  return {JsonValue(tokenizer.decode(ids, skip)), JsonValue(streamed)};
}

JsonArray pre_tokenize(const PreTokenizer& pre_tokenizer, std::string_view text) {
  PreTokenizer::Pieces pieces;
  pre_tokenizer.split(text, pieces);
  JsonArray answer;
  for (const std::string_view piece : pieces.views) answer.emplace_back(piece);
  return answer;
}

JsonValue answer(const Tokenizer& tokenizer, const std::string& vocab_json,
                 const JsonObject& request) {
  const auto& op = request.at("op").as_string();
  if (op == "tokenizer_json") return JsonValue(vocab_json);
  JsonArray answers;
  if (op == "encode") {
    for (const auto& text : request.at("texts").as_array()) {
      const auto ids =
          tokenizer.encode(text.as_string(), request.at("add_special_tokens").as_bool());
      answers.emplace_back(JsonArray(ids.begin(), ids.end()));
    }
  } else if (op == "decode") {
    for (const auto& ids : request.at("ids").as_array())
      answers.emplace_back(
          decode(tokenizer, ids.as_array(), request.at("skip_special_tokens").as_bool()));
  } else if (op == "normalize") {
    const Normalizer normalizer(request.at("normalizer"));
    std::string storage;
    for (const auto& text : request.at("texts").as_array())
      answers.emplace_back(normalizer.apply(text.as_string(), storage));
  } else if (op == "pre_tokenize") {
    const PreTokenizer pre_tokenizer(request.at("pre_tokenizer"));
    for (const auto& text : request.at("texts").as_array())
      answers.emplace_back(pre_tokenize(pre_tokenizer, text.as_string()));
  } else {
    fail(ErrorCode::InvalidArgument, "unknown op");
  }
  return answers;
}

VocabData read_vocab(std::string_view kind, const char* path) {
  if (kind == "gguf") return read_gguf_vocab(open_gguf(path).metadata);
  return vocab_from_json(parse_json(read_text_file(path, kMaxFile), path).as_object());
}

void run(std::string_view kind, const char* path) {
  std::optional<Tokenizer> tokenizer;
  std::string vocab_json;
  if (kind == "tokenizer") {
    tokenizer = Tokenizer::from_json(read_text_file(path, kMaxFile));
  } else {
    const VocabData vocab = read_vocab(kind, path);
    tokenizer = Tokenizer::from_vocab(vocab);
    vocab_json = tokenizer_json_from_vocab(vocab);
  }
  for (std::string line; std::getline(std::cin, line);)
    std::cout << to_json(answer(*tokenizer, vocab_json, parse_json(line, "request").as_object()))
              << std::endl;
}

}  // namespace
}  // namespace emlx

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    emlx::run(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
