// SPDX-License-Identifier: Apache-2.0
// Documents generated from the table of commands, so that they are always up to date.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace apps {

// A script for "bash", "zsh" or "fish" that completes commands, options, option values and files.
std::string completion_script(const CLI::App& tool, const std::string& shell);

// cornu(1), as troff.
std::string manual_page(const CLI::App& tool, const std::string& version);

}  // namespace apps
