// SPDX-License-Identifier: Apache-2.0
// The part of the command-line tool that links the library; `cornu` replaces itself with it.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <new>
#include <string>

#include "apps/common/complain.h"
#include "apps/cornu/commands/commands.h"
#include "apps/cornu/tool/command_line.h"

namespace {

// Prints the message in one line.
int fail(const std::string& command, std::string text, int code) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  apps::complain(fmt::format("cornu {}: {}", command, text));
  return code;
}

void run(const std::string& command, const apps::Arguments& arguments) {
  if (command == "summary") return apps::summarize(arguments.summary);
  if (command == "predict") return apps::predict(arguments.predict);
  if (command == "evaluate") return apps::evaluate(arguments.evaluate);
  if (command == "fit") return apps::fit(arguments.fit);
  if (command == "convert") return apps::convert(arguments.convert);
  if (command == "plot") return apps::plot(arguments.plot);
  if (command == "profile") return apps::profile(arguments.profile);
  if (command == "devices") return apps::show_devices(arguments.devices);
  throw apps::WrongCall("this program is started by cornu, which has this command itself");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App tool("Cornu's command-line tool");
  apps::Arguments arguments;
  apps::add_commands(tool, arguments);
  if (const int code = apps::parse(tool, arguments, argc, argv); code >= 0) return code;
  const std::string& command = apps::called_command(tool).get_name();
  try {
    run(command, arguments);
    if (std::ferror(stdout) == 0) return 0;
    return fail(command, "standard output can't be written", 1);
  } catch (const apps::WrongCall& error) {
    return fail(command, fmt::format("{}; cornu {} --help says more", error.what(), command), 2);
  } catch (const cornu::Interrupted& error) {
    return fail(command, error.what(), 128 + error.signal());
  } catch (const std::bad_alloc&) {
    return fail(command, "there isn't enough memory. A smaller --batch-size needs less", 1);
  } catch (const std::exception& error) {
    return fail(command, error.what(), 1);
  }
}
