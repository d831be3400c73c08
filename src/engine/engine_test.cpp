#include "engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>

#include "engine/sampler.h"
#include "engine/test_support.h"

namespace emlx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using SeenRow = ExecutorProbe::SeenRow;

constexpr SeenRow kFirst{1, true, true};      // the last prompt token
constexpr SeenRow kOnDevice{0, true, true};   // a greedy token that never left the device
constexpr SeenRow kFromHost{1, false, true};  // a sampled or forced one

// An engine over a scripted model, and a probe into its executor.
class EngineTest : public testing::Test {
 protected:
  ~EngineTest() override { probe_->open_gates(); }

  void start(std::vector<TokenId> script, int context = 256, int step_tokens = 64,
             std::size_t queue = 64) {
    ScriptedOptions model = tiny_model(std::move(script));
    model.context = context;
    model.step_tokens = step_tokens;
    start(model, queue);
  }

  void start(const ScriptedOptions& model, std::size_t queue = 64) {
    EngineOptions options;
    options.queue = queue;
    engine_ = std::make_unique<Engine>(
        tiny_tokenizer(), std::vector<TokenId>{kEndOfText},
        [model, probe = probe_] {
          return std::make_unique<HookedExecutor>(std::make_unique<ScriptedExecutor>(model), probe);
        },
        options);
  }

  std::shared_ptr<Collected> submit(GenerationRequest request) {
    const auto collected = std::make_shared<Collected>();
    last_ = engine_->submit(std::move(request), collected);
    return collected;
  }

  // Runs one request to its end.
  std::shared_ptr<Collected> run(GenerationRequest request) {
    const auto collected = submit(std::move(request));
    EXPECT_TRUE(collected->wait());
    return collected;
  }

  // Waits until the engine thread is done with all requests: hooks may then be changed.
  void settle() {
    while (engine_->status().active != 0) std::this_thread::yield();
  }

  // The engine is in order: a plain request gets the script's text.
  void expect_serves(const std::string& text) {
    const auto next = run(prompt("again"));
    ASSERT_TRUE(next->finish) << (next->error ? next->error->what() : "");
    EXPECT_EQ(next->text, text);
    EXPECT_TRUE(engine_->status().alive);
  }

  static GenerationRequest prompt(const std::string& text) {
    GenerationRequest request;
    request.prompt = bytes_of(text);
    return request;
  }
  static GenerationRequest forced(std::vector<TokenId> ids) {
    GenerationRequest request = prompt("p");
    request.forced = std::move(ids);
    return request;
  }

  std::shared_ptr<ExecutorProbe> probe_ = std::make_shared<ExecutorProbe>();
  std::unique_ptr<Engine> engine_;
  Cancellation last_;  // of the newest request
};

// ---- text

TEST_F(EngineTest, GeneratesUntilTheEndOfTextToken) {
  start(script("ok!"));
  const auto answer = run(prompt("hello"));
  ASSERT_TRUE(answer->finish);
  EXPECT_EQ(answer->text, "ok!");
  EXPECT_EQ(answer->ids, script("ok!"));
  EXPECT_EQ(answer->finish->reason, FinishReason::Stop);
  EXPECT_EQ(answer->finish->prompt_tokens, 5);
  EXPECT_EQ(answer->finish->completion_tokens, 4);
  EXPECT_GE(answer->finish->prefill.count(), 0.0);
  expect_serves("ok!");
}

TEST_F(EngineTest, NeverSplitsACharacter) {
  start(script("x"));
  const std::vector<TokenId> ids = {'x',  kSpaceC4, 0x8F,
                                    0xC3, 0xA1,     'b'};  // "x " d-caron a-acute "b"
  const auto answer = run(forced(ids));
  EXPECT_EQ(answer->text,
            "x \xc4\x8f\xc3\xa1"
            "b");
  EXPECT_THAT(answer->pieces, ElementsAre("x", " ", "\xc4\x8f", "", "\xc3\xa1", "b"));
  EXPECT_EQ(answer->text, tiny_tokenizer()->decode(ids, true));
}

