// Chooses and builds the executor for a model.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "models/executor.h"
#include "models/model.h"

namespace emlx {

enum class Backend { Auto, Cpu, Mlx };
enum class ComputeDType {
  Auto,
  Float32,
  BFloat16,
  Float16
};  // Auto: float32 on a CPU, else the model's own

// "auto", "cpu", "mlx" / "auto", "float32", "bfloat16", "float16"; Error(InvalidArgument) for
// anything else, naming the choices.
Backend parse_backend(const std::string& name);
ComputeDType parse_compute_dtype(const std::string& name);

inline constexpr int kMaxThreads = 256;

struct ExecutorOptions {
  Backend backend = Backend::Auto;
  ComputeDType dtype = ComputeDType::Auto;
  int context = 0;  // positions a sequence may hold; 0: the model's own limit
  int threads = 0;  // CPU threads; 0: the backend's choice
  // The CPU executor's:
  int kv_bits = 0;            // 8, 16 or 32 a KV element; 0: 16
  std::size_t kv_memory = 0;  // bytes; 0: four contexts, at most half of what is free
};

// Call on the thread that will use the executor, which may keep a share of `model`. Throws
// Error(Unsupported) if the build lacks the backend or the backend lacks something the model needs,
// naming it.
std::unique_ptr<Executor> make_executor(const std::shared_ptr<const Model>& model,
                                        const ExecutorOptions& options);

}  // namespace emlx
