#include "models/mlx/mlx_kv_cache.h"

#include <gtest/gtest.h>
#include <mlx/ops.h>
#include <mlx/transforms.h>

namespace emlx {
namespace {

constexpr int kHeads = 2, kDim = 4;

// [1, kHeads, n, kDim], all `value`.
mx::array positions(int n, float value) {
  return mx::full({1, kHeads, n, kDim}, value, mx::float32);
}

// Appends and evaluates; where the keys' buffer lies now, and its capacity.
struct Buffer {
  const void* data;
  int capacity;
};
Buffer append(MlxKvCache& cache, int n, float value) {
  cache.append(positions(n, value), positions(n, -value));
  std::vector<mx::array> buffers;
  cache.collect(buffers);
  mx::eval(buffers);
  return {buffers[0].data<float>(), buffers[0].shape(2)};
}

float sum_of_keys(MlxKvCache& cache) {
  std::vector<mx::array> buffers;
  cache.collect(buffers);
  return mx::sum(mx::slice(buffers[0], {0, 0, 0, 0}, {1, kHeads, cache.length(), kDim}))
      .item<float>();
}

TEST(MlxKvCache, ReturnsTheValidPrefix) {
  MlxKvCache cache;
  cache.append(positions(3, 1), positions(3, 5));
  const auto [keys, values] = cache.append(positions(2, 2), positions(2, 7));
  EXPECT_EQ(keys.shape(), (mx::Shape{1, kHeads, 5, kDim}));
  EXPECT_EQ(cache.length(), 5);
  EXPECT_EQ(mx::sum(keys).item<float>(), (3 * 1 + 2 * 2) * kHeads * kDim);
  EXPECT_EQ(mx::sum(values).item<float>(), (3 * 5 + 2 * 7) * kHeads * kDim);
}

TEST(MlxKvCache, GrowsAsMlxLmDoes) {
  MlxKvCache cache;
  EXPECT_EQ(append(cache, 257, 1).capacity, 512);
  EXPECT_EQ(append(cache, 255, 1).capacity, 512);
  EXPECT_EQ(append(cache, 1, 1).capacity, 768);
  // Not at a multiple of 256: the unused room goes first.
  EXPECT_EQ(append(cache, 300, 1).capacity, 513 + 512);
}

TEST(MlxKvCache, UpdatesInPlaceWithinItsCapacity) {
  MlxKvCache cache;
  const Buffer first = append(cache, 1, 1);
  for (int i = 1; i < 256; ++i) ASSERT_EQ(append(cache, 1, 1).data, first.data) << i;
  EXPECT_NE(append(cache, 1, 1).data, first.data);
  EXPECT_EQ(sum_of_keys(cache), 257 * kHeads * kDim);
}

TEST(MlxKvCache, AForkSharesItsBuffersUntilAWrite) {
  MlxKvCache cache;
  append(cache, 600, 1);
  MlxKvCache fork = cache.fork(200);
  EXPECT_EQ(fork.length(), 200);
  EXPECT_EQ(append(fork, 10, 3).capacity, 256);  // not the parent's 768
  EXPECT_EQ(sum_of_keys(fork), (200 + 10 * 3) * kHeads * kDim);
  EXPECT_EQ(sum_of_keys(cache), 600 * kHeads * kDim);
  append(cache, 1, 9);
  EXPECT_EQ(sum_of_keys(fork), (200 + 10 * 3) * kHeads * kDim);
}

TEST(MlxKvCache, AForkOfNothingIsEmpty) {
  MlxKvCache cache;
  EXPECT_EQ(cache.fork(0).length(), 0);
  EXPECT_EQ(cache.fork(0).bytes(), 0U);
}

}  // namespace
}  // namespace emlx
