#include "app/session.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

#include "app/terminal.h"
#include "base/error.h"
#include "base/sha256.h"
#include "models/executor_factory.h"

namespace emlx {
namespace {

constexpr const char* kDefaultModel = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

std::filesystem::path executable_path() {
#ifdef __APPLE__
  char buffer[4096];
  uint32_t size = sizeof buffer;
  if (_NSGetExecutablePath(buffer, &size) != 0) return {};
  return std::filesystem::path(buffer);
#else
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
#endif
}

// Gathers a request's events and lets the calling thread wait for the last one.
class Collector : public GenerationListener {
 public:
  explicit Collector(bool stream) : stream_(stream), start_(Clock::now()) {}

  void on_token(const TokenEvent& event) override {
    if (result_.ids.empty()) result_.first_token = Clock::now() - start_;
    result_.ids.push_back(event.id);
    if (!event.logits.empty())
      result_.logits_sha256.push_back(sha256_hex(std::as_bytes(event.logits)));
    append(event.text);
  }

  void on_finish(const FinishEvent& event) override {
    append(event.text);
    result_.finish = event;
    finish(std::nullopt);
  }

  void on_error(const Error& error) override { finish(error); }

  // Waits a moment for the end; returns whether it came.
  bool wait_a_moment() {
    std::unique_lock lock(mutex_);
    return done_signal_.wait_for(lock, std::chrono::milliseconds(20), [this] { return done_; });
  }
  bool output_failed() {
    std::scoped_lock lock(mutex_);
    return output_failed_;
  }
  Generated take() {  // after the end
    if (error_) throw *error_;
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void append(const std::string& text) {
    result_.text += text;
    if (!stream_ || text.empty() || print(text)) return;
    std::scoped_lock lock(mutex_);
    output_failed_ = true;
  }

  void finish(std::optional<Error> error) {
    {
      std::scoped_lock lock(mutex_);
      error_ = std::move(error);
      done_ = true;
    }
    done_signal_.notify_one();
  }

  const bool stream_;
  const Clock::time_point start_;
  Generated result_;  // the engine thread's until done_
  std::mutex mutex_;
  std::condition_variable done_signal_;
  bool done_ = false;           // guarded by mutex_
  bool output_failed_ = false;  // guarded by mutex_
  std::optional<Error> error_;
};

double rate(int tokens, std::chrono::duration<double> time) {
  return time.count() > 0 ? static_cast<double>(tokens) / time.count() : 0.0;
}

}  // namespace

std::filesystem::path find_model(const ModelFlags& flags) {
  if (!flags.model.empty()) return flags.model;
  // build/bin/engine-mlx belongs to the checkout two folders up.
  const std::filesystem::path checkout =
      executable_path().parent_path().parent_path().parent_path();
  std::error_code ignored;
  for (const auto& candidate : {std::filesystem::path(kDefaultModel), checkout / kDefaultModel})
    if (std::filesystem::exists(candidate, ignored)) return candidate;
  fail(ErrorCode::InvalidFile,
       "no model: expected -m MODEL (an MLX directory or a .gguf file), or {} as ./run fetches it",
       kDefaultModel);
}

Session open_session(const ModelFlags& flags) {
  ExecutorOptions options;
  options.backend = parse_backend(flags.backend);
  options.dtype = parse_compute_dtype(flags.dtype);
  options.context = flags.context;
  options.threads = flags.threads;
  options.kv_bits = flags.kv_bits;
  options.kv_memory = static_cast<std::size_t>(flags.kv_memory * 1e9);
  Session session;
  session.text = open_text_model(find_model(flags));
  const auto model = session.text.model;
  session.engine =
      std::make_unique<Engine>(session.text.tokenizer, session.text.eos,
                               [model, options] { return make_executor(model, options); });
  return session;
}

std::string describe(const ExecutorInfo& info) {
  return fmt::format("{} on {}, {}, {} KV{}", info.backend, info.device, info.dtype, info.kv_dtype,
                     info.exact ? ", exact" : "");
}

GenerationRequest make_request(std::vector<TokenId> prompt, const SamplingFlags& flags) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampling = flags.params;
  request.max_tokens = flags.max_tokens;
  request.stop = flags.stop;
  return request;
}

JsonArray opening(const std::string& system) {
  JsonArray messages;
  if (!system.empty()) messages.push_back(JsonObject{{"role", "system"}, {"content", system}});
  return messages;
}

JsonArray single_turn(const std::string& system, const std::string& prompt) {
  JsonArray messages = opening(system);
  messages.push_back(JsonObject{{"role", "user"}, {"content", prompt}});
  return messages;
}

Generated generate(Engine& engine, GenerationRequest request, bool stream) {
  const auto collector = std::make_shared<Collector>(stream);
  const Cancellation cancellation = engine.submit(std::move(request), collector);
  while (!collector->wait_a_moment())
    if (interrupted() || collector->output_failed()) cancellation.cancel();
  return collector->take();
}

double prefill_rate(const FinishEvent& end) {
  return rate(end.prompt_tokens, end.prefill);
}
double decode_rate(const FinishEvent& end) {
  return rate(end.completion_tokens - 1, end.decode);
}

std::string timing_line(const Generated& result) {
  const FinishEvent& end = result.finish;
  const auto with_rate = [](int tokens, int timed, double rate) {
    return fmt::format("{} tokens{}", tokens, timed < 3 ? "" : fmt::format(", {:.1f} tok/s", rate));
  };
  if (end.completion_tokens == 0) return "no token was generated";
  return fmt::format("prompt {} · answer {} · first token after {:.2f} s",
                     with_rate(end.prompt_tokens, end.prompt_tokens, prefill_rate(end)),
                     with_rate(end.completion_tokens, end.completion_tokens - 1, decode_rate(end)),
                     result.first_token.count());
}

}  // namespace emlx
