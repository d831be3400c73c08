// Small tokenizers for tests.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/test_support.h"
#include "tokenizer/byte_level.h"

namespace emlx {

// A tokenizer.json: the 256 bytes are ids 0..255, the result of each merge gets the next id, and
// added tokens follow. Members hold JSON texts.
struct TokenizerFile {
  std::string normalizer = "null";
  std::string pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":true})";
  std::string post_processor = "null";
  std::string decoder = R"({"type":"ByteLevel"})";
  std::string added_tokens = "[]";
  std::vector<std::pair<std::string, std::string>> merges;  // bytes
  bool ignore_merges = false;

  JsonObject model() const {
    JsonObject vocab;
    for (int byte = 0; byte < 256; ++byte)
      vocab.emplace(bytes_to_chars(std::string(1, static_cast<char>(byte))), byte);
    JsonArray list;
    for (const auto& [left, right] : merges) {
      vocab.emplace(bytes_to_chars(left + right), std::int64_t(vocab.size()));
      list.push_back(JsonArray{JsonValue(bytes_to_chars(left)), JsonValue(bytes_to_chars(right))});
    }
    return {{"type", "BPE"}, {"ignore_merges", ignore_merges}, {"vocab", vocab}, {"merges", list}};
  }

  std::string text() const {
    return R"({"version":"1.0","added_tokens":)" + added_tokens + R"(,"normalizer":)" + normalizer +
           R"(,"pre_tokenizer":)" + pre_tokenizer + R"(,"post_processor":)" + post_processor +
           R"(,"decoder":)" + decoder + R"(,"model":)" + to_json(model()) + "}";
  }
};

}  // namespace emlx
