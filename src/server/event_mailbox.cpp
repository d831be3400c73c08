#include "server/event_mailbox.h"

#include <utility>

namespace emlx {

EventMailbox::EventMailbox(std::size_t max_bytes, std::function<void()> notify)
    : max_bytes_(max_bytes), notify_(std::move(notify)) {}

template <typename Put>
void EventMailbox::put(Put&& into) {
  const std::scoped_lock lock(mutex_);
  if (!notify_) return;
  into(batch_);
  if (std::exchange(empty_, false)) notify_();
}

void EventMailbox::on_token(const TokenEvent& event) {
  if (event.text.empty()) return;
  put([&](Batch& batch) {
    bytes_ += event.text.size() + sizeof(std::string);
    if (bytes_ <= max_bytes_) {
      batch.texts.push_back(event.text);
    } else {
      batch.texts.clear();
      batch.overflow = true;
      request_.cancel();
    }
  });
}

void EventMailbox::on_finish(const FinishEvent& event) {
  put([&](Batch& batch) { batch.finish = event; });
}

void EventMailbox::on_error(const Error& error) {
  put([&](Batch& batch) { batch.error = error; });
}

void EventMailbox::bind(const Cancellation& request) {
  const std::scoped_lock lock(mutex_);
  if (request_.cancelled()) request.cancel();
  request_ = request;
}

EventMailbox::Batch EventMailbox::take() {
  const std::scoped_lock lock(mutex_);
  bytes_ = 0;
  empty_ = true;
  return std::exchange(batch_, {});
}

void EventMailbox::close() {
  std::function<void()> notify;  // both destroyed without the lock
  Batch batch;
  const std::scoped_lock lock(mutex_);
  std::swap(notify, notify_);
  std::swap(batch, batch_);
}

}  // namespace emlx
