// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/elementwise_graphs.h"

namespace cornu::cpu::testing {
namespace {

// The element of an operand of shape `own` that corresponds to element `flat` of shape `out`.
int64_t operand_index(const Shape& out, const Shape& own, int64_t flat) {
  int64_t index = 0, stride = 1;
  for (int64_t axis = out.rank() - 1; axis >= 0; --axis) {
    const int64_t position = flat % out[axis];
    flat /= out[axis];
    const int64_t own_axis = axis - (out.rank() - own.rank());
    if (own_axis < 0) continue;
    if (own[own_axis] != 1) index += position * stride;
    stride *= own[own_axis];
  }
  return index;
}

const Shape kPairs[][2] = {
    {{5}, {}},
    {{}, {5}},
    {{}, {}},
    {{1}, {7}},
    {{4, 10}, {10}},  // a bias
    {{10}, {4, 10}},
    {{64, 128}, {128}},
    {{1000, 3}, {3}},   // of images
    {{3, 600}, {600}},  // rows longer than a tile
    {{3, 5000}, {5000}},
    {{3, 5000}, {3, 1}},
    {{40, 10}, {40, 1}},  // what softmax does
    {{700, 33}, {700, 1}},
    {{9, 300}, {9, 1}},  // one scalar per row
    {{9, 300}, {1, 300}},
    {{8, 1}, {1, 9}},
    {{300, 1}, {1, 400}},
    {{2, 6, 7, 5}, {2, 1, 1, 5}},  // a channel scale for each example
    {{2, 60, 50}, {2, 1, 50}},
    {{3, 900, 8, 4}, {3, 1, 8, 1}},  // the same in several tiles
    {{5, 300, 33}, {5, 1, 33}},
    {{2, 3, 200, 40}, {3, 1, 40}},
    {{2, 1, 600}, {1, 3, 1}},
    {{3, 4, 1, 6}, {1, 5, 6}},
    {{4, 1, 5, 1, 6}, {1, 3, 1, 2, 1}},
    {{2, 3, 1, 1}, {4, 1}},
    {{1, 1, 2000}, {3, 1, 1}},
    {{0, 4}, {4}},  // no rows
    {{3, 0}, {3, 1}},
    {{1, 4}, {0, 1}},
    {{17, 19, 23}, {19, 1}},
    {{17, 19, 23}, {17, 1, 23}},
    {{70000}, {1}},
    {{130, 520}, {520}},
};

void check_pair(const Shape& a_shape, const Shape& b_shape, DType dtype) {
  CAPTURE(a_shape.to_string());
  CAPTURE(b_shape.to_string());
  const Shape out = broadcast_shapes(a_shape, b_shape, "test");
  const Tensor a = random_tensor(a_shape, dtype, 1);
  const Tensor b = random_tensor(b_shape, dtype, 2);
  const std::vector<double> x = values_of(a), y = values_of(b);
  std::vector<double> difference, less;
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const double left = x[size_t(operand_index(out, a_shape, i))];
    const double right = y[size_t(operand_index(out, b_shape, i))];
    difference.push_back(left - right);
    less.push_back(left < right);
  }
  if (!is_floating(dtype) && !is_signed(dtype)) {
    for (double& value : difference) {
      value = values_of(tensor_of({value + (value < 0 ? 256 : 0)}, {1}, dtype))[0];
    }
  }
  const auto& kernels = elementwise_kernels();
  check_close(kernels.run("subtract", {a, b}, {}, {{dtype, out}})[0], difference, 1e-7);
  check_close(kernels.run("less", {a, b}, {}, {{DType::Bool, out}})[0], less, 0);
  check_thread_independent(kernels, "subtract", {a, b}, {}, {{dtype, out}});
}

TEST_CASE("operands are broadcast as NumPy broadcasts them") {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::UInt8}) {
    CAPTURE(dtype);
    for (const auto& [a, b] : kPairs) check_pair(a, b, dtype);
  }
}

