#include <fmt/format.h>

#include <csignal>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"

namespace emlx {
namespace {

const char* finish_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::Stop:
      return "stop";
    case FinishReason::Length:
      return "length";
    case FinishReason::Cancelled:
      return "cancelled";
  }
  return "unknown";
}

JsonArray to_array(const std::vector<TokenId>& ids) {
  return JsonArray(ids.begin(), ids.end());
}

void print_json(const Session& session, const std::vector<TokenId>& prompt,
                const Generated& result) {
  const ExecutorInfo& info = session.engine->info();
  const FinishEvent& end = result.finish;
  const JsonObject object{
      {"model", session.text.model->name},
      {"backend", info.backend},
      {"device", info.device},
      {"dtype", info.dtype},
      {"kv_dtype", info.kv_dtype},
      {"exact", info.exact},
      {"prompt_ids", to_array(prompt)},
      {"output_ids", to_array(result.ids)},
      {"text", result.text},
      {"finish_reason", finish_name(end.reason)},
      // Of the float32 logits each output id was chosen from, little-endian.
      {"logits_sha256", JsonArray(result.logits_sha256.begin(), result.logits_sha256.end())},
      {"timings", JsonObject{{"first_token_seconds", result.first_token.count()},
                             {"prefill_seconds", end.prefill.count()},
                             {"decode_seconds", end.decode.count()},
                             {"prefill_tokens_per_second", prefill_rate(end)},
                             {"decode_tokens_per_second", decode_rate(end)}}},
  };
  print(to_json(object, JsonStyle::Python) + "\n");
}

}  // namespace

int run_generate(const GenerateFlags& flags) {
  const std::string prompt = read_prompt(flags.prompt);
  const Session session = open_session(flags.model);
  const std::vector<TokenId> ids =
      flags.raw ? encode_raw(session.text, prompt)
                : encode_chat(session.text, single_turn(flags.system, prompt), ChatOptions{});
  GenerationRequest request = make_request(ids, flags.sampling);
  request.fetch_logits = flags.json;

  install_interrupt_handler({SIGINT});
  const Generated result = generate(*session.engine, std::move(request), !flags.json);
  if (flags.json) {
    print_json(session, ids, result);
  } else {
    print("\n");
  }
  print_error(dim(timing_line(result)) + "\n");
  return result.finish.reason == FinishReason::Cancelled ? 130 : 0;
}

}  // namespace emlx
