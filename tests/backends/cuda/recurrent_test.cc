// SPDX-License-Identifier: Apache-2.0
// The LSTM and the GRU on the simulated GPU, compared with the CPU's.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

struct Sizes {
  int64_t steps, batch, units;
  bool reverse;
};

Tensor random(const Shape& shape, uint64_t seed, DType dtype = DType::Float32) {
  return random_tensor(shape, dtype, seed);
}

std::vector<Tensor> with(std::vector<Tensor> operands, const Tensor& mask) {
  if (mask.defined()) operands.push_back(mask);
  return operands;
}

void check_lstm(const Sizes& p, const Tensor& mask) {
  const Tensor h = random({p.batch, p.units}, 2);
  const Tensor c = random({p.batch, p.units}, 3);
  const Tensor kernel = random({p.units, 4 * p.units}, 4);
  const Attributes attributes = {{"reverse", p.reverse}};
  const std::vector<Tensor> inputs =
      with({random({p.steps, p.batch, 4 * p.units}, 1), h, c, kernel}, mask);
  check_like_cpu("lstm", inputs, attributes, 1e-5);

  const TensorType states{DType::Float32, {p.steps, p.batch, p.units}};
  const TensorType gates{DType::Float32, {p.steps, p.batch, 4 * p.units}};
  const std::vector<Tensor> forward =
      run_lowered("lstm", inputs, attributes, {states, states, gates});
  check_like_cpu(
      "lstm_grad",
      with({forward[2], forward[1], c, kernel, random(states.shape, 5), random(states.shape, 6)},
           mask),
      attributes, 1e-4);
}

void check_gru(const Sizes& p, const Tensor& mask) {
  const Tensor h = random({p.batch, p.units}, 2);
  const Tensor kernel = random({p.units, 3 * p.units}, 4);
  const Attributes attributes = {{"reverse", p.reverse}};
  const std::vector<Tensor> inputs =
      with({random({p.steps, p.batch, 3 * p.units}, 1), h, kernel, random({3 * p.units}, 3)}, mask);
  check_like_cpu("gru", inputs, attributes, 1e-5);

  const TensorType states{DType::Float32, {p.steps, p.batch, p.units}};
  const TensorType gates{DType::Float32, {p.steps, p.batch, 3 * p.units}};
  const std::vector<Tensor> forward =
      run_lowered("gru", inputs, attributes, {states, gates, states});
  check_like_cpu(
      "gru_grad",
      with({forward[1], forward[0], h, kernel, random(states.shape, 5), forward[2]}, mask),
      attributes, 1e-4);
}

void check_all(const Sizes& p) {
  CAPTURE(p.batch);
  CAPTURE(p.units);
  for (const Tensor& mask : {Tensor(), random({p.steps, p.batch}, 7, DType::Bool)}) {
    CAPTURE(mask.defined());
    check_lstm(p, mask);
    check_gru(p, mask);
  }
}

TEST_CASE("recurrences: sequences of few units, forwards and backwards in time") {
  check_all({1, 1, 1, false});
  check_all({3, 2, 16, true});
  check_all({4, 17, 20, false});
  check_all({2, 3, 64, true});
  check_all({2, 259, 33, false});
}

TEST_CASE("recurrences: many units, step by step, in each size of tiles") {
  check_all({1, 2, 65, false});
  check_all({3, 17, 70, true});
  check_all({1, 449, 65, false});
  check_all({1, 1610, 65, true});
}

TEST_CASE("recurrences: sizes that fit no tile") {
  for (const int64_t units : {3, 17, 65, 130}) {
    for (const int64_t batch : {1, 5, 33}) check_all({2, batch, units, units == 17});
  }
}

TEST_CASE("recurrences of no rows") { check_all({2, 0, 3, false}); }

TEST_CASE("recurrences whose rows skip all steps") {
  for (const int64_t units : {3, 65}) {
    check_lstm({2, 3, units, false}, Tensor::from(std::vector<bool>(6, false), Shape{2, 3}));
    check_gru({2, 3, units, false}, Tensor::from(std::vector<bool>(6, false), Shape{2, 3}));
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
