// SPDX-License-Identifier: Apache-2.0
// The tool's commands and their options: a single table for help, parsing, completion and the
// manual.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "apps/cornu/launch/options.h"
#include "apps/cornu/tool/arguments.h"

namespace apps {

struct Arguments {
  LaunchOptions launch;
  SummaryArguments summary;
  PredictArguments predict;
  EvaluateArguments evaluate;
  FitArguments fit;
  ConvertArguments convert;
  PlotArguments plot;
  ProfileArguments profile;
  DevicesArguments devices;
  std::string shell;  // for completion
};

// Adds all commands; `arguments` receives their arguments, and must outlive the tool.
void add_commands(CLI::App& tool, Arguments& arguments);

// Parses a command line. Returns the exit code if it ends the program (help: 0; wrong usage: 2,
// with a one-line message), otherwise -1. What follows -- is arguments.launch.command.
int parse(CLI::App& tool, Arguments& arguments, int argc, char** argv);

// The command that was called.
const CLI::App& called_command(const CLI::App& tool);

}  // namespace apps
