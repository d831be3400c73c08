#include "server/chat_call.h"

#include <utility>

#include "base/log.h"
#include "server/openai_render.h"
#include "server/sse.h"

namespace emlx {

ChatCall::ChatCall(AnswerHead head, bool stream, std::shared_ptr<EventMailbox> mailbox,
                   Cancellation cancellation)
    : head_(std::move(head)),
      stream_(stream),
      mailbox_(std::move(mailbox)),
      cancellation_(std::move(cancellation)) {
  mailbox_->bind(cancellation_);
}

ChatCall::~ChatCall() {
  mailbox_->close();
  cancellation_.cancel();
}

std::string ChatCall::begin() const {
  return sse_event(render_role_chunk(head_));
}

std::string ChatCall::poll() {
  if (done_) return {};
  const EventMailbox::Batch batch = mailbox_->take();
  broken_ = broken_ || batch.overflow;
  std::string out;
  for (const std::string& text : batch.texts) {
    if (stream_) {
      out += sse_event(render_text_chunk(head_, text));
    } else {
      text_ += text;
    }
  }
  if (!error_ && batch.error) {
    error_ = to_api_error(*batch.error);
    if (error_->status >= 500) log(LogLevel::Error, "a request failed: {}", batch.error->what());
  }
  if (!error_ && batch.finish && batch.finish->reason == FinishReason::Cancelled)
    error_ = stopping_error();  // nobody else cancels a request that is still being read
  if (error_) {
    done_ = true;
    if (stream_) out.append(sse_event(render_error(*error_))).append(kSseDone);
  } else if (batch.finish) {
    out += finish(*batch.finish);
  }
  return out;
}

std::string ChatCall::finish(const FinishEvent& end) {
  done_ = true;
  end_ = end;
  text_ += end.text;
  if (!stream_) return {};
  std::string out;
  if (!end.text.empty()) out += sse_event(render_text_chunk(head_, end.text));
  out += sse_event(render_finish_chunk(head_, end.reason));
  if (head_.include_usage) out += sse_event(render_usage_chunk(head_, end));
  out += kSseDone;
  return out;
}

HttpReply ChatCall::reply() const {
  if (error_) return error_reply(*error_);
  HttpReply reply;
  reply.body = render_completion(head_, text_, end_);
  return reply;
}

void ChatCall::stop(ApiError error) {
  cancellation_.cancel();
  error_ = std::move(error);
}

HttpReply error_reply(const ApiError& error) {
  HttpReply reply;
  reply.status = error.status;
  reply.body = render_error(error);
  if (error.status == 429) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

}  // namespace emlx
