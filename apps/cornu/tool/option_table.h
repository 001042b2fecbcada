// SPDX-License-Identifier: Apache-2.0
// A command's options as texts about them need them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace apps {

struct OptionRow {
  std::vector<std::string> names;  // "--workers", "-n"; of a positional one its name alone
  bool positional = false;
  bool takes_value = false;
  std::string value;                 // "N", "FILE"; empty where there are choices
  std::vector<std::string> choices;  // what may stand for the value, where that is a list
  std::string about;
  std::string initial;  // what holds where it isn't given; empty: nothing to be said

  bool takes_file() const { return value == "FILE"; }
  bool takes_folder() const { return value == "DIR"; }
};

std::vector<OptionRow> options_of(const CLI::App& command);

std::vector<const CLI::App*> commands_of(const CLI::App& tool);

}  // namespace apps
