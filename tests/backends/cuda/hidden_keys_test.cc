// SPDX-License-Identifier: Apache-2.0
// Keys that attention's mask hides from 16-bit queries affect no result, whatever they hold. On the
// CPU, hidden values do, where its kernels multiply them by zero.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/backends/cuda/attention_case.h"
#include "tests/backends/cuda/lowered_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

// Replaces the rows of keys or values that a mask (batch, heads or 1, 1, keys) hides by `number`.
Tensor with_hidden(const Tensor& x, const Tensor& mask, double number) {
  std::vector<double> numbers = cpu::testing::values_of(x);
  const std::vector<double> shown = cpu::testing::values_of(mask);
  const int64_t keys = x.shape()[1], heads = x.shape()[2], size = x.shape()[3];
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const int64_t head = i / size % heads, key = i / size / heads % keys;
    const int64_t batch = i / size / heads / keys;
    const int64_t at = (batch * mask.shape()[1] + head % mask.shape()[1]) * keys + key;
    if (shown[static_cast<size_t>(at)] == 0) numbers[static_cast<size_t>(i)] = number;
  }
  return cpu::testing::tensor_of(numbers, x.shape(), x.dtype());
}

// Checks that hidden keys and values may hold anything.
void check_hidden_keys(const AttentionCase& one) {
  std::vector<Tensor> inputs = one.operands();
  one.add_optional(inputs);
  std::vector<double> shown = cpu::testing::values_of(inputs.back());
  for (size_t i = 0; i < shown.size(); i += static_cast<size_t>(one.columns)) shown[i] = 1;
  inputs.back() = cpu::testing::tensor_of(shown, one.mask_shape, DType::Bool);
  const auto run = [&](double hidden) {
    inputs[1] = with_hidden(inputs[1], inputs.back(), hidden);
    inputs[2] = with_hidden(inputs[2], inputs.back(), hidden);
    std::vector<Tensor> results = run_lowered("attention", inputs, one.attributes(),
                                              {{one.dtype, one.output_shape()}, one.statistics()});
    std::vector<Tensor> operands(inputs.begin(), inputs.begin() + 3);
    operands.insert(operands.end(), results.begin(), results.end());
    operands.push_back(random_tensor(one.output_shape(), one.dtype, 6));
    operands.insert(operands.end(), inputs.begin() + 3, inputs.end());
    Attributes attributes = one.attributes();
    attributes.set("bias_gradient", false);
    for (const Tensor& gradient :
         run_lowered("attention_grad", operands, attributes,
                     {type_of(inputs[0]), type_of(inputs[1]), type_of(inputs[2])})) {
      results.push_back(gradient);
    }
    return results;
  };
  const std::vector<Tensor> expected = run(0.25);
  for (const double hidden : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<Tensor> found = run(hidden);
    for (size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], expected[i]) == 0);
  }
}

TEST_CASE("attention: NaN and infinity among keys of 16-bit floats that a mask of keys hides") {
  for (const DType dtype : {DType::Float16, DType::BFloat16}) {
    AttentionCase one{.batch = 2,
                      .rows = 9,
                      .columns = 13,
                      .heads = 4,
                      .keys = 2,
                      .size = 8,
                      .width = 8,
                      .mask_shape = {2, 1, 1, 13},
                      .dtype = dtype,
                      .bias_gradient = false};
    for (const bool causal : {false, true}) {
      CAPTURE(causal);
      one.causal = causal;
      one.keys = 2;
      one.mask_shape = {2, 1, 1, 13};
      check_hidden_keys(one);
      one.keys = 4;
      one.mask_shape = {2, 4, 1, 13};
      check_hidden_keys(one);
    }
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
