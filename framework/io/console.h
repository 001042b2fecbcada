// SPDX-License-Identifier: Apache-2.0
// The terminal, or whatever standard output is connected to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cornu::console {

// Writes to standard output and flushes it.
void write(std::string_view text);

// Whether standard output is a terminal.
bool is_terminal();

// The terminal's width in characters: the environment variable COLUMNS, otherwise as reported by
// the terminal, otherwise 80.
int64_t columns();

}  // namespace cornu::console