TEST_CASE("select broadcasts its three operands") {
  const Shape shapes[][3] = {{{4, 1}, {1, 5}, {}},
                             {{3, 600}, {600}, {3, 1}},
                             {{2, 1, 4}, {3, 1}, {1, 1, 4}},
                             {{}, {9}, {9}},
                             {{90, 10}, {90, 1}, {10}}};
  for (const auto& [c, a, b] : shapes) {
    const std::string text = c.to_string();
    CAPTURE(text);
    const Shape out = broadcast_shapes(broadcast_shapes(a, b, "test"), c, "test");
    for (const DType dtype : {DType::Float32, DType::Int64, DType::BFloat16, DType::UInt8}) {
      const Tensor condition = random_tensor(c, DType::Bool, 1);
      const Tensor x = random_tensor(a, dtype, 2);
      const Tensor y = random_tensor(b, dtype, 3);
      std::vector<double> expected;
      for (int64_t i = 0; i < out.num_elements(); ++i) {
        const bool chosen = condition.data<bool>()[size_t(operand_index(out, c, i))];
        expected.push_back(chosen ? values_of(x)[size_t(operand_index(out, a, i))]
                                  : values_of(y)[size_t(operand_index(out, b, i))]);
      }
      check_close(elementwise_kernels().run("select", {condition, x, y}, {}, {{dtype, out}})[0],
                  expected, 0);
    }
  }
}

// (x - mean) * rsqrt(variance + epsilon) * scale + offset, with statistics of the shape `rows` and
// scale and offset of the shape `columns`.
void check_normalization(const Shape& x_shape, const Shape& rows, const Shape& columns) {
  CAPTURE(x_shape.to_string());
  BodyBuilder b;
  const ValueId x = b.input({DType::Float32, x_shape});
  const ValueId mean = b.input({DType::Float32, rows}), variance = b.input({DType::Float32, rows});
  const ValueId scale = b.input({DType::Float32, columns});
  const ValueId offset = b.input({DType::Float32, columns});
  const ValueId epsilon = b.constant(Tensor::scalar(1.5f));
  const ValueId inverse = b.op("rsqrt", {b.op("add", {variance, epsilon})});
  const ValueId normal = b.op("multiply", {b.op("subtract", {x, mean}), inverse});
  const ValueId doubled = b.op("multiply", {scale, b.constant(Tensor::scalar(2.0f))});
  b.output(b.op("add", {b.op("multiply", {normal, doubled}), offset}));
  std::vector<Tensor> inputs;
  for (const Shape& shape : {x_shape, rows, rows, columns, columns}) {
    inputs.push_back(random_tensor(shape, DType::Float32, inputs.size() + 1));
  }
  check_fused(b, inputs);
}

TEST_CASE("values that change rarely are computed rarely, with the same bits") {
  check_normalization({40, 24}, {40, 1}, {24});
  check_normalization({9, 300}, {9, 1}, {300});
  check_normalization({5, 3000}, {5, 1}, {3000});
  check_normalization({2, 7, 7, 16}, {16}, {16});
  check_normalization({2, 5, 640}, {2, 1, 640}, {640});
  check_normalization({2, 5, 6, 20}, {2, 1, 1, 20}, {20});
  check_normalization({40, 700}, {700}, {700});
  check_normalization({3, 4, 1000}, {3, 1, 1000}, {1000});
  check_normalization({7, 1025}, {1025}, {1025});
  check_normalization({33}, {}, {});
}

TEST_CASE("large constants in a body are operands like others") {
  for (const Shape& shape : {Shape{6, 50}, Shape{50}, Shape{6, 1}, Shape{1, 1}}) {
    CAPTURE(shape.to_string());
    BodyBuilder b;
    const ValueId x = b.input({DType::Float32, {6, 50}});
    const ValueId table = b.constant(random_tensor(shape, DType::Float32, 3));
    b.output(b.op("add", {b.op("multiply", {x, table}), table}));
    check_fused(b, {random_tensor({6, 50}, DType::Float32, 4)});
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
