// SPDX-License-Identifier: Apache-2.0
// The terminal, or whatever standard output and standard error are connected to. What can't be
// written, because a disk is full or the terminal is gone, is lost: these functions don't throw.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cornu::console {

// Writes to standard output and flushes it.
void write(std::string_view text);

// Writes to standard error, which isn't buffered. Safe where an exception would end the process: in
// destructors, callbacks of C libraries and functions called at exit.
void write_error(std::string_view text);

// Whether standard output is a terminal.
bool is_terminal();

// The terminal's width in characters: the environment variable COLUMNS, otherwise as reported by
// the terminal, otherwise 80.
int64_t columns();

}  // namespace cornu::console
