// Damaged tokenizer.json files, and any text through a small tokenizer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/stream_decoder.h"
#include "tokenizer/tokenizer.h"

namespace {

using namespace emlx;

// All bytes, a few merges, and tokens of both kinds; no normalizer, so that texts round-trip.
std::string small_file() {
  JsonObject vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab.emplace(bytes_to_chars(std::string(1, static_cast<char>(byte))), byte);
  JsonArray merges;
  int next = 256;
  for (const auto& [left, right] :
       {std::pair{"a", "a"}, {"aa", "aa"}, {" ", "a"}, {"\xE2", "\x80"}}) {
    vocab.emplace(bytes_to_chars(std::string(left) + right), next++);
    merges.push_back(JsonArray{JsonValue(bytes_to_chars(left)), JsonValue(bytes_to_chars(right))});
  }
  const JsonObject file = {
      {"added_tokens",
       JsonArray{JsonObject{{"id", 260}, {"content", "<|x|>"}, {"special", true}},
                 JsonObject{{"id", 261}, {"content", "<t>"}, {"single_word", true}}}},
      {"pre_tokenizer",
       JsonObject{{"type", "Sequence"},
                  {"pretokenizers",
                   JsonArray{JsonObject{{"type", "Digits"}, {"individual_digits", true}},
                             JsonObject{{"type", "ByteLevel"}, {"add_prefix_space", false}}}}}},
      {"decoder", JsonObject{{"type", "ByteLevel"}}},
      {"model", JsonObject{{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}}}};
  return to_json(file);
}

void check(bool holds) {
  if (!holds) std::abort();
}

void use(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<TokenId> ids = tokenizer.encode(text, true);
  StreamDecoder stream(tokenizer, true);
  std::string joined;
  for (const TokenId id : ids) {
    check(id >= 0 && id < tokenizer.vocab_size());
    joined += stream.append(id);
  }
  joined += stream.finish();
  check(joined == tokenizer.decode(ids, true));
  check(is_valid_utf8(joined));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static const Tokenizer small = Tokenizer::from_json(small_file());
  use(small, bytes);
  check(small.decode(small.encode(bytes, false), false) == replace_invalid_utf8(bytes));
  try {
    use(Tokenizer::from_json(bytes), "a <|x|> \xC3\xA9 e\xCC\x81 1234\n\n x");
  } catch (const Error& error) {
    check(error.code() == ErrorCode::InvalidFile || error.code() == ErrorCode::Unsupported);
  }
  return 0;
}