TEST_F(EngineTest, FlushesAnIncompleteCharacterBeforeASpace) {
  start(script("x"));
  const std::vector<TokenId> ids = {'a', 0xE2, 0x80, ' ', 0x8D, 'b'};
  const auto answer = run(forced(ids));
  EXPECT_EQ(answer->text,
            "a\xef\xbf\xbd \xef\xbf\xbd"
            "b");
  EXPECT_EQ(answer->text, tiny_tokenizer()->decode(ids, true));
  EXPECT_EQ(answer->finish->reason, FinishReason::Length);
}

TEST_F(EngineTest, ALimitInsideACharacterGivesOneReplacementCharacter) {
  start({'a', 0xE2, 0x80, 0xA6});
  GenerationRequest request = prompt("p");
  request.max_tokens = 3;
  const auto answer = run(request);
  EXPECT_EQ(answer->text, "a\xef\xbf\xbd");
  EXPECT_EQ(answer->finish->text, "\xef\xbf\xbd");
  EXPECT_EQ(answer->finish->reason, FinishReason::Length);
  EXPECT_EQ(answer->finish->completion_tokens, 3);
}

TEST_F(EngineTest, SpecialTokensShowOnlyWhenAskedFor) {
  start(script("x"));
  GenerationRequest request = forced({'a', kEndOfText, 'b', kThink});
  request.ignore_eos = true;
  EXPECT_EQ(run(request)->text, "ab<think>");
  request.skip_special_tokens = false;
  EXPECT_EQ(run(request)->text, "a<|end|>b<think>");
}

TEST_F(EngineTest, AForcedEndOfTextStopsAndIsNoText) {
  start(script("x"));
  GenerationRequest request = forced({'a', kEndOfText, 'b'});
  request.skip_special_tokens = false;
  const auto answer = run(request);
  EXPECT_EQ(answer->text, "a");
  EXPECT_EQ(answer->finish->reason, FinishReason::Stop);
  EXPECT_EQ(answer->finish->completion_tokens, 2);
}

// ---- stop strings

TEST_F(EngineTest, AStopStringAcrossTokensEndsTextAndWork) {
  start(script("alpha beta gamma delta"));
  GenerationRequest request = prompt("p");
  request.stop = {"beta gamma"};
  const auto answer = run(request);
  EXPECT_EQ(answer->text, "alpha ");
  EXPECT_EQ(answer->finish->reason, FinishReason::Stop);
  EXPECT_EQ(answer->finish->completion_tokens, 16);
  expect_serves("alpha beta gamma delta");
}

TEST_F(EngineTest, PartOfAStopStringNeverLeaks) {
  start(script("ABCDEFGHIJK"));
  GenerationRequest request = prompt("p");
  request.stop = {"DEFGHIJ"};
  const auto answer = run(request);
  EXPECT_EQ(answer->text, "ABC");
  EXPECT_THAT(answer->pieces, ElementsAre("A", "B", "C", "", "", "", "", "", "", ""));
}

TEST_F(EngineTest, TextHeldForAStopStringComesAtTheEnd) {
  start(script("so st"));
  GenerationRequest request = prompt("p");
  request.stop = {"stop"};
  const auto answer = run(request);
  EXPECT_EQ(answer->text, "so st");
  EXPECT_EQ(answer->finish->text, "st");
}

// ---- rows and pipelining

TEST_F(EngineTest, ThePromptGoesInChunksAndItsLastTokenAlone) {
  const std::vector<std::pair<int, std::vector<int>>> cases = {
      {1, {1}}, {2, {1, 1}}, {4, {3, 1}}, {5, {4, 1}}, {6, {4, 1, 1}}, {9, {4, 4, 1}}};
  start(script("x"), 256, /*step_tokens=*/4);
  for (const auto& [length, chunks] : cases) {
    const std::size_t before = probe_->seen().size();
    GenerationRequest request = prompt(std::string(static_cast<std::size_t>(length), 'p'));
    request.max_tokens = 1;
    run(request);
    const std::vector<SeenRow> rows = probe_->seen();
    ASSERT_EQ(rows.size(), before + chunks.size()) << length;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      EXPECT_EQ(rows[before + i].tokens, chunks[i]) << length;
      EXPECT_EQ(rows[before + i].wants_logits, i + 1 == chunks.size()) << length;
    }
  }
}

