// SPDX-License-Identifier: Apache-2.0
// Runs Python scripts that need Keras, for tests of interoperability between Cornu and Python.
#pragma once

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <string>

namespace cornu::test {

// Returns the exit status of `script` with these arguments, which a shell splits.
inline int run_python(const std::string& script, const std::string& arguments) {
  const char* interpreter = std::getenv("CORNU_PYTHON");
  REQUIRE_MESSAGE(interpreter, "CORNU_PYTHON must name a Python that has Keras");
  return std::system(fmt::format("'{}' '{}' {}", interpreter, script, arguments).c_str());
}

}  // namespace cornu::test
