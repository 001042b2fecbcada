// SPDX-License-Identifier: Apache-2.0
// Imports the models with which the onnx package tests its operators (onnx_backend.py).
#include <doctest/doctest.h>
#include <sys/wait.h>

#include "tests/saving/onnx_read_models.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"
#include "tests/support/skip.h"

namespace cornu::test {
namespace {

TEST_CASE("onnx's tests of operators") {
  const Scratch scratch;
  const int status = run_python(CORNU_ONNX_BACKEND_SCRIPT, scratch.path(""));
  if (WEXITSTATUS(status) == 77) skip_test("the onnx package isn't installed");
  REQUIRE(status == 0);
  check_read_models(scratch.path("cases.json"));
}

}  // namespace
}  // namespace cornu::test
