#include "server/event_mailbox.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace emlx {
namespace {

TokenEvent token(std::string text) {
  TokenEvent event;
  event.text = std::move(text);
  return event;
}

TEST(EventMailbox, KeepsOrderAndSkipsTokensWithoutText) {
  EventMailbox mailbox(1 << 20, [] {});
  mailbox.on_token(token("a"));
  mailbox.on_token(token(""));
  mailbox.on_token(token("b"));
  FinishEvent finish;
  finish.text = "c";
  mailbox.on_finish(finish);
  const EventMailbox::Batch batch = mailbox.take();
  EXPECT_EQ(batch.texts, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(batch.finish);
  EXPECT_EQ(batch.finish->text, "c");
  EXPECT_TRUE(mailbox.take().texts.empty());
}

TEST(EventMailbox, NotifiesOnceUntilTaken) {
  int notified = 0;
  EventMailbox mailbox(1 << 20, [&] { ++notified; });
  mailbox.on_token(token("a"));
  mailbox.on_token(token("b"));
  EXPECT_EQ(notified, 1);
  mailbox.take();
  mailbox.on_error(Error(ErrorCode::Internal, "x"));
  EXPECT_EQ(notified, 2);
  EXPECT_TRUE(mailbox.take().error);
}

TEST(EventMailbox, ASlowReaderLosesItsTextAndItsRequest) {
  EventMailbox mailbox(1000, [] {});
  const Cancellation request;
  mailbox.bind(request);
  for (int i = 0; i < 20; ++i) mailbox.on_token(token("0123456789"));
  EXPECT_FALSE(request.cancelled());
  for (int i = 0; i < 80; ++i) mailbox.on_token(token("0123456789"));
  EXPECT_TRUE(request.cancelled());
  const EventMailbox::Batch batch = mailbox.take();
  EXPECT_TRUE(batch.overflow);
  EXPECT_TRUE(batch.texts.empty());
}

TEST(EventMailbox, ARequestBoundTooLateIsCancelledThen) {
  EventMailbox mailbox(1, [] {});
  mailbox.on_token(token("a"));
  const Cancellation request;
  mailbox.bind(request);
  EXPECT_TRUE(request.cancelled());
}

TEST(EventMailbox, IsSilentOnceClosed) {
  const auto alive = std::make_shared<int>(0);
  EventMailbox mailbox(1 << 20, [alive] { ++*alive; });
  mailbox.on_token(token("a"));
  mailbox.close();
  EXPECT_EQ(alive.use_count(), 1);  // let go of what notify held
  mailbox.on_token(token("b"));
  mailbox.on_finish({});
  EXPECT_EQ(*alive, 1);
  EXPECT_TRUE(mailbox.take().texts.empty());
}

TEST(EventMailbox, PassesEveryTextBetweenThreads) {
  std::atomic<int> notified = 0;
  EventMailbox mailbox(1 << 30, [&] { ++notified; });
  std::thread engine([&] {
    for (int i = 0; i < 10'000; ++i) mailbox.on_token(token("x"));
    mailbox.on_finish({});
  });
  std::size_t texts = 0;
  for (bool finished = false; !finished;) {
    const EventMailbox::Batch batch = mailbox.take();
    texts += batch.texts.size();
    finished = batch.finish.has_value();
  }
  engine.join();
  EXPECT_EQ(texts, 10'000U);
  EXPECT_GE(notified, 1);
}

}  // namespace
}  // namespace emlx
