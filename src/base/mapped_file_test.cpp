#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"

namespace emlx {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    auto path = std::filesystem::path(::testing::TempDir()) / ("mapped_file_test_" + name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
};

TEST_F(MappedFileTest, ShowsTheFilesBytes) {
  const MappedFile file(write("plain", "hello"));
  ASSERT_EQ(file.bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(file.bytes()[1]), 'e');
}

TEST_F(MappedFileTest, MovesItsMapping) {
  MappedFile a(write("a", "first"));
  MappedFile b(write("b", "second"));
  b = std::move(a);
  ASSERT_EQ(b.bytes().size(), 5u);
  EXPECT_EQ(static_cast<char>(b.bytes()[0]), 'f');
}

TEST_F(MappedFileTest, AcceptsAnEmptyFile) {
  EXPECT_TRUE(MappedFile(write("empty", "")).bytes().empty());
}

TEST_F(MappedFileTest, RefusesWhatIsNotARegularFile) {
  EXPECT_THROW(MappedFile("/no/such/file"), Error);
  EXPECT_THROW(MappedFile{::testing::TempDir()}, Error);
  const std::string pipe = ::testing::TempDir() + "mapped_file_test_pipe";
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(MappedFile{pipe}, Error);  // and does not wait for a writer
  ::unlink(pipe.c_str());
}

TEST_F(MappedFileTest, ReadsTextUpToALimit) {
  EXPECT_EQ(read_text_file(write("text", "abc"), 3), "abc");
  EXPECT_THROW(read_text_file(write("text", "abcd"), 3), Error);
}

}  // namespace
}  // namespace emlx
