#include "base/bounded_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace emlx {
namespace {

TEST(BoundedQueue, RefusesWhenFullOrClosed) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.try_push(1));
  EXPECT_TRUE(queue.try_push(2));
  EXPECT_FALSE(queue.try_push(3));
  queue.close();
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_FALSE(queue.try_push(4));
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, CloseWakesAWaitingConsumer) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  std::thread consumer([&] { EXPECT_EQ(queue.pop(), std::nullopt); });
  queue.close();
  consumer.join();
}

TEST(BoundedQueue, GivesUpUnwantedItemsFromItsMiddle) {
  BoundedQueue<int> queue(5);
  for (int i = 1; i <= 5; ++i) ASSERT_TRUE(queue.try_push(i));
  EXPECT_EQ(queue.remove_if([](int item) { return item % 2 == 0; }), (std::vector<int>{2, 4}));
  EXPECT_EQ(queue.size(), 3U);
  for (const int left : {1, 3, 5}) EXPECT_EQ(queue.try_pop(), left);
}

TEST(BoundedQueue, PassesEveryItemOnceBetweenThreads) {
  BoundedQueue<int> queue(8);
  std::atomic<long> sum = 0;
  std::vector<std::thread> consumers, producers;
  consumers.reserve(2);
  producers.reserve(2);
  for (int i = 0; i < 2; ++i)
    consumers.emplace_back([&] {
      while (const auto item = queue.pop()) sum += *item;
    });
  for (int p = 0; p < 2; ++p)
    producers.emplace_back([&] {
      for (int i = 1; i <= 1000; ++i)
        while (!queue.try_push(i)) std::this_thread::yield();
    });
  for (auto& producer : producers) producer.join();
  queue.close();
  for (auto& consumer : consumers) consumer.join();
  EXPECT_EQ(sum, 2 * 500500);
}

}  // namespace
}  // namespace emlx
