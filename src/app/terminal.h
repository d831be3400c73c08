// What the program shows a person: colours, progress, interrupts, standard input.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace emlx {

// Write at once. print returns false if this or an earlier write to standard output failed.
bool print(std::string_view text);
void print_error(std::string_view text);

// `text` in bold or dim if standard error is a terminal (and NO_COLOR is unset), else unchanged.
std::string bold(std::string_view text);
std::string dim(std::string_view text);
bool stdin_is_terminal();
bool stderr_is_terminal();

// The prompt a command was given with -p, or standard input ("-" or no -p; at most 16 MiB), less
// one trailing newline. Throws Error(InvalidArgument) if it is not UTF-8 or cannot be read, and
// UsageError if it is empty, or there is no -p and standard input is a terminal.
std::string read_prompt(const std::optional<std::string>& flag);

// The next line of standard input, without its end; nothing at the end of input or when
// interrupted(). Throws Error(InvalidArgument) if it has more than 16 MiB or cannot be read.
std::optional<std::string> read_line();

// From now on each of these `signals` sets a flag; a second one before that is taken ends the
// process.
void install_interrupt_handler(std::initializer_list<int> signals);
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