TEST_F(EngineTest, GreedyDecodeSubmitsAStepBeforeTheLastIsKnown) {
  start(script("ab"));
  run(prompt("p"));
  settle();
  // p -> a, b, <end> and one step too many, which is collected and dropped.
  EXPECT_THAT(probe_->seen(), ElementsAre(kFirst, kOnDevice, kOnDevice, kOnDevice));
  EXPECT_EQ(probe_->log(), "OSSCSCSCCX");
}

TEST_F(EngineTest, NoStepIsSubmittedPastTheTokenLimit) {
  start(script("abcdef"));
  GenerationRequest request = prompt("p");
  request.max_tokens = 2;
  EXPECT_EQ(run(request)->text, "ab");
  EXPECT_THAT(probe_->seen(), ElementsAre(kFirst, kOnDevice));
}

TEST_F(EngineTest, SampledAndForcedTokensAreFedFromTheHost) {
  start(script("abc"));
  run(forced({'x', 'y'}));
  EXPECT_THAT(probe_->seen(), ElementsAre(kFromHost, kFromHost));
  GenerationRequest request = prompt("p");
  request.sampling.temperature = 1.0F;
  request.max_tokens = 2;
  run(request);
  EXPECT_THAT(probe_->seen(), ElementsAre(kFromHost, kFromHost, kFromHost, kFromHost));
}

TEST_F(EngineTest, LogitsComeWhenAskedForAndMatchTheChoice) {
  start(script("ab"));
  GenerationRequest request = prompt("p");
  request.fetch_logits = true;
  const auto answer = run(request);
  ASSERT_EQ(answer->logits.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<float>& logits = answer->logits[i];
    ASSERT_EQ(logits.size(), std::size_t{kTinyVocab});
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    EXPECT_EQ(answer->ids[i], best);
    EXPECT_NEAR(answer->logprobs[i], token_logprob(logits, answer->ids[i]), 1e-5);
  }
  EXPECT_TRUE(run(prompt("p"))->logits[0].empty());
}

TEST_F(EngineTest, AForcedTokenHasItsOwnProbability) {
  start(script("a"));
  const auto answer = run(forced({'z'}));
  const double total = std::exp(10.0) + kTinyVocab - 1;  // the script's token has logit 10
  EXPECT_NEAR(answer->logprobs[0], -std::log(total), 1e-5);
}

// ---- limits

TEST_F(EngineTest, AFullContextEndsWithLength) {
  start(std::vector<TokenId>(400, 'x'), /*context=*/256);
  GenerationRequest request = prompt(std::string(250, 'p'));
  request.max_tokens = 100;
  const auto answer = run(request);
  ASSERT_TRUE(answer->finish);
  EXPECT_EQ(answer->finish->reason, FinishReason::Length);
  EXPECT_EQ(answer->finish->completion_tokens, 6);
  EXPECT_EQ(answer->text, "xxxxxx");
  expect_serves(std::string(251, 'x'));
}

TEST_F(EngineTest, RefusesPromptsThatLeaveNoRoom) {
  start(script("ok"), /*context=*/32);
  EXPECT_EQ(run(prompt(std::string(31, 'p')))->finish->completion_tokens, 1);
  for (const std::size_t length : {32U, 33U, 96U}) {
    try {
      submit(prompt(std::string(length, 'p')));
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::ContextLength);
      EXPECT_THAT(error.what(), HasSubstr(std::to_string(length)));
      EXPECT_THAT(error.what(), HasSubstr("32"));
    }
  }
  expect_serves("ok");
}

