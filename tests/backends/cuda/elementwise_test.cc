// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/elementwise_graphs.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

TEST_CASE("sums of arrays") {
  for (const int64_t size : {0, 1, 7, 1000, 1025}) {
    CAPTURE(size);
    check_like_cpu("add", {random_tensor({size}, DType::Float32, 1),
                           random_tensor({size}, DType::Float32, 2)}, {});
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
