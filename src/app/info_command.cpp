#include <fmt/format.h>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"

namespace emlx {
namespace {

std::string mebibytes(std::size_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024.0 * 1024.0));
}

void line(std::string_view name, const std::string& value) {
  print(fmt::format("{:<14}{}\n", name, value));
}

}  // namespace

int run_info(const InfoFlags& flags) {
  const Session session = open_session(flags.model);
  const Model& model = *session.text.model;
  const DecoderSpec& spec = model.spec;
  const ExecutorMemory memory = session.engine->memory();
  line("model", model.name);
  line("family", spec.family);
  line("shape",
       fmt::format("{} layers, hidden {}, {} heads ({} KV), head {}, MLP {}", spec.layers,
                   spec.hidden, spec.heads, spec.kv_heads, spec.head_dim, spec.intermediate));
  line("vocabulary",
       fmt::format("{} rows, {} tokens, {} head", spec.vocab, session.text.tokenizer->vocab_size(),
                   spec.tied_head ? "tied" : "untied"));
  line("weights", fmt::format("{}, {} in memory", model.quantization, mebibytes(memory.weights)));
  line("context", fmt::format("{} of {} positions, KV up to {}", session.engine->capacity().context,
                              spec.max_positions, mebibytes(memory.kv_capacity)));
  line("chat template", session.text.chat_template ? "yes" : "no");
  std::string eos;
  for (const TokenId id : session.text.eos)
    eos +=
        fmt::format("{}{} {}", eos.empty() ? "" : ", ", id, session.text.tokenizer->token_text(id));
  line("end of text", eos);
  line("backend", describe(session.engine->info()));
  return 0;
}

}  // namespace emlx
