#include "tokenizer/post_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tokenizer/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kTemplate =
    R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},
        {"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],"pair":[],
        "special_tokens":{"<s>":{"id":"<s>","ids":[1,2],"tokens":["<s>","x"]},
                          "</s>":{"id":"</s>","ids":[3],"tokens":["</s>"]}}})";

PostProcessor load(std::string_view file) {
  return PostProcessor(parse_json(file, "test"));
}

std::string refusal(std::string_view file) {
  return error_of([&] { load(file); });
}

TEST(PostProcessor, NoneAndByteLevelAddNothing) {
  for (const char* file : {"null", R"({"type":"ByteLevel","trim_offsets":true})"}) {
    EXPECT_THAT(load(file).prefix(), IsEmpty());
    EXPECT_THAT(load(file).suffix(), IsEmpty());
  }
}

TEST(PostProcessor, TemplatesPutTokensAroundTheText) {
  EXPECT_THAT(load(kTemplate).prefix(), ElementsAre(1, 2));
  EXPECT_THAT(load(kTemplate).suffix(), ElementsAre(3));
  const PostProcessor sequence = load(R"({"type":"Sequence","processors":[{"type":"ByteLevel"},)" +
                                      std::string(kTemplate) + "]}");
  EXPECT_THAT(sequence.prefix(), ElementsAre(1, 2));
}

TEST(PostProcessor, RefusesWhatItDoesNotKnowByName) {
  EXPECT_THAT(refusal(R"({"type":"RobertaProcessing"})"), HasSubstr("unsupported: tokenizer: exp"));
  EXPECT_THAT(refusal(R"({"type":"RobertaProcessing"})"), HasSubstr("\"RobertaProcessing\""));
  const std::string one(kTemplate);
  EXPECT_THAT(refusal(R"({"type":"Sequence","processors":[)" + one + "," + one + "]}"),
              HasSubstr("one TemplateProcessing"));
  for (const char* single : {"[]", R"([{"Sequence":{"id":"B"}}])",
                             R"([{"Sequence":{"id":"A"}},{"Sequence":{"id":"A"}}])"})
    EXPECT_THAT(
        refusal(std::string(R"({"type":"TemplateProcessing","special_tokens":{},"single":)") +
                single + "}"),
        HasSubstr("sequence A once"))
        << single;
}

TEST(PostProcessor, RefusesDamagedFiles) {
  const std::string start = R"({"type":"TemplateProcessing","special_tokens":)";
  for (const std::string& file :
       {std::string("[]"), std::string("{}"), std::string(R"({"type":"Sequence"})"),
        std::string(R"({"type":"TemplateProcessing","single":[]})"), start + "{}}",
        start + R"({},"single":[1]})", start + R"({},"single":[{}]})",
        start + R"({},"single":[{"SpecialToken":{"id":"x"}}]})",
        start + R"({"x":{"ids":[-1]}},"single":[{"SpecialToken":{"id":"x"}}]})",
        start + R"({"x":{"ids":1}},"single":[{"SpecialToken":{"id":"x"}}]})"})
    EXPECT_THAT(refusal(file), HasSubstr("invalid_file: tokenizer: expected")) << file;
}

}  // namespace
}  // namespace emlx
