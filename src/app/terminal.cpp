#include "app/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/commands.h"
#include "base/error.h"
#include "base/utf8.h"

namespace emlx {
namespace {

std::atomic<bool> interrupt_flag = false;

void on_interrupt(int) {
  if (interrupt_flag.exchange(true)) std::_Exit(130);
}

bool colours() {
  static const bool use = stderr_is_terminal() && std::getenv("NO_COLOR") == nullptr;
  return use;
}

constexpr std::size_t kMaxInput = std::size_t{16} << 20;  // bytes

// Appends standard input to `text`, up to `end` (EOF: all of it); returns whether that came.
bool read_stdin(std::string& text, int end) {
  int next = 0;
  while ((next = std::getc(stdin)) != EOF && next != end) {
    if (text.size() == kMaxInput)
      fail(ErrorCode::InvalidArgument, "standard input: expected at most {} bytes, got more",
           kMaxInput);
    text += static_cast<char>(next);
  }
  if (next == EOF && std::ferror(stdin) != 0 && !interrupted())
    fail(ErrorCode::InvalidArgument, "cannot read standard input: {}", std::strerror(errno));
  return next == end;
}

}  // namespace

bool print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

void print_error(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string bold(std::string_view text) {
  return colours() ? fmt::format("\033[1m{}\033[0m", text) : std::string(text);
}
std::string dim(std::string_view text) {
  return colours() ? fmt::format("\033[2m{}\033[0m", text) : std::string(text);
}
bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}
bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

std::string read_prompt(const std::optional<std::string>& flag) {
  std::string text;
  if (flag && *flag != "-") {
    text = *flag;
  } else {
    if (!flag && stdin_is_terminal())
      throw UsageError("expected a prompt: -p TEXT, or text on standard input");
    read_stdin(text, EOF);
    if (text.ends_with('\n')) text.pop_back();
  }
  if (text.empty()) throw UsageError("expected a prompt, got an empty one");
  if (!is_valid_utf8(text))
    fail(ErrorCode::InvalidArgument, "the prompt: expected UTF-8, got other bytes");
  return text;
}

std::optional<std::string> read_line() {
  std::string line;
  if (!read_stdin(line, '\n') && (line.empty() || interrupted())) return std::nullopt;
  return line;
}

void install_interrupt_handler(std::initializer_list<int> signals) {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int signal : signals) ::sigaction(signal, &action, nullptr);
}

bool interrupted() {
  return interrupt_flag.load();
}
bool take_interrupt() {
  return interrupt_flag.exchange(false);
}

void ProgressBar::update(std::size_t done, std::size_t total) {
  if (!stderr_is_terminal() || total == 0) return;
  const int percent = static_cast<int>(done * 100 / total);
  if (percent == percent_) return;
  percent_ = percent;
  const std::size_t width = 30;
  const std::size_t filled = width * static_cast<std::size_t>(percent) / 100;
  print_error(fmt::format("\r{} [{}{}] {:3}%", label_, std::string(filled, '#'),
                          std::string(width - filled, '.'), percent));
}

ProgressBar::~ProgressBar() {
  if (percent_ >= 0) print_error("\n");
}

}  // namespace emlx
