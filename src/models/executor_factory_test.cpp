#include "models/executor_factory.h"

#include <gtest/gtest.h>

#include "formats/test_support.h"
#include "models/random_model.h"
#ifdef EMLX_HAS_MLX
#include "models/mlx/mlx_executor.h"
#endif

namespace emlx {
namespace {

DecoderSpec tiny_shape() {
  return {.family = "llama",
          .layers = 1,
          .hidden = 64,
          .heads = 2,
          .kv_heads = 1,
          .head_dim = 32,
          .intermediate = 64,
          .vocab = 100,
          .max_positions = 64,
          .tied_head = true,
          .rope = {.dims = 32}};
}

TEST(ExecutorFactory, ReadsNamesOfBackendsAndDTypes) {
  EXPECT_EQ(parse_backend("auto"), Backend::Auto);
  EXPECT_EQ(parse_backend("cpu"), Backend::Cpu);
  EXPECT_EQ(parse_backend("mlx"), Backend::Mlx);
  EXPECT_EQ(parse_compute_dtype("auto"), ComputeDType::Auto);
  EXPECT_EQ(parse_compute_dtype("float32"), ComputeDType::Float32);
  EXPECT_EQ(parse_compute_dtype("bfloat16"), ComputeDType::BFloat16);
  EXPECT_EQ(parse_compute_dtype("float16"), ComputeDType::Float16);
}

TEST(ExecutorFactory, NamesTheChoicesForAnythingElse) {
  expect_error(ErrorCode::InvalidArgument, R"(a backend of auto, cpu, mlx, got "cuda")",
               [] { parse_backend("cuda"); });
  expect_error(ErrorCode::InvalidArgument, "auto, float32, bfloat16, float16, got \"\"",
               [] { parse_compute_dtype(""); });
}

// A CPU is what every test machine has; where MLX has a GPU too, Auto takes that.
TEST(ExecutorFactory, ComputesOnTheCpuUnlessToldOtherwise) {
  const auto model = random_model(tiny_shape(), {.bits = 0, .dtype = DType::F32});
  EXPECT_EQ(make_executor(model, {.backend = Backend::Cpu})->info().backend, "cpu");
  const std::string chosen = make_executor(model, {})->info().backend;
#ifdef EMLX_HAS_MLX
  EXPECT_EQ(chosen, mlx_has_gpu() ? "mlx" : "cpu");
  EXPECT_EQ(make_executor(model, {.dtype = ComputeDType::BFloat16})->info().backend, "mlx");
#else
  EXPECT_EQ(chosen, "cpu");
  expect_error(ErrorCode::Unsupported, "this build has no MLX",
               [&] { make_executor(model, {.backend = Backend::Mlx}); });
#endif
}

}  // namespace
}  // namespace emlx
