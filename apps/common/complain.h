// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

namespace apps {

// Writes a line to standard error. Where that can't be written, on a full disk for example, the
// program's exit code must do.
inline void complain(const std::string& text) { std::fputs((text + '\n').c_str(), stderr); }

}  // namespace apps
