// Runs the cases of a JSON request through the engine, for parity_test.py to compare with mlx_lm.
//
// parity_driver REQUEST: a file with {"model": PATH, "dtype": NAME, "cases": [...]}, optionally
// "backend" (default "mlx"), "kv_bits" and "logits". A case has a "prompt" (token ids) or a "chat"
// (one user message), and "forced" (ids to emit in place of the sampled ones) or "max_tokens"
// (greedy). The logits of every step of every case go to the "logits" file, raw float32 in order.
// Prints {"info", "cases": [{"prompt", "fed", "tokens", "logprobs"}]}.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "engine/text_model.h"
#include "models/executor_factory.h"

namespace emlx {
namespace {

// Notes how many tokens each step feeds.
class CountingExecutor final : public Executor {
 public:
  CountingExecutor(std::unique_ptr<Executor> executor, JsonArray& fed)
      : executor_(std::move(executor)), fed_(fed) {}

  SequenceId open() override { return executor_->open(); }
  SequenceId fork(SequenceId sequence, int length) override {
    return executor_->fork(sequence, length);
  }
  void truncate(SequenceId sequence, int length) override { executor_->truncate(sequence, length); }
  void close(SequenceId sequence) override { executor_->close(sequence); }
  int length(SequenceId sequence) const override { return executor_->length(sequence); }
  void submit(std::span<const Row> rows) override {
    for (const Row& row : rows) fed_.emplace_back(row.tokens.empty() ? 1 : row.tokens.size());
    executor_->submit(rows);
  }
  std::span<const RowResult> collect() override { return executor_->collect(); }
  int vocab() const override { return executor_->vocab(); }
  ExecutorInfo info() const override { return executor_->info(); }
  ExecutorCapacity capacity() const override { return executor_->capacity(); }
  ExecutorMemory memory() const override { return executor_->memory(); }

 private:
  std::unique_ptr<Executor> executor_;
  JsonArray& fed_;
};

class Recorder final : public GenerationListener {
 public:
  explicit Recorder(std::ofstream& logits) : logits_(logits) {}

  void on_token(const TokenEvent& event) override {
    tokens.push_back(event.id);
    logprobs.push_back(event.logprob);
    logits_.write(reinterpret_cast<const char*>(event.logits.data()),
                  static_cast<std::streamsize>(event.logits.size_bytes()));
  }
  void on_finish(const FinishEvent&) override { done.set_value(); }
  void on_error(const Error& error) override { done.set_exception(std::make_exception_ptr(error)); }

  std::promise<void> done;
  JsonArray tokens, logprobs;

 private:
  std::ofstream& logits_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<TokenId> to_tokens(const JsonValue& ids) {
  std::vector<TokenId> tokens;
  for (const JsonValue& id : ids.as_array()) tokens.push_back(id.to_number<TokenId>());
  return tokens;
}

GenerationRequest to_request(const JsonObject& item, const TextModel& text, bool with_logits) {
  GenerationRequest request;
  request.ignore_eos = true;
  request.fetch_logits = with_logits;
  if (const JsonValue* chat = item.if_contains("chat")) {
    const JsonArray messages = {JsonObject{{"role", "user"}, {"content", *chat}}};
    request.prompt = encode_chat(text, messages, {});
  } else {
    request.prompt = to_tokens(item.at("prompt"));
  }
  if (const JsonValue* forced = item.if_contains("forced")) {
    request.forced = to_tokens(*forced);
  } else {
    request.max_tokens = item.at("max_tokens").to_number<int>();
  }
  return request;
}

JsonValue run(const JsonObject& request) {
  const std::string path(request.at("model").as_string());
  ExecutorOptions options;
  options.backend = Backend::Mlx;
  if (const JsonValue* backend = request.if_contains("backend"))
    options.backend = parse_backend(std::string(backend->as_string()));
  if (const JsonValue* bits = request.if_contains("kv_bits"))
    options.kv_bits = bits->to_number<int>();
  options.dtype = parse_compute_dtype(std::string(request.at("dtype").as_string()));
  const TextModel text = open_text_model(path);
  JsonArray fed;  // the engine thread's while a request runs
  Engine engine(text.tokenizer, text.eos, [&] {
    return std::make_unique<CountingExecutor>(make_executor(text.model, options), fed);
  });

  std::ofstream logits;
  const JsonValue* const logits_path = request.if_contains("logits");
  if (logits_path != nullptr) logits.open(std::string(logits_path->as_string()), std::ios::binary);
  JsonArray cases;
  for (const JsonValue& item : request.at("cases").as_array()) {
    GenerationRequest generation = to_request(item.as_object(), text, logits_path != nullptr);
    const JsonArray prompt(generation.prompt.begin(), generation.prompt.end());
    const auto recorder = std::make_shared<Recorder>(logits);
    engine.submit(std::move(generation), recorder);
    recorder->done.get_future().get();
    cases.push_back(JsonObject{{"prompt", prompt},
                               {"fed", std::exchange(fed, {})},
                               {"tokens", recorder->tokens},
                               {"logprobs", recorder->logprobs}});
  }
  logits.close();
  if (logits_path != nullptr && !logits) throw std::runtime_error("cannot write the logits");
  const ExecutorInfo& info = engine.info();
  return JsonObject{{"info", JsonObject{{"backend", info.backend},
                                        {"device", info.device},
                                        {"dtype", info.dtype},
                                        {"exact", info.exact}}},
                    {"cases", std::move(cases)}};
}

}  // namespace
}  // namespace emlx

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: parity_driver REQUEST");
    const emlx::JsonValue request = emlx::parse_json(emlx::read_file(argv[1]), "the request");
    fmt::print("{}\n", emlx::to_json(emlx::run(request.as_object())));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "parity_driver: {}\n", error.what());
    return 1;
  }
}