TEST_F(EngineTest, RefusesWhatMakesNoSenseByField) {
  start(script("ok"));
  const auto refused = [&](auto change) -> std::string {
    GenerationRequest request = prompt("p");
    change(request);
    try {
      submit(std::move(request));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refused([](auto& r) { r.prompt.clear(); }), StartsWith("prompt:"));
  EXPECT_THAT(refused([](auto& r) { r.prompt = {1, kTinyVocab}; }), StartsWith("prompt[1]:"));
  EXPECT_THAT(refused([](auto& r) { r.prompt = {-1}; }), StartsWith("prompt[0]:"));
  EXPECT_THAT(refused([](auto& r) { r.forced = {kTinyVocab}; }), StartsWith("forced[0]:"));
  EXPECT_THAT(refused([](auto& r) { r.max_tokens = 0; }), StartsWith("max_tokens:"));
  EXPECT_THAT(refused([](auto& r) { r.sampling.top_p = 2.0F; }), StartsWith("top_p:"));
  EXPECT_THAT(refused([](auto& r) { r.stop = {""}; }), StartsWith("stop:"));
  EXPECT_THAT(refused([](auto& r) { r.stop = {std::string(kMaxStopBytes + 1, 'x')}; }),
              StartsWith("stop:"));
  EXPECT_THAT(refused([](auto& r) { r.stop.assign(kMaxStops + 1, "x"); }), StartsWith("stop:"));
  expect_serves("ok");
}

// ---- sampling

TEST_F(EngineTest, ZeroAndTinyTemperaturesAreTheArgmax) {
  start(script("greedy"));
  for (const float temperature : {0.0F, 1e-8F, 1e-45F}) {
    GenerationRequest request = prompt("p");
    request.sampling.temperature = temperature;
    request.sampling.top_p = temperature == 0.0F ? 0.0F : 0.9F;
    request.sampling.top_k = 5;
    request.sampling.min_p = 0.1F;
    EXPECT_EQ(run(request)->text, "greedy") << temperature;
  }
}

TEST_F(EngineTest, TheSameSeedGivesTheSameTokensWhateverElseRuns) {
  start(std::vector<TokenId>(64, 'x'));
  const auto sampled = [&](std::optional<std::uint64_t> seed) {
    GenerationRequest request = prompt("p");
    request.sampling.temperature = 3.0F;
    request.sampling.seed = seed;
    request.max_tokens = 24;
    request.ignore_eos = true;
    return run(request)->ids;
  };
  const auto first = sampled(1);
  run(prompt("other"));
  EXPECT_EQ(sampled(1), first);
  EXPECT_NE(sampled(2), first);
  EXPECT_NE(sampled(1 + (std::uint64_t{1} << 32)), first);
  const std::set<std::vector<TokenId>> unseeded = {sampled({}), sampled({}), sampled({})};
  EXPECT_EQ(unseeded.size(), 3U);
}

// ---- cancellation

TEST_F(EngineTest, CancelledInTheQueueItIsToldWhileAnotherRuns) {
  start(script("long answer"));
  probe_->collect = [this](int step) {
    if (step == 1) probe_->gate.pass();
    if (step == 2) probe_->next_gate.pass();
  };
  const auto running = submit(prompt("a"));
  const auto queued = submit(prompt("b"));
  last_.cancel();
  probe_->gate.open();
  EXPECT_TRUE(queued->wait());
  EXPECT_FALSE(running->ended());
  ASSERT_TRUE(queued->finish);
  EXPECT_EQ(queued->finish->reason, FinishReason::Cancelled);
  EXPECT_EQ(queued->finish->completion_tokens, 0);
  probe_->next_gate.open();
  EXPECT_TRUE(running->wait());
  EXPECT_EQ(running->text, "long answer");
}

TEST_F(EngineTest, CancelledInPrefillItStopsBeforeTheNextChunk) {
  start(script("x"), 256, /*step_tokens=*/4);
  probe_->submit = [this](int n, const Row&) {
    probe_->gate.pass();
    if (n == 2) last_.cancel();
  };
  const auto answer = submit(prompt(std::string(100, 'p')));
  probe_->gate.open();
  ASSERT_TRUE(answer->wait());
  ASSERT_TRUE(answer->finish);
  EXPECT_EQ(answer->finish->reason, FinishReason::Cancelled);
  EXPECT_EQ(answer->finish->completion_tokens, 0);
  EXPECT_EQ(probe_->seen().size(), 2U);
  expect_serves("x");
}

TEST_F(EngineTest, CancelledInDecodeItStopsAndKeepsItsText) {
  start(std::vector<TokenId>(200, 'x'));
  probe_->collect = [this](int n) {
    probe_->gate.pass();
    if (n == 5) last_.cancel();
  };
  const auto answer = submit(prompt("p"));
  probe_->gate.open();
  ASSERT_TRUE(answer->wait());
  ASSERT_TRUE(answer->finish);
  EXPECT_EQ(answer->finish->reason, FinishReason::Cancelled);
  EXPECT_EQ(answer->text, "xxxxx");
  EXPECT_EQ(answer->finish->completion_tokens, 5);
}

TEST_F(EngineTest, DestructionCancelsWhatRunsAndWhatWaits) {
  start(std::vector<TokenId>(200, 'x'));
  probe_->collect = [this](int) {
    probe_->reached.open();
    probe_->gate.pass();
  };
  const auto active = submit(prompt("a"));
  const auto queued = submit(prompt("b"));
  probe_->reached.pass();
  std::thread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the destructor is on its way
    probe_->gate.open();
  });
  engine_.reset();
  opener.join();
  for (const auto& request : {active, queued}) {
    ASSERT_TRUE(request->finish);
    EXPECT_EQ(request->finish->reason, FinishReason::Cancelled);
  }
  EXPECT_LT(active->ids.size(), 200U);
  EXPECT_TRUE(queued->ids.empty());
}

