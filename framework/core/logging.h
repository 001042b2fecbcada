// SPDX-License-Identifier: Apache-2.0
// What the library has to say besides results: information and warnings, on standard error. On a
// terminal a message is its text; elsewhere it has a time and a level.
//
// Messages go through spdlog's logger "cornu", made with the first of them. A program silences it
// with set_level, or sends messages elsewhere by registering a logger of that name. Thread-safe.
#pragma once

#include <string>

namespace cornu::logging {

enum class Level { Info, Warning, Off };

// The least level that is written. Default: Info.
void set_level(Level level);

void info(const std::string& message);
void warn(const std::string& message);

// Called before each message that is written: ends a line that is being drawn on the terminal.
void set_line_end(void (*end_line)());

}  // namespace cornu::logging
