// SPDX-License-Identifier: Apache-2.0
// Skips tests that can't run on a machine.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <string>

namespace cornu::test {

// Ends the test program, so that ctest reports it as skipped. A test that may be skipped is
// therefore a program of its own.
[[noreturn]] inline void skip_test(const std::string& why) {
  fmt::print("skipped: {}\n", why);
  std::exit(77);
}

}  // namespace cornu::test
