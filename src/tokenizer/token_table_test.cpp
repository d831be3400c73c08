#include "tokenizer/token_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::HasSubstr;

TEST(TokenTable, FindsTextsAndIds) {
  TokenTable table(1000);
  for (int i = 0; i < 1000; ++i) table.add(std::to_string(i * 7), i);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(table.find(std::to_string(i * 7)), i);
    EXPECT_EQ(table.text(i), std::to_string(i * 7));
  }
  EXPECT_EQ(table.find("8"), std::nullopt);
  EXPECT_EQ(table.text(-1), std::nullopt);
  EXPECT_EQ(table.text(1000), std::nullopt);
  EXPECT_EQ(table.count(), 1000u);
}

TEST(TokenTable, AllowsGapsAndTheEmptyText) {
  TokenTable table(2);
  table.add("", 3);
  table.add("x", 70);
  EXPECT_EQ(table.find(""), 3);
  EXPECT_EQ(table.text(3), "");
  EXPECT_EQ(table.text(2), std::nullopt);
  EXPECT_EQ(table.id_end(), 71);
  EXPECT_EQ(table.count(), 2u);
}

TEST(TokenTable, RefusesIdsThatAreTakenOrOutOfProportion) {
  TokenTable table(4);
  table.add("a", 0);
  EXPECT_THAT(error_of([&] { table.add("b", 0); }), HasSubstr("one token with id 0"));
  EXPECT_THAT(error_of([&] { table.add("a", 1); }), HasSubstr("one token \"a\", got ids 0 and 1"));
  EXPECT_THAT(error_of([&] { table.add("b", -1); }), HasSubstr("got -1"));
  EXPECT_THAT(error_of([&] { table.add("b", 1'000'000'000); }), HasSubstr("got 1000000000"));
  EXPECT_EQ(table.id_end(), 1);
}

}  // namespace
}  // namespace emlx