// ---- load

TEST_F(EngineTest, AFullQueueIsBusyAndStatusCounts) {
  start(script("ok"), 256, 64, /*queue=*/2);
  probe_->submit = [this](int, const Row&) {
    probe_->reached.open();
    probe_->gate.pass();
  };
  std::vector<std::shared_ptr<Collected>> answers = {submit(prompt("a"))};
  probe_->reached.pass();  // taken off the queue
  answers.push_back(submit(prompt("b")));
  answers.push_back(submit(prompt("c")));
  EXPECT_EQ(engine_->status().active, 1);
  EXPECT_EQ(engine_->status().queued, 2U);
  try {
    submit(prompt("d"));
    ADD_FAILURE() << "expected Busy";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Busy);
  }
  probe_->gate.open();
  for (const auto& answer : answers) {
    EXPECT_TRUE(answer->wait());
    EXPECT_EQ(answer->text, "ok");
  }
  expect_serves("ok");
}

TEST_F(EngineTest, ManySubmittersGetTheirOwnText) {
  start(script("x"));
  std::vector<std::thread> submitters;
  for (int thread = 0; thread < 8; ++thread)
    submitters.emplace_back([&, thread] {
      for (int i = 0; i < 20; ++i) {
        const std::string text = "marker " + std::to_string(thread) + "/" + std::to_string(i);
        const auto answer = std::make_shared<Collected>();
        engine_->submit(forced(bytes_of(text)), answer);
        EXPECT_TRUE(answer->wait());
        EXPECT_EQ(answer->text, text);
      }
    });
  for (std::thread& submitter : submitters) submitter.join();
}

// ---- failures

