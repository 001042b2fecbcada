// SPDX-License-Identifier: Apache-2.0
// Cornu's command-line tool. It is single-threaded and doesn't link the library, so that `launch`
// may fork; commands that need the library are executed by a separate program that replaces this
// one.
#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

#include "apps/common/complain.h"
#include "apps/cornu/launch/error.h"
#include "apps/cornu/tool/command_line.h"
#include "apps/cornu/tool/documents.h"

namespace {

// Ensures that files 0, 1 and 2 are open, so that no file opened later is mistaken for them.
// Writing to a standard output that wasn't open still fails.
void open_standard_files() {
  int file = 0;
  do {
    file = open("/dev/null", O_RDWR);
    if (file != STDOUT_FILENO) continue;
    close(file);
    file = open("/dev/null", O_RDONLY);
  } while (file >= 0 && file <= STDERR_FILENO);
  if (file >= 0) close(file);
}

int print(const std::string& text) {
  const bool good =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!good) apps::complain("cornu: standard output can't be written");
  return good ? 0 : 1;
}

// Replaces this process by the program for the commands that work on models, which is installed
// next to this one.
int become_models_program(char** argv) {
  std::error_code error;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string program = (here.parent_path() / CORNU_MODELS_PROGRAM).lexically_normal();
  execv(program.c_str(), argv);
  apps::complain(fmt::format("cornu: its part '{}' can't be run: {}. Install Cornu again, whole",
                             program, std::generic_category().message(errno)));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_files();
  CLI::App tool("Cornu's command-line tool");
  apps::Arguments arguments;
  apps::add_commands(tool, arguments);
  if (const int code = apps::parse(tool, arguments, argc, argv); code >= 0) return code;
  const std::string& name = apps::called_command(tool).get_name();
  if (name == "completion") return print(apps::completion_script(tool, arguments.shell));
  if (name == "man") return print(apps::manual_page(tool, CORNU_VERSION));
  if (name != "launch") return become_models_program(argv);
  try {
    return apps::launch(arguments.launch);
  } catch (const apps::LaunchError& error) {
    apps::complain(fmt::format("cornu launch: {}", error.what()));
    return error.code;
  } catch (const std::exception& error) {
    apps::complain(fmt::format("cornu launch: {}", error.what()));
    return 1;
  }
}
