// Decode and prefill of the CPU executor on a shape's random weights or on a model's own, with
// Google Benchmark. One iteration is one step; items are tokens.
//   executor_bench [--shape=NAME | --model=PATH] [--threads=N] [--kv-bits=N] [Google Benchmark's
//   flags]
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/executor_factory.h"
#include "models/random_model.h"

namespace emlx {
namespace {

class Subject {
 public:
  Subject(const std::shared_ptr<const Model>& model, const ExecutorOptions& options)
      : executor_(make_executor(model, options)) {}

  // A sequence of `depth` pseudo-random tokens.
  SequenceId filled(int depth) {
    const SequenceId sequence = executor_->open();
    for (int done = 0; done < depth;) {
      const int count = std::min(depth - done, executor_->capacity().step_tokens);
      feed(sequence, count, false);
      done += count;
    }
    return sequence;
  }
  void feed(SequenceId sequence, int count, bool greedy) {
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& token : tokens) token = static_cast<TokenId>((next_ += 7919) % 40000);
    const Row row{.sequence = sequence, .tokens = tokens, .logits_from = count, .greedy = greedy};
    executor_->submit({&row, 1});
    executor_->collect();
  }
  Executor& executor() { return *executor_; }

 private:
  std::unique_ptr<Executor> executor_;
  unsigned next_ = 1;
};

void decode(benchmark::State& state, Subject& subject) {
  const int depth = static_cast<int>(state.range(0));
  const SequenceId sequence = subject.filled(depth);
  for (auto _ : state) {
    subject.feed(sequence, 1, true);
    if (subject.executor().length(sequence) >= depth + 64) {
      state.PauseTiming();
      subject.executor().truncate(sequence, depth);
      state.ResumeTiming();
    }
  }
  subject.executor().close(sequence);
  state.SetItemsProcessed(state.iterations());
}

void prefill(benchmark::State& state, Subject& subject) {
  const int tokens = static_cast<int>(state.range(0));
  for (auto _ : state) subject.executor().close(subject.filled(tokens));
  state.SetItemsProcessed(state.iterations() * tokens);
}

int run(int argc, char** argv) {
  std::string shape = "qwen3-0.6b", path;
  ExecutorOptions options{.backend = Backend::Cpu, .context = 8192};
  CLI::App app("Benchmarks of an executor");
  app.add_option("--shape", shape, "a named shape, with random weights");
  app.add_option("--model", path, "a model on disk instead");
  app.add_option("--threads", options.threads);
  app.add_option("--kv-bits", options.kv_bits);
  app.allow_extras();  // Google Benchmark's
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> rest = app.remaining();
  std::vector<char*> flags{argv[0]};
  for (std::string& flag : rest) flags.push_back(flag.data());
  int count = static_cast<int>(flags.size());
  benchmark::Initialize(&count, flags.data());
  if (benchmark::ReportUnrecognizedArguments(count, flags.data())) return 2;
  std::shared_ptr<const Model> model;
  if (path.empty()) {
    const DecoderSpec spec = named_shape(shape);
    const bool small = spec.family == "llama";
    model = random_model(spec, {.group_size = small ? 32 : 64,
                                .head_bits = small ? 8 : 4,
                                .dtype = small ? DType::F16 : DType::BF16});
  } else {
    model = std::make_shared<const Model>(open_model(path));
  }
  Subject subject(model, options);
  const auto add = [&](const char* name, auto function, int argument) {
    benchmark::RegisterBenchmark(name, function, std::ref(subject))
        ->Arg(argument)
        ->Unit(benchmark::kMillisecond)
        ->UseRealTime();
  };
  add("decode", decode, 128);
  add("decode", decode, 4096);
  add("prefill", prefill, 512);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace emlx

int main(int argc, char** argv) {
  try {
    return emlx::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "executor_bench: %s\n", error.what());
    return 1;
  }
}
