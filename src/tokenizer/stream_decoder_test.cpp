#include "tokenizer/stream_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/utf8.h"
#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;

// Ids are bytes; 256 is a token of two of them, 257 is special.
Tokenizer tokenizer() {
  TokenizerFile file;
  file.merges = {{"\xE2", "\x80"}};
  file.added_tokens = R"([{"id":257,"content":"<|end|>","special":true}])";
  return Tokenizer::from_json(file.text());
}

// The pieces of append() for each id, and that of finish().
std::vector<std::string> stream(const Tokenizer& from, const std::vector<TokenId>& ids, bool skip) {
  StreamDecoder decoder(from, skip);
  std::vector<std::string> pieces;
  pieces.reserve(ids.size() + 1);
  for (const TokenId id : ids) pieces.push_back(decoder.append(id));
  pieces.push_back(decoder.finish());
  return pieces;
}

TEST(StreamDecoder, HoldsBackACharacterUntilItIsWhole) {
  const Tokenizer bytes = tokenizer();
  EXPECT_THAT(stream(bytes, {'x', 0xC4, 0x8F, 'y'}, true), ElementsAre("x", "", "\u010F", "y", ""));
  EXPECT_THAT(stream(bytes, {0xF0, 0x9F, 0x98, 0x80}, true),
              ElementsAre("", "", "", "\U0001F600", ""));
  EXPECT_THAT(stream(bytes, {256, 0x8D}, true), ElementsAre("", "\u200D", ""));
}

TEST(StreamDecoder, ReplacesAnIncompleteCharacterOnceSomethingElseFollows) {
  EXPECT_THAT(stream(tokenizer(), {'a', 256, ' ', 0x8D, 'b'}, true),
              ElementsAre("a", "", "\uFFFD ", "\uFFFD", "b", ""));
}

TEST(StreamDecoder, AnIncompleteCharacterAtTheEndIsOneReplacement) {
  EXPECT_THAT(stream(tokenizer(), {'a', 256}, true), ElementsAre("a", "", "\uFFFD"));
}

TEST(StreamDecoder, StartsAfreshAfterFinish) {
  const Tokenizer bytes = tokenizer();
  StreamDecoder decoder(bytes, true);
  EXPECT_EQ(decoder.append(0xC4), "");
  EXPECT_EQ(decoder.finish(), "\uFFFD");
  EXPECT_EQ(decoder.append(0x8F), "\uFFFD");
}

TEST(StreamDecoder, SkipsSpecialTokensOnDemandAndIdsWithoutText) {
  const Tokenizer bytes = tokenizer();
  EXPECT_THAT(stream(bytes, {'a', 257, -1, 99999, 'b'}, true),
              ElementsAre("a", "", "", "", "b", ""));
  EXPECT_THAT(stream(bytes, {'a', 257}, false), ElementsAre("a", "<|end|>", ""));
  // A skipped token does not part a character.
  EXPECT_THAT(stream(bytes, {0xC4, 257, 0x8F}, true), ElementsAre("", "", "\u010F", ""));
}

TEST(StreamDecoder, SeparatesTokensWithoutADecoderAsDecodeDoes) {
  TokenizerFile file;
  file.decoder = "null";
  const Tokenizer spaced = Tokenizer::from_json(file.text());
  EXPECT_EQ(spaced.decode(std::vector<TokenId>{'a', 'b', 300, 'c'}, true), "a b c");
  EXPECT_THAT(stream(spaced, {'a', 300, 'b'}, true), ElementsAre("a", "", " b", ""));
  StreamDecoder decoder(spaced, true);
  EXPECT_EQ(decoder.append('a'), "a");
  EXPECT_EQ(decoder.finish(), "");
  EXPECT_EQ(decoder.append('b'), "b");
}

TEST(StreamDecoder, PiecesJoinToTheWholeForAnyIds) {
  const Tokenizer bytes = tokenizer();
  std::mt19937 random(7);
  // Lead and continuation bytes mostly, so that most sequences are ill-formed somewhere.
  const std::vector<TokenId> pool = {'a',  0x80, 0x8D, 0xBF, 0xC4, 0xE0, 0xE2, 0xED, 0xA0,
                                     0xF0, 0x9F, 0xF4, 0x90, 0xFF, 256,  257,  -5,   400};
  for (int run = 0; run < 20000; ++run) {
    std::vector<TokenId> ids(random() % 12);
    for (TokenId& id : ids) id = pool[random() % pool.size()];
    const bool skip = random() % 2 == 0;
    std::string joined;
    for (const std::string& piece : stream(bytes, ids, skip)) {
      ASSERT_TRUE(is_valid_utf8(piece));
      joined += piece;
    }
    ASSERT_EQ(joined, bytes.decode(ids, skip));
  }
}

}  // namespace
}  // namespace emlx
