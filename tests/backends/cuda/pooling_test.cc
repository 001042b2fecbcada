// SPDX-License-Identifier: Apache-2.0
// Pooling and its gradients.
#include <doctest/doctest.h>

#include <limits>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using Ints = std::vector<int64_t>;

struct PoolCase {
  Shape x;
  Ints window;
  Ints strides;
  Ints padding;  // low, high for each axis

  Attributes attributes() const {
    return {{"window", window}, {"strides", strides}, {"padding", padding}};
  }
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> cases = {
      {{2, 6, 8, 16}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {{2, 7, 5, 19}, {2, 2}, {2, 2}, {0, 1, 0, 1}},     // same padding, odd channels
      {{3, 9, 8, 4}, {3, 3}, {2, 2}, {1, 1, 0, 1}},      // overlapping
      {{2, 8, 9, 2}, {2, 2}, {3, 4}, {0, 0, 0, 0}},      // with gaps
      {{1, 18, 17, 3}, {18, 17}, {1, 1}, {0, 0, 0, 0}},  // global: positions exceed a byte
      {{2, 9, 3}, {3}, {2}, {0, 1}},
      {{1, 4, 6, 5, 6}, {2, 2, 2}, {2, 1, 2}, {0, 0, 0, 0, 0, 1}},
      {{0, 4, 4, 3}, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {{2, 0, 4, 3}, {2, 2}, {2, 2}, {1, 1, 0, 0}},  // only padding
  };
  return cases;
}

// The tensors of a case: the input, and random arrays of the shapes of x and of y.
struct PoolTensors {
  PoolTensors(const PoolCase& c, DType dtype) : x(random_tensor(c.x, dtype, 1)) {
    const TensorType type = type_of(x);
    const TensorType y = OpRegistry::global().at("max_pool").infer({&type, 1}, c.attributes())[0];
    of_x = random_tensor(c.x, dtype, 2);
    of_y = random_tensor(y.shape, dtype, 3);
  }
  Tensor x;
  Tensor of_x;
  Tensor of_y;
};

void check_maxima(const PoolCase& c, const PoolTensors& tensors, double tolerance) {
  check_like_cpu("max_pool", {tensors.x}, c.attributes());
  check_like_cpu("max_pool_grad", {tensors.x, tensors.of_y, tensors.of_y}, c.attributes(),
                 tolerance);
  check_like_cpu("max_pool_select", {tensors.x, tensors.of_y, tensors.of_x}, c.attributes());
}

void check_means(const PoolCase& c, const PoolTensors& tensors, double tolerance) {
  check_like_cpu("avg_pool", {tensors.x}, c.attributes(), tolerance);
  Attributes attributes = c.attributes();
  attributes.set("input_shape", c.x.dims());
  check_like_cpu("avg_pool_grad", {tensors.of_y}, attributes, tolerance);
}

TEST_CASE("pooling of float32") {
  for (const PoolCase& c : pool_cases()) {
    CAPTURE(c.x.to_string());
    const PoolTensors tensors(c, DType::Float32);
    check_maxima(c, tensors, 1e-6);
    check_means(c, tensors, 1e-6);
  }
}

TEST_CASE("pooling of every dtype of numbers") {
  const PoolCase& c = pool_cases()[2];
  for (const DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float64, DType::UInt8, DType::Int8, DType::Int32,
        DType::Int64, DType::UInt32, DType::UInt64}) {
    CAPTURE(fmt::format("{}", dtype));
    const PoolTensors tensors(c, dtype);
    const double tolerance = !is_floating(dtype) ? 0 : size_of(dtype) == 2 ? 1e-2 : 1e-14;
    check_maxima(c, tensors, tolerance);
    check_means(c, tensors, tolerance);
  }
}

TEST_CASE("maxima that are equal, NaN or infinite") {
  PoolCase c{{1, 6, 6, 8}, {3, 3}, {2, 2}, {1, 1, 1, 1}};
  PoolTensors tensors(c, DType::Float32);
  const auto values = tensors.x.mutable_data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 8 % 3);
  for (size_t i = 0; i < values.size(); i += 5) values[i] = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < values.size(); i += 37) {
    values[i] = std::numeric_limits<float>::quiet_NaN();
  }
  check_maxima(c, tensors, 0);
}

TEST_CASE("there is no pooling of bools") {
  const PoolCase& c = pool_cases()[0];
  const Tensor x = random_tensor(c.x, DType::Bool, 1);
  const TensorType y = {DType::Bool, {2, 3, 4, 16}};
  CHECK_FALSE(has_lowering("max_pool", {x}, c.attributes(), {y}));
}

}  // namespace
}  // namespace cornu::cuda::testing
