// SPDX-License-Identifier: Apache-2.0
// Tests that can't run on a machine.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <string>

namespace cornu::test {

// Ends the test program: ctest reports it as skipped. So a test that may be skipped is a program of
// its own.
[[noreturn]] inline void skip_test(const std::string& why) {
  fmt::print("skipped: {}\n", why);
  std::exit(77);
}

}  // namespace cornu::test
