#include <fmt/format.h>

#include <iostream>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"
#include "base/error.h"
#include "base/utf8.h"

namespace emlx {
namespace {

constexpr const char* kHelp =
    "/reset  forget the conversation\n/help   this list\n/exit   leave (or Ctrl-D); Ctrl-C stops "
    "an answer\n";

// One line of input; false at its end (or Ctrl-C). Earlier interrupts are not the next turn's.
bool read_line(std::string& line) {
  take_interrupt();
  print_error(bold("> "));
  if (!std::getline(std::cin, line)) return false;
  take_interrupt();
  return true;
}

}  // namespace

int run_chat(const ChatFlags& flags) {
  const Session session = open_session(flags.model);
  print_error(dim(fmt::format("{} · {} · /help lists the commands", session.text.model->name,
                              describe(session.engine->info()))) +
              "\n");
  install_interrupt_handler();
  JsonArray messages = opening(flags.system);
  std::string line;
  while (read_line(line)) {
    if (line.empty()) continue;
    if (line == "/exit" || line == "/quit") break;
    if (line == "/help") {
      print_error(kHelp);
      continue;
    }
    if (line == "/reset") {
      messages = opening(flags.system);
      continue;
    }
    messages.push_back(JsonObject{{"role", "user"}, {"content", replace_invalid_utf8(line)}});
    try {
      GenerationRequest request =
          make_request(encode_chat(session.text, messages, ChatOptions{}), flags.sampling);
      const Generated result = generate(*session.engine, std::move(request), true);
      print("\n");
      print_error(dim(timing_line(result)) + "\n");
      messages.push_back(JsonObject{{"role", "assistant"}, {"content", result.text}});
    } catch (const Error& error) {  // a turn that fails is taken back; the conversation goes on
      messages.pop_back();
      print_error(fmt::format("{}\n", error.what()));
    }
  }
  print_error("\n");
  return 0;
}

}  // namespace emlx
