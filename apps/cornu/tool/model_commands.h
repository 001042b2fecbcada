// SPDX-License-Identifier: Apache-2.0
// The command-line definitions of the commands that work on models.
#pragma once

#include <CLI/CLI.hpp>

namespace apps {

struct Arguments;

void add_model_commands(CLI::App& tool, Arguments& arguments);

}  // namespace apps
