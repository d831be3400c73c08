// engine-mlx: parses the command line and runs one command. Exit codes: 0; 1 for an error, said in
// one line; 2 for wrong usage; 130 after Ctrl-C, but serve (which takes SIGTERM too), and chat at
// its prompt, take the first one as the way to end, with 0.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <exception>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "app/commands.h"
#include "app/terminal.h"
#include "base/error.h"
#include "base/log.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "models/executor_factory.h"

namespace emlx {
namespace {

constexpr int kUsageError = 2;

// All of `text` as a number; CLI11's own reading makes the largest integer of one beyond it.
bool parse_number(const std::string& text, double& value) {
  return CLI::detail::lexical_cast(text, value);
}
template <std::integral Number>
bool parse_number(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

// Accepts numbers from `low` to `high`, and so no NaN; says so in `--help`'s place only when it
// fails.
template <typename Number>
CLI::Validator between(Number low, Number high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        Number value{};
        const bool good = parse_number(text, value) && value >= low && value <= high;
        return good ? std::string() : fmt::format("expected {} to {}, got {}", low, high, text);
      },
      "");
}

// Accepts texts of `low` to `high` bytes.
CLI::Validator sized(std::size_t low, std::size_t high) {
  return CLI::Validator(
      [low, high](const std::string& text) {
        const bool good = text.size() >= low && text.size() <= high;
        return good ? std::string()
                    : fmt::format("expected {} to {} bytes, got {}", low, high, text.size());
      },
      "");
}

CLI::Validator utf8() {
  return CLI::Validator(
      [](const std::string& text) {
        return is_valid_utf8(text) ? std::string() : "expected UTF-8, got other bytes";
      },
      "");
}

// Accepts what a header field's value may be: visible ASCII.
CLI::Validator visible() {
  return CLI::Validator(
      [](const std::string& text) {
        const bool good = !text.empty() && std::all_of(text.begin(), text.end(),
                                                       [](char c) { return c > ' ' && c <= '~'; });
        return good ? std::string() : "expected visible ASCII characters, got " + quote(text);
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> choices) {
  return CLI::IsMember(std::move(choices)).description("");
}

void add_model_flags(CLI::App* command, ModelFlags& flags) {
  command
      ->add_option("-m,--model", flags.model,
                   "MLX directory or .gguf file (default: the model ./run fetched)")
      ->check(sized(1, 4096))
      ->type_name("PATH");
  command->add_option("--backend", flags.backend, "what computes: auto, cpu or mlx")
      ->check(one_of({"auto", "cpu", "mlx"}))
      ->type_name("NAME");
  command
      ->add_option("--dtype", flags.dtype,
                   "type to compute in: float32, bfloat16, float16, or auto: float32 on a CPU, "
                   "else the model's own")
      ->check(one_of({"auto", "float32", "bfloat16", "float16"}))
      ->type_name("NAME");
  command
      ->add_option("--context", flags.context,
                   "positions a conversation may take (default: the model's limit)")
      ->check(between(1, 1 << 24))
      ->type_name("N");
  command
      ->add_option("--threads", flags.threads,
                   "CPU threads (default: one a core; the MLX backend chooses its own)")
      ->check(between(1, kMaxThreads))
      ->type_name("N");
  command->add_option("--kv-bits", flags.kv_bits, "bits of a KV element: 16, 32 or 8 (cpu backend)")
      ->check(one_of({"8", "16", "32"}))
      ->type_name("N");
  command
      ->add_option("--kv-memory", flags.kv_memory,
                   "gigabytes of KV memory (cpu backend; default: four contexts, at most half of "
                   "what is free)")
      ->check(between(0.001, 1e6))
      ->type_name("GB");
}

void add_filter_flags(CLI::App* command, SamplingParams& params) {
  command
      ->add_option("-t,--temp", params.temperature,
                   "temperature; 0, the default, always takes the likeliest token")
      ->check(between(0.0, 100.0))
      ->type_name("X");
  command->add_option("--top-p", params.top_p, "keep the likeliest tokens up to this mass, 0 to 1")
      ->check(between(0.0, 1.0))
      ->type_name("X");
  command
      ->add_option("--min-p", params.min_p,
                   "keep tokens at least this likely, relative to the best, 0 to 1")
      ->check(between(0.0, 1.0))
      ->type_name("X");
  command->add_option("--top-k", params.top_k, "keep the k likeliest tokens")
      ->check(between(0, 1 << 30))
      ->type_name("K");
}

void add_sampling_flags(CLI::App* command, SamplingFlags& flags) {
  command->add_option("-n,--max-tokens", flags.max_tokens, "tokens to answer with at most")
      ->check(between(1, 1 << 24))
      ->type_name("N")
      ->capture_default_str();
  add_filter_flags(command, flags.params);
  command
      ->add_option("--seed", flags.params.seed,
                   "same seed, same text (default: a new one each time)")
      ->check(between<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()))
      ->type_name("N");
  command->add_option("--stop", flags.stop, "end the answer before this text (may be repeated)")
      ->allow_extra_args(false)
      ->check(sized(1, kMaxStopBytes))
      ->check(utf8())
      ->type_name("TEXT");
}

// The whole command line. The flags must outlive the parse.
struct Program {
  CLI::App app{
      "Runs language models locally: exact with mlx_lm at temperature 0, private and offline.",
      "engine-mlx"};
  GenerateFlags generate;
  ChatFlags chat;
  ServeFlags serve;
  TokenizeFlags tokenize;
  InfoFlags info;
  ConvertFlags convert;
  CLI::App* generate_command = nullptr;
  CLI::App* chat_command = nullptr;
  CLI::App* serve_command = nullptr;
  CLI::App* tokenize_command = nullptr;
  CLI::App* info_command = nullptr;
  CLI::App* convert_command = nullptr;

  Program() {
    app.set_version_flag("--version", "engine-mlx " EMLX_VERSION);
    app.footer(
        "Without a command: a chat on a terminal, else the answer to one sample prompt.\n"
        "`engine-mlx COMMAND --help` explains a command's flags.");
    app.require_subcommand(0, 1);
    add_text_commands();
    add_other_commands();
  }

 private:
  void add_text_commands() {
    generate_command = app.add_subcommand("generate", "answer one prompt");
    generate_command
        ->add_option("-p,--prompt", generate.prompt, "the prompt; \"-\" or none: standard input")
        ->check(utf8());
    generate_command->add_option("--system", generate.system, "system message")->check(utf8());
    generate_command->add_flag("--raw", generate.raw,
                               "take the prompt as it is, without the chat template");
    generate_command->add_flag(
        "--json", generate.json,
        "print ids, text, finish reason, a hash of each step's logits, and timings");
    add_sampling_flags(generate_command, generate.sampling);
    add_model_flags(generate_command, generate.model);

    chat_command = app.add_subcommand("chat", "talk with the model");
    chat_command->add_option("--system", chat.system, "system message")->check(utf8());
    add_sampling_flags(chat_command, chat.sampling);
    add_model_flags(chat_command, chat.model);
  }

  void add_other_commands() {
    serve_command = app.add_subcommand("serve", "OpenAI-compatible HTTP server");
    serve_command->add_option("--host", serve.host, "name or address to listen on")
        ->check(sized(1, 255))
        ->capture_default_str();
    serve_command->add_option("--port", serve.port, "port to listen on; 0: any free one")
        ->check(between(0, 65535))
        ->type_name("N")
        ->capture_default_str();
    serve_command
        ->add_option("--allow-origin", serve.allow_origin,
                     "let web pages of this origin call (\"*\": any)")
        ->check(visible());
    serve_command
        ->add_option("--allow-host", serve.allow_hosts,
                     "on a loopback address, answer to this name too (\"*\": any; may be repeated)")
        ->allow_extra_args(false)
        ->check(visible())
        ->type_name("NAME");
    add_filter_flags(serve_command->add_option_group("For what a request leaves out"),
                     serve.sampling);
    add_model_flags(serve_command, serve.model);

    tokenize_command = app.add_subcommand("tokenize", "show a text's tokens");
    tokenize_command
        ->add_option("-p,--prompt", tokenize.prompt, "the text; \"-\" or none: standard input")
        ->check(utf8());
    tokenize_command->add_flag("--chat", tokenize.chat, "apply the chat template first");
    tokenize_command->add_flag("--json", tokenize.json, "print JSON");
    tokenize_command->add_option("-m,--model", tokenize.model.model, "MLX directory or .gguf file")
        ->check(sized(1, 4096));

    info_command = app.add_subcommand("info", "what a model is and how it would run here");
    add_model_flags(info_command, info.model);

    convert_command =
        app.add_subcommand("convert", "turn a .gguf file into an MLX directory mlx_lm can load");
    convert_command->add_option("input", convert.input, ".gguf file")->required();
    convert_command->add_option("output", convert.output, "directory to make")->required();
    convert_command
        ->add_option("--dtype", convert.dtype, "type of scales, biases and unquantized weights")
        ->check(one_of({"float16", "float32"}))
        ->type_name("NAME")
        ->capture_default_str();
  }
};

int run_command(Program& program) {
  if (*program.generate_command) return run_generate(program.generate);
  if (*program.chat_command) return run_chat(program.chat);
  if (*program.serve_command) return run_serve(program.serve);
  if (*program.tokenize_command) return run_tokenize(program.tokenize);
  if (*program.info_command) return run_info(program.info);
  if (*program.convert_command) return run_convert(program.convert);
  if (stdin_is_terminal()) return run_chat(program.chat);
  program.generate.prompt = "What is the capital of France?";
  return run_generate(program.generate);
}

int run(int argc, char** argv) {
  Program program;
  const auto is_first = [&](const CLI::App* command) { return command->check_name(argv[1]); };
  if (argc > 1 && *argv[1] != '-' && program.app.get_subcommands(is_first).empty())
    throw UsageError(fmt::format("unknown command {}; --help lists the commands", quote(argv[1])));
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.app.exit(error) == 0 ? 0 : kUsageError;
  }
  set_log_sink(LogLevel::Info,
               [](LogLevel, std::string_view line) { print_error(dim(line) + "\n"); });
  return run_command(program);
}

}  // namespace
}  // namespace emlx

int main(int argc, char** argv) {
  try {
    const int code = emlx::run(argc, argv);
    if (!emlx::print("")) throw std::runtime_error("cannot write to standard output");
    return code;
  } catch (const emlx::UsageError& error) {
    emlx::print_error(std::string("engine-mlx: ") + error.what() + "\n");
    return emlx::kUsageError;
  } catch (const std::exception& error) {
    emlx::print_error(std::string("engine-mlx: ") + error.what() + "\n");
    return 1;
  }
}
