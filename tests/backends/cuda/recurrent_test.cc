// SPDX-License-Identifier: Apache-2.0
// The LSTM on the simulated GPU, compared with the CPU's.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

void check_lstm(int64_t steps, int64_t batch, int64_t units, bool reverse) {
  CAPTURE(batch);
  CAPTURE(units);
  const auto random = [](const Shape& shape, uint64_t seed) {
    return random_tensor(shape, DType::Float32, seed);
  };
  const Tensor h = random({batch, units}, 2);
  const Tensor c = random({batch, units}, 3);
  const Tensor kernel = random({units, 4 * units}, 4);
  const Attributes attributes = {{"reverse", reverse}};
  const std::vector<Tensor> inputs = {random({steps, batch, 4 * units}, 1), h, c, kernel};
  check_like_cpu("lstm", inputs, attributes, 1e-5);

  const TensorType states{DType::Float32, {steps, batch, units}};
  const TensorType gates{DType::Float32, {steps, batch, 4 * units}};
  const std::vector<Tensor> forward =
      run_lowered("lstm", inputs, attributes, {states, states, gates});
  check_like_cpu(
      "lstm_grad",
      {forward[2], forward[1], c, kernel, random(states.shape, 5), random(states.shape, 6)},
      attributes, 1e-4);
}

TEST_CASE("lstm: sequences of few units, forwards and backwards in time") {
  check_lstm(1, 1, 1, false);
  check_lstm(3, 2, 16, true);
  check_lstm(4, 17, 20, false);
  check_lstm(2, 3, 64, true);
  check_lstm(2, 259, 33, false);
}

TEST_CASE("lstm: many units, step by step, in each size of tiles") {
  check_lstm(1, 2, 65, false);
  check_lstm(3, 17, 70, true);
  check_lstm(1, 449, 65, false);
  check_lstm(1, 1610, 65, true);
}

TEST_CASE("lstm of no rows") { check_lstm(2, 0, 3, false); }

}  // namespace
}  // namespace cornu::cuda::testing
