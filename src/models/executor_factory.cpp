#include "models/executor_factory.h"

#include <fmt/ranges.h>

#include <iterator>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
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

constexpr Named<Backend> kBackends[] = {{"auto", Backend::Auto}, {"mlx", Backend::Mlx}};
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

}  // namespace

Backend parse_backend(const std::string& name) {
  return parse("backend", name, kBackends);
}

ComputeDType parse_compute_dtype(const std::string& name) {
  return parse("dtype", name, kDTypes);
}

std::unique_ptr<Executor> make_executor([[maybe_unused]] const std::shared_ptr<const Model>& model,
                                        const ExecutorOptions& options) {
  switch (options.backend == Backend::Auto ? Backend::Mlx : options.backend) {
#ifdef EMLX_HAS_MLX
    case Backend::Mlx:
      return make_mlx_executor(model, options);
#endif
    default:
      fail(ErrorCode::Unsupported,
           "this build cannot run models: it was made without MLX (configure with -DEMLX_MLX=ON)");
  }
}

}  // namespace emlx
