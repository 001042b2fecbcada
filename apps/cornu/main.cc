// SPDX-License-Identifier: Apache-2.0
// Cornu's command-line tool.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "apps/cornu/launch/error.h"
#include "apps/cornu/launch/options.h"
#include "apps/cornu/usage.h"

namespace {

// Files 0, 1 and 2 are open: nothing that is opened later can be taken for them.
void open_standard_files() {
  int file = 0;
  do {
    file = open("/dev/null", O_RDWR);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) close(file);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  CLI::App tool("Cornu's command-line tool");
  tool.name("cornu");
  apps::set_usage(tool, "cornu COMMAND [OPTIONS]");
  tool.footer("cornu COMMAND --help says more.");
  tool.require_subcommand(1);
  apps::LaunchOptions options;
  apps::add_launch_command(tool, options);

  // What stands behind -- is another program's.
  char** const end = argv + argc;
  char** const divider = std::find(argv, end, std::string_view("--"));
  if (divider != end) options.command.assign(divider + 1, end);
  const std::string_view name = divider - argv > 1 ? argv[1] : "-";
  const auto has_name = [&](const CLI::App* command) { return command->get_name() == name; };
  if (!name.starts_with('-') && tool.get_subcommands(has_name).empty()) {
    fmt::print(stderr, "cornu: there is no command '{}'; cornu --help names those that are\n",
               name);
    return 2;
  }
  try {
    tool.parse(static_cast<int>(divider - argv), argv);
  } catch (const CLI::ParseError& error) {
    const int code = tool.exit(error);
    return code == 0 ? 0 : 2;
  }
  try {
    return apps::launch(options);
  } catch (const apps::LaunchError& error) {
    fmt::print(stderr, "cornu launch: {}\n", error.what());
    return error.code;
  }
}
