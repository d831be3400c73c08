// The same bits on every instruction set, on every machine.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/sha256.h"
#include "kernels/cpu_isa.h"
#include "models/cpu/cpu_test_support.h"

namespace emlx {
namespace {

struct Golden {
  const char* name;
  DecoderSpec spec;
  RandomWeights weights;
  int kv_bits;
  const char* hash;
};

// To make the hashes anew (only a change of the numerics on purpose is a reason): run
// `cpu_tests --gtest_filter='CpuExecutorGolden.*'` and take what it got; all instruction sets must
// agree.
std::vector<Golden> goldens() {
  DecoderSpec qwen3{.family = "qwen3",
                    .layers = 2,
                    .hidden = 64,
                    .heads = 4,
                    .kv_heads = 2,
                    .head_dim = 128,
                    .intermediate = 192,
                    .vocab = 301,
                    .max_positions = 256,
                    .qk_norm = true,
                    .tied_head = true,
                    .rope = {.dims = 128, .theta = 1e6F}};
  DecoderSpec llama3 = qwen3;
  llama3.hidden = 96;
  llama3.heads = 9;
  llama3.kv_heads = 3;
  llama3.head_dim = llama3.rope.dims = 64;
  llama3.qk_norm = llama3.tied_head = false;
  llama3.rope.kind = RopeSpec::Kind::Llama3;
  llama3.rope.factor = 8;
  llama3.rope.original_max_positions = 64;
  DecoderSpec dense = qwen3;
  dense.hidden = 80;
  dense.heads = 6;
  dense.head_dim = dense.rope.dims = 24;
  dense.intermediate = 100;
  dense.attention_bias = dense.mlp_bias = dense.rope.traditional = true;
  // More than one worker's part of the logits.
  DecoderSpec wide = qwen3;
  wide.heads = 8;
  wide.kv_heads = 1;
  wide.head_dim = wide.rope.dims = 80;
  wide.vocab = 5001;
  return {
      {"qwen3", qwen3, {}, 16, "1ccfd964468982612a369cbc7596b2ee01ffd2bfeae51c0592d14c7da5fae041"},
      {"llama3",
       llama3,
       {.bits = 3, .group_size = 32, .head_bits = 6},
       8,
       "8f526199797f91c335fe1a29df1b55ebcf6298967dddcf1ec3b8a4af2a7fd738"},
      {"dense",
       dense,
       {.bits = 0, .head_bits = 0},
       32,
       "55af8a5379a0c57985f6be24180bbbe7985e39804ca23b72d0268619d6b8fad1"},
      {"wide",
       wide,
       {.bits = 5, .group_size = 64, .head_bits = 8, .dtype = DType::F16, .seed = 7},
       16,
       "214b9d6d6e7e1e965dad25e42632f6716582ff26537bc64470b6e4bf56148726"}};
}

// Of the logits of 60 of 100 tokens, and of the log-probabilities of what greedy takes.
std::string hash_of(Executor& executor, const Tokens& tokens) {
  Logits all;
  const SequenceId id = executor.open();
  for (std::size_t at = 0; at < tokens.size(); at += 50) {
    const Row row{.sequence = id,
                  .tokens = std::span(tokens).subspan(at, 50),
                  .logits_from = 20,
                  .greedy = true,
                  .fetch_logits = true};
    executor.submit({&row, 1});
    const RowResult& result = executor.collect().front();
    all.insert(all.end(), result.logits.begin(), result.logits.end());
    all.push_back(result.logprob);
  }
  return sha256_hex(std::as_bytes(std::span(all)));
}

TEST(CpuExecutorGolden, LogitsHaveTheSameBitsOnEveryInstructionSet) {
  for (const Golden& golden : goldens()) {
    const auto model = random_model(golden.spec, golden.weights);
    const Tokens tokens = some_tokens(100, golden.spec.vocab, 1);
    for (const CpuIsa isa : supported_isas()) {
      SCOPED_TRACE(fmt::format("{} on {}", golden.name, isa_name(isa)));
      const ForcedIsa forced{std::string(isa_name(isa))};
      const auto executor = make_cpu_executor(model, {.threads = 2, .kv_bits = golden.kv_bits});
      EXPECT_EQ(executor->info().device, isa_name(isa));
      EXPECT_EQ(hash_of(*executor, tokens), golden.hash);
    }
  }
}

}  // namespace
}  // namespace emlx
