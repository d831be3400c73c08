// One chat completion from the moment the engine has it to the last byte of its answer.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/cancellation.h"
#include "server/api_error.h"
#include "server/event_mailbox.h"
#include "server/http_types.h"
#include "server/openai_types.h"

namespace emlx {

// Turns a request's events into the bytes of its answer: server-sent events if `stream`, else one
// JSON text. Used by one thread at a time; its destruction cancels the request.
class ChatCall {
 public:
  ChatCall(AnswerHead head, bool stream, std::shared_ptr<EventMailbox> mailbox,
           Cancellation cancellation);
  ~ChatCall();
  ChatCall(const ChatCall&) = delete;
  ChatCall& operator=(const ChatCall&) = delete;

  bool stream() const noexcept { return stream_; }

  // Streamed: the first event, which can go out before there is any text.
  std::string begin() const;

  // Takes what has happened since the last call. Streamed: returns its events, "" if nothing did;
  // after the one that makes done() true there are no more. Whole: always "".
  std::string poll();
  bool done() const noexcept { return done_; }

  // Streamed: the reader was too slow and has lost text; the answer cannot go on.
  bool broken() const noexcept { return broken_; }

  // Whole, once done(): the answer, or the error that came instead.
  HttpReply reply() const;

  // Ends the answer now, with an error: what poll() returns next is the last.
  void stop(ApiError error);

 private:
  std::string finish(const FinishEvent& end);

  const AnswerHead head_;
  const bool stream_;
  const std::shared_ptr<EventMailbox> mailbox_;
  const Cancellation cancellation_;
  std::string text_;  // whole answers only
  FinishEvent end_;
  std::optional<ApiError> error_;
  bool done_ = false, broken_ = false;
};

// An error object with its status; Busy says when to try again.
HttpReply error_reply(const ApiError& error);

}  // namespace emlx
