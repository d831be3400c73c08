// One request's events on their way from the engine thread to a network thread.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "engine/request.h"

namespace emlx {

// The engine never waits here: a reader that falls `max_bytes` behind loses its text, and the
// request is cancelled. Thread-safe.
class EventMailbox final : public GenerationListener {
 public:
  // Everything since the last take().
  struct Batch {
    std::vector<std::string> texts;     // one a token that brought text, none empty
    std::optional<FinishEvent> finish;  // its text comes after `texts`
    std::optional<Error> error;
    bool overflow = false;  // the reader fell behind: `texts` are gone
  };

  // `notify` is called on the engine thread when an empty mailbox gets something. It must not block
  // and not use the mailbox, whose lock is held.
  EventMailbox(std::size_t max_bytes, std::function<void()> notify);

  void on_token(const TokenEvent& event) override;
  void on_finish(const FinishEvent& event) override;
  void on_error(const Error& error) override;

  // What to cancel if the reader falls behind (or has already).
  void bind(const Cancellation& request);

  Batch take();

  // The reader is gone: `notify` is not called again, and what it holds is let go.
  void close();

 private:
  template <typename Put>
  void put(Put&& into);

  const std::size_t max_bytes_;
  std::mutex mutex_;
  std::function<void()> notify_;  // guarded by mutex_, as all below
  Cancellation request_;
  Batch batch_;
  std::size_t bytes_ = 0;  // in batch_.texts
  bool empty_ = true;
};

}  // namespace emlx
