#include "models/executor_factory.h"

#include <fmt/ranges.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "models/cpu/cpu_executor.h"
#ifdef EMLX_HAS_MLX
#include "models/mlx/mlx_executor.h"
#endif

namespace emlx {
namespace {

template <typename Choice>
struct Named {
  std::string_view name;
  Choice choice;
};

constexpr Named<Backend> kBackends[] = {
    {"auto", Backend::Auto}, {"cpu", Backend::Cpu}, {"mlx", Backend::Mlx}};
constexpr Named<ComputeDType> kDTypes[] = {{"auto", ComputeDType::Auto},
                                           {"float32", ComputeDType::Float32},
                                           {"bfloat16", ComputeDType::BFloat16},
                                           {"float16", ComputeDType::Float16}};

template <typename Choice, std::size_t kCount>
Choice parse(const char* what, const std::string& name, const Named<Choice> (&choices)[kCount]) {
  std::vector<std::string_view> names;
  for (const auto& choice : choices) {
    if (choice.name == name) return choice.choice;
    names.push_back(choice.name);
  }
  fail(ErrorCode::InvalidArgument, "expected a {} of {}, got {}", what, fmt::join(names, ", "),
       quote(name));
}

// Auto: MLX where it has a GPU, or where it alone computes in the dtype asked for.
Backend resolve(const ExecutorOptions& options) {
  if (options.backend != Backend::Auto) return options.backend;
#ifdef EMLX_HAS_MLX
  const bool half =
      options.dtype == ComputeDType::BFloat16 || options.dtype == ComputeDType::Float16;
  if (half || mlx_has_gpu()) return Backend::Mlx;
#endif
  return Backend::Cpu;
}

}  // namespace

Backend parse_backend(const std::string& name) {
  return parse("backend", name, kBackends);
}

ComputeDType parse_compute_dtype(const std::string& name) {
  return parse("dtype", name, kDTypes);
}

std::unique_ptr<Executor> make_executor(const std::shared_ptr<const Model>& model,
                                        const ExecutorOptions& options) {
  switch (resolve(options)) {
    case Backend::Cpu:
      return make_cpu_executor(model, options);
#ifdef EMLX_HAS_MLX
    case Backend::Mlx:
      return make_mlx_executor(model, options);
#endif
    default:
      fail(ErrorCode::Unsupported,
           "this build has no MLX (configure with -DEMLX_MLX=ON, or choose the cpu backend)");
  }
}

}  // namespace emlx
