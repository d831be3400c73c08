// The program's commands: what main.cpp parses into, and the functions it calls. Each returns the
// exit code (0; 1 if standard output failed; 130 from an interrupted generate or convert) and
// throws Error, which main turns into one line and exit code 1.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/request.h"

namespace emlx {

// The command line asks for something that makes no sense: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which model, and how it computes. Shared by all commands that load one.
struct ModelFlags {
  std::string model;  // MLX directory or .gguf; empty: the default model
  std::string backend = "auto";
  std::string dtype = "auto";
  int context = 0;       // positions; 0: the model's own limit
  int threads = 0;       // 0: the backend's choice
  int kv_bits = 0;       // 0: 16
  double kv_memory = 0;  // gigabytes; 0: the backend's choice
};

// How to sample. Zero or absent means off, see SamplingParams.
struct SamplingFlags {
  SamplingParams params;
  int max_tokens = 512;
  std::vector<std::string> stop;
};

struct GenerateFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::optional<std::string> prompt;  // none: standard input
  std::string system;                 // system message; empty: none
  bool raw = false;                   // no chat template
  bool json = false;
};

struct ChatFlags {
  ModelFlags model;
  SamplingFlags sampling;
  std::string system;
};

struct ServeFlags {
  ModelFlags model;
  std::string host = "127.0.0.1";
  int port = 8080;
  std::string allow_origin;              // CORS; empty: none
  std::vector<std::string> allow_hosts;  // more names in Host
  SamplingParams sampling;               // for what a request leaves out
};

struct TokenizeFlags {
  ModelFlags model;
  std::optional<std::string> prompt;  // none: standard input
  bool chat = false;                  // apply the chat template first
  bool json = false;
};

struct InfoFlags {
  ModelFlags model;
};

struct ConvertFlags {
  std::string input, output;
  std::string dtype = "float16";
};

int run_generate(const GenerateFlags& flags);
int run_chat(const ChatFlags& flags);
int run_serve(const ServeFlags& flags);
int run_tokenize(const TokenizeFlags& flags);
int run_info(const InfoFlags& flags);
int run_convert(const ConvertFlags& flags);

}  // namespace emlx
