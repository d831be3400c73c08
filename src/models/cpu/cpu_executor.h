// Runs a decoder on any CPU, on kernels of our own.
#pragma once

#include <memory>

#include "models/executor.h"
#include "models/executor_factory.h"
#include "models/model.h"

namespace emlx {

// Packs the weights into memory of its own and keeps `model` for the embedding. A step takes many
// rows and is computed inside submit(), on this thread and options.threads - 1 others. A token's
// logits have the same bits whatever shares its step, for any chunking, number of threads and
// instruction set. Throws Error(InvalidArgument) for a context, thread count or dtype that cannot
// be, Error(Busy) naming what is needed and what is there if memory is short.
std::unique_ptr<Executor> make_cpu_executor(std::shared_ptr<const Model> model,
                                            const ExecutorOptions& options);

}  // namespace emlx
