#include "models/executor_factory.h"

#include <gtest/gtest.h>

#include "formats/test_support.h"

namespace emlx {
namespace {

TEST(ExecutorFactory, ReadsNamesOfBackendsAndDTypes) {
  EXPECT_EQ(parse_backend("auto"), Backend::Auto);
  EXPECT_EQ(parse_backend("mlx"), Backend::Mlx);
  EXPECT_EQ(parse_compute_dtype("auto"), ComputeDType::Auto);
  EXPECT_EQ(parse_compute_dtype("float32"), ComputeDType::Float32);
  EXPECT_EQ(parse_compute_dtype("bfloat16"), ComputeDType::BFloat16);
  EXPECT_EQ(parse_compute_dtype("float16"), ComputeDType::Float16);
}

TEST(ExecutorFactory, NamesTheChoicesForAnythingElse) {
  expect_error(ErrorCode::InvalidArgument, R"(a backend of auto, mlx, got "cuda")",
               [] { parse_backend("cuda"); });
  expect_error(ErrorCode::InvalidArgument, "auto, float32, bfloat16, float16, got \"\"",
               [] { parse_compute_dtype(""); });
}

#ifndef EMLX_HAS_MLX
TEST(ExecutorFactory, SaysThatThisBuildRunsNoModels) {
  for (const Backend backend : {Backend::Auto, Backend::Mlx})
    expect_error(ErrorCode::Unsupported, "made without MLX", [&] {
      make_executor(std::make_shared<const Model>(), {.backend = backend});
    });
}
#endif

}  // namespace
}  // namespace emlx