TEST_F(EngineTest, AFailingStepFailsItsRequestOnly) {
  const auto fail_at = [](int call) {
    return [call](int n, auto&&...) {
      if (n == call) throw std::runtime_error("the device fell over");
    };
  };
  const std::vector<std::function<void(ExecutorProbe&)>> failures = {
      [&](ExecutorProbe& probe) { probe.open = fail_at(1); },
      [&](ExecutorProbe& probe) { probe.submit = fail_at(1); },
      [&](ExecutorProbe& probe) { probe.submit = fail_at(3); },
      [&](ExecutorProbe& probe) { probe.collect = fail_at(1); },
      [&](ExecutorProbe& probe) { probe.collect = fail_at(2); }};
  for (const auto& set_hook : failures) {
    probe_ = std::make_shared<ExecutorProbe>();
    set_hook(*probe_);
    start(script("fine"));
    const auto answer = run(prompt("p"));
    ASSERT_TRUE(answer->error);
    EXPECT_EQ(answer->error->code(), ErrorCode::Internal);
    EXPECT_THAT(answer->error->what(), HasSubstr("fell over"));
    expect_serves("fine");
  }
}

TEST_F(EngineTest, AFailingSurplusStepHurtsNobody) {
  start(script("ab"));
  probe_->collect = [](int n) {
    if (n == 4) throw std::runtime_error("past the end");
    if (n == 8) throw 42;  // whatever is thrown
  };
  EXPECT_EQ(run(prompt("p"))->text, "ab");
  EXPECT_EQ(run(prompt("p"))->text, "ab");
  expect_serves("ab");
}

TEST_F(EngineTest, DiesIfTheExecutorCannotBeBroughtBack) {
  start(script("ok"));
  probe_->submit = [this](int, const Row&) {
    probe_->reached.open();
    probe_->gate.pass();
  };
  probe_->close = [](int) { throw std::runtime_error("the device is gone"); };
  const auto last = submit(prompt("a"));
  probe_->reached.pass();
  const auto waiting = submit(prompt("b"));
  probe_->gate.open();
  EXPECT_TRUE(last->wait());
  EXPECT_EQ(last->text, "ok");  // its answer was whole before
  ASSERT_TRUE(waiting->wait());
  ASSERT_TRUE(waiting->error);
  EXPECT_EQ(waiting->error->code(), ErrorCode::Internal);
  EXPECT_FALSE(engine_->status().alive);
  EXPECT_THAT(engine_->status().failure, HasSubstr("device is gone"));
  try {
    submit(prompt("c"));
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Internal);
  }
}

TEST_F(EngineTest, LogitsThatAreNoNumbersFailTheirRequestOnly) {
  ScriptedOptions model = tiny_model({});
  model.script = [](int n) {
    return n < 2 ? std::vector<TokenId>{'a', kNanLogits, 'b'} : script("fine");
  };
  start(model);
  for (const float temperature : {0.0F, 1.0F}) {
    GenerationRequest request = prompt("p");
    request.sampling.temperature = temperature;
    const auto answer = run(request);
    ASSERT_TRUE(answer->error) << temperature;
    EXPECT_EQ(answer->error->code(), ErrorCode::Internal);
    EXPECT_EQ(answer->ids.size(), 1U);
  }
  expect_serves("fine");
}

TEST_F(EngineTest, AListenerThatThrowsLosesItsRequestOnly) {
  class Thrower final : public GenerationListener {
   public:
    void on_token(const TokenEvent&) override { throw std::runtime_error("no"); }
    void on_finish(const FinishEvent&) override { throw std::runtime_error("no"); }
    void on_error(const Error&) override { throw std::runtime_error("no"); }
  };
  start(script("ok"));
  engine_->submit(prompt("p"), std::make_shared<Thrower>());
  expect_serves("ok");
}

TEST_F(EngineTest, WhatTheFactoryThrowsComesOutOfTheConstructor) {
  const auto refuse = []() -> std::unique_ptr<Executor> {
    throw Error(ErrorCode::Unsupported, "no such device");
  };
  try {
    const Engine engine(tiny_tokenizer(), {}, refuse);
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_STREQ(error.what(), "no such device");
  }
}

TEST_F(EngineTest, TellsWhatItsExecutorIs) {
  start(script("ok"), /*context=*/99);
  EXPECT_EQ(engine_->info().backend, "scripted");
  EXPECT_EQ(engine_->capacity().context, 99);
  EXPECT_TRUE(engine_->status().alive);
  EXPECT_EQ(engine_->status().active, 0);
}

}  // namespace
}  // namespace emlx
