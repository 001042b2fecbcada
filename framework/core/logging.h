// SPDX-License-Identifier: Apache-2.0
// The library's messages other than results: information and warnings, on standard error. On a
// terminal only the text is shown; elsewhere each message has a time and a level.
//
// Messages go through spdlog's logger "cornu", which is created with the first message. A program
// silences it with set_level, or redirects messages by registering a logger of that name.
// Thread-safe.
#pragma once

#include <string>

namespace cornu::logging {

enum class Level { Info, Warning, Off };

// Sets the lowest level that is written. Default: Info.
void set_level(Level level);

void info(const std::string& message);
void warn(const std::string& message);

// Sets a function that is called before each message that is written, to end a line that is
// currently being drawn on the terminal.
void set_line_end(void (*end_line)());

}  // namespace cornu::logging
