#include <fmt/format.h>

#include <csignal>

#include "app/commands.h"
#include "app/session.h"
#include "app/terminal.h"
#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace emlx {
namespace {

constexpr const char* kHelp =
    "/reset  forget the conversation\n/help   this list\n/exit   leave (or Ctrl-D); Ctrl-C stops "
    "an answer\n";

// What to answer; nothing at the end of input, or at Ctrl-C. Earlier interrupts are not the next
// turn's.
std::optional<std::string> ask() {
  take_interrupt();
  print_error(bold("> "));
  std::optional<std::string> line = read_line();
  if (line) take_interrupt();
  return line;
}

}  // namespace

int run_chat(const ChatFlags& flags) {
  const Session session = open_session(flags.model);
  print_error(dim(fmt::format("{} · {} · /help lists the commands", session.text.model->name,
                              describe(session.engine->info()))) +
              "\n");
  install_interrupt_handler({SIGINT});
  JsonArray messages = opening(flags.system);
  while (const std::optional<std::string> input = ask()) {
    const std::string& line = *input;
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
    if (line.starts_with('/')) {
      print_error(fmt::format("unknown command {}; /help lists the commands\n", quote(line)));
      continue;
    }
    messages.push_back(JsonObject{{"role", "user"}, {"content", replace_invalid_utf8(line)}});
    try {
      GenerationRequest request =
          make_request(encode_chat(session.text, messages, ChatOptions{}), flags.sampling);
      const Generated result = generate(*session.engine, std::move(request), true);
      if (!print("\n")) return 1;
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
