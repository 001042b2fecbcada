// SPDX-License-Identifier: Apache-2.0
#include "framework/io/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "framework/core/logging.h"

namespace cornu::console {
namespace {

// Whether the terminal's cursor is after text written by this process. Global, like the process's
// standard output.
std::atomic<bool> inside_line = false;

// A progress bar being drawn keeps its line; messages go below it.
void end_line() {
  if (inside_line && is_terminal()) write("\n");
}

}  // namespace

void write(std::string_view text) {
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  inside_line = text.back() != '\n';
  static const bool watched = (logging::set_line_end(end_line), true);
  static_cast<void>(watched);
}

void write_error(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

bool is_terminal() { return isatty(STDOUT_FILENO) == 1; }

int64_t columns() {
  const char* set = std::getenv("COLUMNS");
  if (const long value = set ? std::strtol(set, nullptr, 10) : 0; value > 0) return value;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace cornu::console
