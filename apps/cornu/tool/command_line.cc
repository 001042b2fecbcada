// SPDX-License-Identifier: Apache-2.0
#include "apps/cornu/tool/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <string_view>

#include "apps/common/complain.h"
#include "apps/cornu/tool/model_commands.h"
#include "apps/cornu/usage.h"

namespace apps {
namespace {

constexpr const char* kMore = R"(cornu COMMAND --help says more, with examples.

Exit code: 0 success; 1 failure, which one line on standard error explains; 2 a wrong call; 130 and
143 where Ctrl-C or SIGTERM ended a training whose state was kept; of launch, see its help.)";

constexpr const char* kCompletion = R"(Examples:
  cornu completion bash > ~/.local/share/bash-completion/completions/cornu
  cornu completion zsh > "${fpath[1]}/_cornu"
  cornu completion fish > ~/.config/fish/completions/cornu.fish)";

// One line: what is wrong, and where to find help.
std::string failure(const CLI::App* tool, const CLI::Error& error) {
  std::string name = "cornu";
  for (const CLI::App* command : tool->get_subcommands()) name += " " + command->get_name();
  std::string text = error.what();
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return fmt::format("{}: {}; {} --help says more\n", name, text, name);
}

}  // namespace

void add_commands(CLI::App& tool, Arguments& arguments) {
  tool.name("cornu");
  set_usage(tool, "cornu COMMAND [OPTIONS]");
  tool.footer(kMore);
  tool.require_subcommand(1);
  tool.set_version_flag("--version", "cornu " CORNU_VERSION, "Print the version");
  tool.failure_message(failure);
  add_model_commands(tool, arguments);
  add_launch_command(tool, arguments.launch);
  CLI::App* completion =
      tool.add_subcommand("completion", "Prints what makes a shell complete this tool's words");
  set_usage(*completion, "cornu completion SHELL");
  completion->footer(kCompletion);
  completion->add_option("shell", arguments.shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  CLI::App* manual = tool.add_subcommand("man", "Prints the manual page, for man");
  set_usage(*manual, "cornu man");
  manual->footer("Example:\n  cornu man | man -l -");
}

int parse(CLI::App& tool, Arguments& arguments, int argc, char** argv) {
  char** const end = argv + argc;
  const std::string_view name = argc > 1 ? argv[1] : "-";
  // For launch, what follows -- is another program's command line; for other commands, files.
  char** const divider = name == "launch" ? std::find(argv, end, std::string_view("--")) : end;
  if (divider != end) arguments.launch.command.assign(divider + 1, end);
  const auto has_name = [&](const CLI::App* command) { return command->get_name() == name; };
  if (!name.starts_with('-') && tool.get_subcommands(has_name).empty()) {
    complain(
        fmt::format("cornu: there is no command '{}'; cornu --help names those that are", name));
    return 2;
  }
  try {
    tool.parse(static_cast<int>(divider - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (tool.exit(error) != 0) return 2;
    if (std::cout.flush()) return 0;
    complain("cornu: standard output can't be written");
    return 1;
  }
  return -1;
}

const CLI::App& called_command(const CLI::App& tool) { return *tool.get_subcommands().front(); }

}  // namespace apps
