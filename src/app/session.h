// A loaded model and a running engine, for the commands that generate.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands.h"
#include "engine/engine.h"
#include "engine/text_model.h"

namespace emlx {

struct Session {
  TextModel text;
  std::unique_ptr<Engine> engine;
};

// Where `flags.model` points, or the default model beside the checkout this program was built in
// (or in ./models). Throws Error(InvalidFile) if there is neither.
std::filesystem::path find_model(const ModelFlags& flags);

// Opens the model and starts the engine. Throws what those throw.
Session open_session(const ModelFlags& flags);

// "mlx on cpu, float32, exact"
std::string describe(const ExecutorInfo& info);

// A request with the flags' sampling and limits.
GenerationRequest make_request(std::vector<TokenId> prompt, const SamplingFlags& flags);

// [{"role": "system", ...}], or nothing if `system` is empty.
JsonArray opening(const std::string& system);

// The same, and {"role": "user", "content": prompt}.
JsonArray single_turn(const std::string& system, const std::string& prompt);

// What a finished generation was, gathered on the engine thread.
struct Generated {
  FinishEvent finish;
  std::string text;
  std::vector<TokenId> ids;
  std::vector<std::string> logits_sha256;  // one a token, if logits were fetched
  std::chrono::duration<double> first_token{};
};

// Runs one request to its end and prints text as it comes if `stream`. Ctrl-C (see
// install_interrupt_handler) cancels it: the result then says Cancelled. Throws the request's
// Error.
Generated generate(Engine& engine, GenerationRequest request, bool stream);

// Tokens a second, 0 where there was no time. The first token belongs to the prefill, so decode
// counts the others.
double prefill_rate(const FinishEvent& end);
double decode_rate(const FinishEvent& end);

// "prompt 36 tokens, 10.1 tok/s · answer 8 tokens, 5.9 tok/s · first token after 3.6 s". Fewer than
// 3 timed tokens give no rate.
std::string timing_line(const Generated& result);

}  // namespace emlx
