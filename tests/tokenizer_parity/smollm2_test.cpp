// The tokenizer made of the default model's GGUF vocabulary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/gguf.h"
#include "formats/gguf_vocab.h"
#include "tokenizer/tokenizer.h"

namespace emlx {
namespace {

using testing::ElementsAre;

class SmolLm2Tokenizer : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(std::filesystem::is_regular_file(EMLX_DEFAULT_MODEL))
        << "expected the default model at " << EMLX_DEFAULT_MODEL << ", got no file";
    vocab_ = read_gguf_vocab(open_gguf(EMLX_DEFAULT_MODEL).metadata);
  }

  VocabData vocab_;
};

// Ids by HF tokenizers, from the tokenizer.json that we write.
TEST_F(SmolLm2Tokenizer, EncodesAChatTurn) {
  const Tokenizer tokenizer = Tokenizer::from_vocab(vocab_);
  EXPECT_EQ(tokenizer.vocab_size(), 49152);
  EXPECT_THAT(tokenizer.encode("<|im_start|>user\nWhat is 12+3?<|im_end|>\n", true),
              ElementsAre(1, 4093, 198, 1780, 314, 216, 33, 34, 27, 35, 47, 2, 198));
}

TEST_F(SmolLm2Tokenizer, RoundTripsText) {
  const Tokenizer tokenizer = Tokenizer::from_vocab(vocab_);
  for (const std::string text :
       {"  def f(x):\n\treturn x  ", "cafe\u0301 \U0001F468\u200D\U0001F469", "1234 \u0661\u0662",
        "it's I'VE"})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text, true), true), text);
}

TEST_F(SmolLm2Tokenizer, ControlTokensAreSpecial) {
  const Tokenizer tokenizer = Tokenizer::from_vocab(vocab_);
  for (TokenId id = 0; id < 17; ++id) EXPECT_TRUE(tokenizer.is_special(id)) << id;
  EXPECT_FALSE(tokenizer.is_special(17));
  EXPECT_EQ(tokenizer.token_id("<|im_start|>"), 1);
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{1, 2, 0}, true), "");
}

}  // namespace
}  // namespace emlx
