#include "models/cpu/kv_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "base/test_support.h"

namespace emlx {
namespace {

constexpr std::size_t kBytes = 256;

// What the kernels do: every position has bytes of its own.
void write(const KvSequence& sequence, int first, int last, int value) {
  for (int i = first; i < last; ++i)
    sequence.block_of(i)[i % kKvBlock] = static_cast<std::byte>(value + i);
}

bool holds(const KvSequence& sequence, int first, int last, int value) {
  for (int i = first; i < last; ++i)
    if (sequence.blocks()[i / kKvBlock][i % kKvBlock] != static_cast<std::byte>(value + i))
      return false;
  return true;
}

TEST(KvPool, HandsOutEveryBlockOnceAndTakesThemBack) {
  KvPool pool(kBytes, 3);
  EXPECT_EQ(pool.total(), 3);
  EXPECT_EQ(pool.block_bytes(), kBytes);
  std::set<int> blocks;
  for (int i = 0; i < 3; ++i) blocks.insert(pool.acquire());
  EXPECT_EQ(blocks, (std::set<int>{0, 1, 2}));
  EXPECT_EQ(pool.data(2) - pool.data(0), static_cast<std::ptrdiff_t>(2 * kBytes));
  expect_error(ErrorCode::Busy, "all 3 KV blocks are in use", [&] { pool.acquire(); });
  pool.release(1);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.acquire(), 1);
}

TEST(KvPool, KeepsABlockUntilItsLastReferenceGoes) {
  KvPool pool(kBytes, 1);
  const int block = pool.acquire();
  EXPECT_FALSE(pool.is_shared(block));
  pool.retain(block);
  EXPECT_TRUE(pool.is_shared(block));
  pool.release(block);
  EXPECT_EQ(pool.free(), 0);
  EXPECT_FALSE(pool.is_shared(block));
  pool.release(block);
  EXPECT_EQ(pool.free(), 1);
}

TEST(KvSequence, TakesABlockForEvery64Positions) {
  KvPool pool(kBytes, 4);
  KvSequence sequence(pool);
  EXPECT_EQ(sequence.blocks_needed(0), 0);
  EXPECT_EQ(sequence.blocks_needed(1), 1);
  EXPECT_EQ(sequence.blocks_needed(64), 1);
  EXPECT_EQ(sequence.blocks_needed(65), 2);
  sequence.extend(64);
  EXPECT_EQ(pool.free(), 3);
  EXPECT_EQ(sequence.blocks_needed(64), 1);
  sequence.extend(100);
  EXPECT_EQ(sequence.length(), 164);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(sequence.blocks_needed(28), 0);
  for (const int position : {0, 63, 64, 163})
    EXPECT_EQ(sequence.blocks()[position / 64], sequence.block_of(position));
}

TEST(KvSequence, AnExtensionThatDoesNotFitChangesNothing) {
  KvPool pool(kBytes, 2);
  KvSequence sequence(pool);
  sequence.extend(10);
  expect_error(ErrorCode::Busy, "119 more positions need 2 KV blocks of 64, 1 of 2 are free",
               [&] { sequence.extend(119); });
  EXPECT_EQ(sequence.length(), 10);
  EXPECT_EQ(pool.free(), 1);
  sequence.extend(118);
  EXPECT_EQ(sequence.length(), 128);
}

TEST(KvSequence, TruncateAndDestructionGiveBlocksBack) {
  KvPool pool(kBytes, 4);
  {
    KvSequence sequence(pool);
    sequence.extend(200);
    sequence.truncate(129);
    EXPECT_EQ(pool.free(), 1);
    sequence.truncate(128);
    EXPECT_EQ(pool.free(), 2);
    sequence.truncate(0);
    EXPECT_EQ(pool.free(), 4);
    sequence.extend(1);
  }
  EXPECT_EQ(pool.free(), 4);
}

TEST(KvSequence, MovedFromItHoldsNothing) {
  KvPool pool(kBytes, 4);
  KvSequence sequence(pool);
  sequence.extend(100);
  {
    const KvSequence other(std::move(sequence));
    EXPECT_EQ(other.length(), 100);
    EXPECT_EQ(sequence.length(), 0);  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(pool.free(), 2);
  }
  EXPECT_EQ(pool.free(), 4);
}

TEST(KvSequence, APrefixSharesFullBlocksAndCopiesAPartOfOne) {
  KvPool pool(kBytes, 8);
  KvSequence parent(pool), child(pool);
  parent.extend(150);
  write(parent, 0, 150, 1);
  child.copy_prefix(parent, 100);
  EXPECT_EQ(child.length(), 100);
  EXPECT_EQ(pool.free(), 8 - 3 - 1);
  EXPECT_EQ(child.blocks()[0], parent.blocks()[0]);
  EXPECT_NE(child.blocks()[1], parent.blocks()[1]);
  EXPECT_TRUE(holds(child, 0, 100, 1));
  child.extend(50);
  write(child, 100, 150, 2);
  EXPECT_TRUE(holds(parent, 0, 150, 1));
}

TEST(KvSequence, APrefixThatDoesNotFitChangesNothing) {
  KvPool pool(kBytes, 2);
  KvSequence parent(pool), child(pool);
  parent.extend(128);
  expect_error(ErrorCode::Busy, "all 2 KV blocks are in use",
               [&] { child.copy_prefix(parent, 65); });
  EXPECT_EQ(child.length(), 0);
  parent.truncate(0);
  EXPECT_EQ(pool.free(), 2);
}

TEST(KvSequence, ASharedBlockIsCopiedBeforeItIsWrittenTo) {
  KvPool pool(kBytes, 4);
  KvSequence parent(pool), child(pool);
  parent.extend(64);
  write(parent, 0, 64, 1);
  child.copy_prefix(parent, 64);
  EXPECT_EQ(child.blocks_needed(1), 1);
  child.truncate(40);
  EXPECT_EQ(pool.free(), 3);
  EXPECT_EQ(child.blocks_needed(0), 0);
  EXPECT_EQ(child.blocks_needed(24), 1);
  EXPECT_EQ(child.blocks_needed(25), 2);
  child.extend(24);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_TRUE(holds(child, 0, 40, 1));
  write(child, 40, 64, 2);
  EXPECT_TRUE(holds(parent, 0, 64, 1));
  // Each has its own now.
  parent.truncate(10);
  EXPECT_EQ(parent.blocks_needed(1), 0);
}

TEST(KvSequence, ACopyThatDoesNotFitChangesNothing) {
  KvPool pool(kBytes, 1);
  KvSequence parent(pool), child(pool);
  parent.extend(64);
  child.copy_prefix(parent, 64);
  child.truncate(10);
  expect_error(ErrorCode::Busy, "5 more positions need 1 KV blocks", [&] { child.extend(5); });
  EXPECT_EQ(child.length(), 10);
  EXPECT_EQ(child.blocks()[0], parent.blocks()[0]);
}

}  // namespace
}  // namespace emlx
