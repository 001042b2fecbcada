// SPDX-License-Identifier: Apache-2.0
// The terminal, or whatever standard output is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cornu::console {

// Writes to standard output and flushes it.
void write(std::string_view text);

// Whether standard output is a terminal.
bool is_terminal();

// The terminal's width in characters: COLUMNS of the environment, else what the terminal says, else
// 80.
int64_t columns();

}  // namespace cornu::console
