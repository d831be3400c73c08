// What tests of the engine and of the server share.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "models/executor.h"
#include "models/scripted/scripted_executor.h"
#include "tokenizer/test_support.h"
#include "tokenizer/tokenizer.h"

namespace emlx {

// Ids 0 to 255 are the bytes; these follow.
inline constexpr TokenId kSpaceC4 = 256;    // " \xc4": a space and the first half of a letter
inline constexpr TokenId kEndOfText = 257;  // special
inline constexpr TokenId kThink = 258, kEndThink = 259;
inline constexpr int kTinyVocab = 260;

inline TokenizerFile tiny_tokenizer_file() {
  const auto added = [](TokenId id, const char* content, bool special) {
    return JsonObject{{"id", id},          {"content", content}, {"single_word", false},
                      {"lstrip", false},   {"rstrip", false},    {"normalized", false},
                      {"special", special}};
  };
  TokenizerFile file;
  file.merges = {{" ", "\xc4"}};
  file.added_tokens =
      to_json(JsonArray{added(kEndOfText, "<|end|>", true), added(kThink, "<think>", false),
                        added(kEndThink, "</think>", false)});
  return file;
}

inline std::string tiny_tokenizer_json() {
  return tiny_tokenizer_file().text();
}

inline std::shared_ptr<const Tokenizer> tiny_tokenizer() {
  return std::make_shared<const Tokenizer>(Tokenizer::from_json(tiny_tokenizer_json()));
}

// The tokens of `text`, a byte each.
inline std::vector<TokenId> bytes_of(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

// `text` and the end-of-text token.
inline std::vector<TokenId> script(std::string_view text) {
  std::vector<TokenId> ids = bytes_of(text);
  ids.push_back(kEndOfText);
  return ids;
}

// Says `script` whatever the prompt. Has one sequence, so a request that leaves its own open is
// noticed by the next.
inline ScriptedOptions tiny_model(std::vector<TokenId> script) {
  ScriptedOptions options;
  options.vocab = kTinyVocab;
  options.script = [script = std::move(script)](int) { return script; };
  options.end = kEndOfText;
  options.sequences = 1;
  return options;
}

// Lets one thread hold up another.
class Gate {
 public:
  void open() {
    {
      const std::scoped_lock lock(mutex_);
      open_ = true;
    }
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Gathers one request's events; the test's thread waits for the last.
class Collected final : public GenerationListener {
 public:
  void on_token(const TokenEvent& event) override {
    const std::scoped_lock lock(mutex_);
    ids.push_back(event.id);
    logprobs.push_back(event.logprob);
    logits.emplace_back(event.logits.begin(), event.logits.end());
    pieces.push_back(event.text);
    text += event.text;
  }
  void on_finish(const FinishEvent& event) override {
    const std::scoped_lock lock(mutex_);
    finish = event;
    text += event.text;
    ended_.notify_all();
  }
  void on_error(const Error& failure) override {
    const std::scoped_lock lock(mutex_);
    error = failure;
    ended_.notify_all();
  }

  // Waits for the end; false if it takes too long.
  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, std::chrono::seconds(20), [this] { return finish || error; });
  }
  bool ended() {
    const std::scoped_lock lock(mutex_);
    return finish || error;
  }

  // Read after wait().
  std::vector<TokenId> ids;
  std::vector<float> logprobs;
  std::vector<std::vector<float>> logits;
  std::vector<std::string> pieces;
  std::string text;  // the finish event's included
  std::optional<FinishEvent> finish;
  std::optional<Error> error;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
};

// What a test wants to happen, on the engine thread, before each call reaches the executor, and
// what it saw. Shared by the test and a HookedExecutor.
struct ExecutorProbe {
  // `n` counts the calls from 1. Hooks may run until the engine ends: they must not hold a test's
  // locals.
  std::function<void(int n, const Row&)> submit;
  std::function<void(int n)> collect, open, close;

  // For hooks to wait at. All open before the engine ends, so that a test that fails does not hang.
  Gate reached, gate, next_gate;
  void open_gates() {
    for (Gate* each : {&reached, &gate, &next_gate}) each->open();
  }

  struct SeenRow {
    int tokens = 0;  // 0: fed on the device
    bool greedy = false, wants_logits = false;
    bool operator==(const SeenRow&) const = default;
  };
  std::mutex mutex;
  std::vector<SeenRow> rows;  // guarded by mutex, as below
  std::string calls;          // 'S'ubmit, 'C'ollect, 'O'pen, 'X' (close), in order

  int note(char call) {
    const std::scoped_lock lock(mutex);
    calls += call;
    return static_cast<int>(std::count(calls.begin(), calls.end(), call));
  }
  std::vector<SeenRow> seen() {
    const std::scoped_lock lock(mutex);
    return rows;
  }
  std::string log() {
    const std::scoped_lock lock(mutex);
    return calls;
  }
};

// Another executor with a probe in front of it, for steps of one row.
class HookedExecutor final : public Executor {
 public:
  HookedExecutor(std::unique_ptr<Executor> inner, std::shared_ptr<ExecutorProbe> probe)
      : inner_(std::move(inner)), probe_(std::move(probe)) {}

  SequenceId open() override {
    const int n = probe_->note('O');
    if (probe_->open) probe_->open(n);
    return inner_->open();
  }
  SequenceId fork(SequenceId sequence, int length) override {
    return inner_->fork(sequence, length);
  }
  void truncate(SequenceId sequence, int length) override { inner_->truncate(sequence, length); }
  void close(SequenceId sequence) override {
    const int n = probe_->note('X');
    if (probe_->close) probe_->close(n);
    inner_->close(sequence);
  }
  int length(SequenceId sequence) const override { return inner_->length(sequence); }

  void submit(std::span<const Row> rows) override {
    const int n = probe_->note('S');
    const Row& row = rows.front();
    const auto fed = static_cast<int>(row.tokens.size());
    {
      const std::scoped_lock lock(probe_->mutex);
      probe_->rows.push_back({fed, row.greedy, row.logits_from < std::max(fed, 1)});
    }
    if (probe_->submit) probe_->submit(n, row);
    inner_->submit(rows);
  }
  std::span<const RowResult> collect() override {
    const int n = probe_->note('C');
    const auto results = inner_->collect();
    if (probe_->collect) probe_->collect(n);
    return results;
  }

  int vocab() const override { return inner_->vocab(); }
  ExecutorInfo info() const override { return inner_->info(); }
  ExecutorCapacity capacity() const override { return inner_->capacity(); }
  ExecutorMemory memory() const override { return inner_->memory(); }

 private:
  const std::unique_ptr<Executor> inner_;
  const std::shared_ptr<ExecutorProbe> probe_;
};

}  // namespace emlx
