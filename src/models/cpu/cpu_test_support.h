// What the tests of the CPU executor share: models in memory, ways to feed them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/float16.h"
#include "base/test_support.h"
#include "models/cpu/cpu_executor.h"
#include "models/random_model.h"

namespace emlx {

// A random model whose parts may be exchanged, with all bytes they point into.
class TestModel {
 public:
  TestModel(const DecoderSpec& spec, const RandomWeights& weights) {
    model_ = *kept_.emplace_back(random_model(spec, weights));
  }

  Model& model() { return model_; }
  LayerWeights& layer(std::size_t i) { return model_.weights.layers.at(i); }

  // Other weights of this shape.
  const DecoderWeights& random(const RandomWeights& weights) {
    return kept_.emplace_back(random_model(model_.spec, weights))->weights;
  }

  // GGUF blocks of random integers, weights around zero with a spread of about `spread`.
  Matrix gguf(int rows, int cols, DType dtype, float spread, int interleaved_heads = 0) {
    const auto size = static_cast<std::size_t>(block_layout(dtype).bytes);
    std::vector<std::byte> bytes(static_cast<std::size_t>(rows) *
                                 static_cast<std::size_t>(cols / 32) * size);
    const float step = spread / (dtype == DType::Q8_0 ? 74.0F : 4.6F);
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      for (std::size_t i = 0; i < size; ++i) bytes[at + i] = static_cast<std::byte>(random_() >> 8);
      const float scale = step * (0.7F + 0.006F * static_cast<float>(random_() % 100));
      put_float16(&bytes[at], scale);
      if (dtype == DType::Q4_1) put_float16(&bytes[at + 2], -7.5F * scale);
    }
    return {.name = "gguf",
            .rows = rows,
            .cols = cols,
            .encoding = MatrixEncoding::GgufBlock,
            .dtype = dtype,
            .data = keep(std::move(bytes)),
            .interleaved_heads = interleaved_heads};
  }

  // A copy that may be written to, to which `data` then points.
  std::span<std::byte> own(std::span<const std::byte>& data) {
    const std::span<std::byte> bytes = keep({data.begin(), data.end()});
    data = bytes;
    return bytes;
  }

  static std::shared_ptr<const Model> share(TestModel test) {
    const auto owner = std::make_shared<TestModel>(std::move(test));
    return {owner, &owner->model_};
  }

 private:
  static void put_float16(std::byte* at, float value) {
    const std::uint16_t bits = float_to_float16(value);
    std::memcpy(at, &bits, sizeof bits);
  }
  std::span<std::byte> keep(std::vector<std::byte> bytes) {
    return storage_.emplace_back(std::move(bytes));
  }

  Model model_;
  std::deque<std::shared_ptr<const Model>> kept_;
  std::deque<std::vector<std::byte>> storage_;
  std::minstd_rand random_;
};

// EMLX_CPU_ISA for as long as this lives.
class ForcedIsa {
 public:
  explicit ForcedIsa(const std::string& name) {
    if (const char* before = std::getenv(kName)) before_ = before;
    ::setenv(kName, name.c_str(), 1);
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;
  ~ForcedIsa() { before_ ? ::setenv(kName, before_->c_str(), 1) : ::unsetenv(kName); }

 private:
  static constexpr const char* kName = "EMLX_CPU_ISA";
  std::optional<std::string> before_;
};

using Logits = std::vector<float>;
using Tokens = std::vector<TokenId>;

inline Tokens some_tokens(int count, int vocab, unsigned seed) {
  std::minstd_rand random(seed);
  Tokens tokens(static_cast<std::size_t>(count));
  for (TokenId& token : tokens)
    token = static_cast<TokenId>((random() >> 8) % static_cast<unsigned>(vocab));
  return tokens;
}

// Feeds `tokens` in one row of a step of its own; the logits of all of them.
inline Logits feed(Executor& executor, SequenceId sequence, std::span<const TokenId> tokens) {
  const Row row{.sequence = sequence, .tokens = tokens, .fetch_logits = true};
  executor.submit({&row, 1});
  const std::span<const float> logits = executor.collect().front().logits;
  return {logits.begin(), logits.end()};
}

inline Logits feed_in_chunks(Executor& executor, SequenceId sequence,
                             std::span<const TokenId> tokens, std::size_t chunk) {
  Logits all;
  for (std::size_t at = 0; at < tokens.size(); at += chunk) {
    const Logits part =
        feed(executor, sequence, tokens.subspan(at, std::min(chunk, tokens.size() - at)));
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Whether `logits` are, bit for bit, those of `expected` from token `first` on.
inline testing::AssertionResult same_logits(std::span<const float> logits, const Logits& expected,
                                            std::size_t first, int vocab) {
  const std::size_t start = first * static_cast<std::size_t>(vocab);
  if (start + logits.size() > expected.size() || logits.empty())
    return testing::AssertionFailure()
           << logits.size() << " logits from " << start << " on, of " << expected.size();
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (std::bit_cast<std::uint32_t>(logits[i]) !=
        std::bit_cast<std::uint32_t>(expected[start + i]))
      return testing::AssertionFailure()
             << "token " << first + i / static_cast<std::size_t>(vocab) << ", logit "
             << i % static_cast<std::size_t>(vocab) << ": " << logits[i] << ", expected "
             << expected[start + i];
  return testing::AssertionSuccess();
}

}  // namespace emlx
