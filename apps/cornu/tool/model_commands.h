// SPDX-License-Identifier: Apache-2.0
// The commands about models, as the command line has them.
#pragma once

#include <CLI/CLI.hpp>

namespace apps {

struct Arguments;

void add_model_commands(CLI::App& tool, Arguments& arguments);

}  // namespace apps
