// SPDX-License-Identifier: Apache-2.0
// The destinations of log messages.
#include "framework/core/logging.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace cornu {
namespace {

// What a child process that logs writes to its standard error, a terminal or a pipe, and to its
// standard output.
struct Written {
  std::string error;
  std::string output;
};

std::string read_all(int descriptor) {
  std::string text;
  char buffer[512];
  for (ssize_t count; (count = read(descriptor, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  close(descriptor);
  return text;
}

Written run(bool terminal, void (*body)()) {
  int error[2];
  int output[2];
  REQUIRE((terminal ? openpty(&error[0], &error[1], nullptr, nullptr, nullptr) : pipe(error)) == 0);
  REQUIRE(pipe(output) == 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(error[1], STDERR_FILENO);
    dup2(output[1], STDOUT_FILENO);
    body();
    std::_Exit(0);
  }
  close(error[1]);
  close(output[1]);
  Written written{read_all(error[0]), read_all(output[0])};
  waitpid(child, nullptr, 0);
  return written;
}

TEST_CASE("messages go to standard error; a terminal gets their text alone") {
  const auto both = [] {
    logging::info("so it is");
    logging::warn("beware");
  };
  const Written terminal = run(true, both);
  CHECK(terminal.output == "");
  CHECK(terminal.error.find("so it is") != std::string::npos);
  CHECK(terminal.error.find("beware") != std::string::npos);
  CHECK(terminal.error.find("20") == std::string::npos);  // no date
  const Written file = run(false, both);
  CHECK(file.output == "");
  CHECK(file.error.find("[info] so it is\n") != std::string::npos);
  CHECK(file.error.find("[warning] beware\n") != std::string::npos);
  CHECK(file.error.find("[20") == 0);
}

TEST_CASE("a program can silence messages") {
  const Written warnings = run(false, [] {
    logging::set_level(logging::Level::Warning);
    logging::info("so it is");
    logging::warn("beware");
  });
  CHECK(warnings.error.find("so it is") == std::string::npos);
  CHECK(warnings.error.find("beware") != std::string::npos);
  CHECK(run(false, [] {
          logging::set_level(logging::Level::Off);
          logging::warn("beware");
        }).error == "");
}

}  // namespace
}  // namespace cornu
