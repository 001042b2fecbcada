// SPDX-License-Identifier: Apache-2.0
// Texts about the tool, made of the table of its commands: they say what it does, always.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace apps {

// A script for "bash", "zsh" or "fish" that completes the tool's words: commands, options, what an
// option takes, files.
std::string completion_script(const CLI::App& tool, const std::string& shell);

// cornu(1), as troff.
std::string manual_page(const CLI::App& tool, const std::string& version);

}  // namespace apps
