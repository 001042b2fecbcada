// SPDX-License-Identifier: Apache-2.0
// Models where memory runs out.
#include <doctest/doctest.h>

#include <optional>

#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "tests/support/limited_memory.h"

using namespace cornu;

TEST_CASE("a functional graph can be destroyed where there is no memory") {
  std::optional<Tensor> output = Input({.shape = {2}});
  for (int node = 0; node < 100; ++node) output = *output + *output;
  const test::LimitedMemory limit(0);
  output.reset();
}
