#include "models/cpu/huge_buffer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/test_support.h"

namespace emlx {
namespace {

TEST(HugeBuffer, IsZeroedAlignedAndWritable) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const HugeBuffer buffer(size);
    ASSERT_GE(buffer.size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 4096, 0U);
    EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(),
                            [](std::byte byte) { return byte == std::byte{0}; }));
    buffer.as<std::uint8_t>()[buffer.size() - 1] = 7;
    EXPECT_EQ(buffer.data()[buffer.size() - 1], std::byte{7});
  }
}

TEST(HugeBuffer, OfNoBytesHoldsNothing) {
  EXPECT_EQ(HugeBuffer().data(), nullptr);
  EXPECT_EQ(HugeBuffer(0).data(), nullptr);
  EXPECT_EQ(HugeBuffer(0).size(), 0U);
}

TEST(HugeBuffer, MovesItsMemory) {
  HugeBuffer first(100);
  std::byte* const data = first.data();
  HugeBuffer second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  HugeBuffer third(100);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
}

TEST(HugeBuffer, SaysWhenTheSystemRefuses) {
  expect_error(ErrorCode::Busy, "18446744073709551615 bytes",
               [] { HugeBuffer{std::numeric_limits<std::size_t>::max()}; });
  expect_error(ErrorCode::Busy, "the system refused", [] { HugeBuffer{std::size_t{1} << 60}; });
}

TEST(AvailableMemory, IsAPartOfTheMachines) {
  const auto all = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                   static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_GT(available_memory(), std::size_t{1} << 20);
  EXPECT_LE(available_memory(), all);
}

}  // namespace
}  // namespace emlx
