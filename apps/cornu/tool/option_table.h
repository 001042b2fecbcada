// SPDX-License-Identifier: Apache-2.0
// A command's options, in the form needed by generated documents.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace apps {

struct OptionRow {
  std::vector<std::string> names;  // "--workers", "-n"; just the name of a positional argument
  bool positional = false;
  bool takes_value = false;
  std::string value;                 // "N", "FILE"; empty if there are choices
  std::vector<std::string> choices;  // the possible values, if it has a fixed set
  std::string about;
  std::string initial;  // the default; empty: none to be mentioned

  bool takes_file() const { return value == "FILE"; }
  bool takes_folder() const { return value == "DIR"; }
};

std::vector<OptionRow> options_of(const CLI::App& command);

std::vector<const CLI::App*> commands_of(const CLI::App& tool);

}  // namespace apps
