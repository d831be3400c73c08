// What the program shows a person: colours, progress, interrupts, standard input.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace emlx {

// Writes to standard output / standard error at once. A closed pipe is reported by print's result
// (false).
bool print(std::string_view text);
void print_error(std::string_view text);

// `text` in bold or dim if standard error is a terminal (and NO_COLOR is unset), else unchanged.
std::string bold(std::string_view text);
std::string dim(std::string_view text);
bool stdin_is_terminal();
bool stderr_is_terminal();

// All of standard input, at most `max_bytes` (else Error(InvalidArgument)), which must be UTF-8.
std::string read_stdin(std::size_t max_bytes);

// The prompt a command was given with -p, or standard input ("-" or no -p); one trailing newline of
// piped text is dropped. nullopt if there is none to read: standard input is a terminal.
std::optional<std::string> read_prompt(const std::optional<std::string>& flag);

// After install_interrupt_handler, Ctrl-C sets a flag; a second Ctrl-C before it is taken ends the
// process.
void install_interrupt_handler();
bool interrupted();
bool take_interrupt();  // reads and clears

// A progress bar on standard error, redrawn in place; nothing if that is not a terminal.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label) : label_(std::move(label)) {}
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void update(std::size_t done, std::size_t total);

 private:
  std::string label_;
  int percent_ = -1;
};

}  // namespace emlx
