#include "models/convert.h"

#include <fmt/format.h>

#include <csignal>

#include "app/commands.h"
#include "app/terminal.h"
#include "base/error.h"
#include "models/model.h"
#include "tokenizer/tokenizer.h"

namespace emlx {
namespace {

// Leaves convert_gguf, which then removes what it has written.
struct Interrupted {};

}  // namespace

int run_convert(const ConvertFlags& flags) {
  const Model model = open_model(flags.input);
  if (!model.vocab)
    throw Error(ErrorCode::InvalidArgument,
                fmt::format("expected a .gguf file, got an MLX directory: {}", flags.input));
  install_interrupt_handler({SIGINT, SIGTERM});
  std::signal(SIGXFSZ, SIG_IGN);  // so that writing fails instead
  ConvertOptions options;
  options.dtype = flags.dtype == "float32" ? DType::F32 : DType::F16;
  {
    ProgressBar bar("converting");
    options.progress = [&bar](int done, int total) {
      if (interrupted()) throw Interrupted();
      bar.update(static_cast<std::size_t>(done), static_cast<std::size_t>(total));
    };
    try {
      convert_gguf(model, tokenizer_json_from_vocab(*model.vocab), flags.output, options);
    } catch (const Interrupted&) {
      return 130;
    }
  }
  print_error(fmt::format("wrote {}\n", flags.output));
  return 0;
}

}  // namespace emlx
