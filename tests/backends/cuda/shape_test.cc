// SPDX-License-Identifier: Apache-2.0
// Kernels that move elements.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using Ints = std::vector<int64_t>;

void check_transpose(const Shape& shape, const Ints& permutation, DType dtype = DType::Float32) {
  CAPTURE(shape.to_string());
  CAPTURE(Shape(permutation).to_string());
  check_like_cpu("transpose", {random_tensor(shape, dtype, 1)}, {{"permutation", permutation}});
}

TEST_CASE("cuda transpose: axes are merged, tiles have the shape that fits") {
  check_transpose({3, 5}, {1, 0});  // too small for tiles
  check_transpose({32, 32}, {1, 0});
  check_transpose({70, 33}, {1, 0}, DType::Float64);
  check_transpose({2, 150, 3}, {0, 2, 1});  // channels first: long tiles
  check_transpose({2, 3, 150}, {0, 2, 1});  // and last
  check_transpose({2, 1500, 2}, {2, 0, 1}, DType::UInt8);
  check_transpose({3, 40, 4, 6}, {3, 1, 0, 2}, DType::BFloat16);
  check_transpose({5, 1, 7, 1}, {3, 1, 2, 0});
  check_transpose({40, 50, 4}, {1, 0, 2});                // elements of 16 bytes
  check_transpose({4, 6, 20}, {1, 0, 2});                 // rows of vectors
  check_transpose({4, 6, 5}, {1, 0, 2}, DType::Float16);  // and of odd length
  check_transpose({7, 3, 2, 5, 4}, {4, 2, 0, 3, 1}, DType::Int8);
  check_transpose({0, 4}, {1, 0});
  check_transpose(Shape(), {});
}

TEST_CASE("cuda transpose without an effect is a copy, in place where it can be") {
  check_transpose({1, 6, 5}, {1, 0, 2});
  check_transpose({6, 5}, {0, 1}, DType::Bool);
}

TEST_CASE("cuda reshape and bitcast") {
  check_like_cpu("reshape", {random_tensor({4, 6}, DType::Float32, 1)}, {{"shape", Ints{3, 8}}});
  check_like_cpu("reshape", {random_tensor({0, 6}, DType::Int8, 1)}, {{"shape", Ints{2, 0}}});
  check_like_cpu("bitcast", {random_tensor({3, 4}, DType::Float32, 1)}, {{"dtype", DType::UInt8}});
  check_like_cpu("bitcast", {random_tensor({3, 4}, DType::UInt32, 1)}, {{"dtype", DType::Int64}});
}

TEST_CASE("cuda broadcast_to: rows, columns, scalars") {
  const auto check = [](const Shape& from, const Ints& to, DType dtype) {
    CAPTURE(from.to_string());
    CAPTURE(Shape(to).to_string());
    check_like_cpu("broadcast_to", {random_tensor(from, dtype, 1)}, {{"shape", to}});
  };
  check({}, {64}, DType::Float32);
  check({}, {7, 3}, DType::Bool);
  check({}, {2048}, DType::BFloat16);
  check({12}, {5, 12}, DType::Float32);
  check({5, 1}, {5, 16}, DType::Float64);
  check({5, 1}, {5, 3}, DType::UInt8);
  check({2, 1, 8, 1}, {3, 2, 4, 8, 6}, DType::Int32);
  check({4, 1}, {1, 4, 1}, DType::Float32);
  check({3, 1}, {3, 0}, DType::Float32);
}

TEST_CASE("cuda slice and reverse") {
  const auto slice = [](const Shape& shape, const Ints& begin, const Ints& size,
                        const Ints& strides, DType dtype) {
    CAPTURE(shape.to_string());
    check_like_cpu("slice", {random_tensor(shape, dtype, 1)},
                   {{"begin", begin}, {"size", size}, {"strides", strides}});
  };
  slice({8, 6}, {2, 0}, {3, 6}, {1, 1}, DType::Float32);  // one copy
  slice({8, 16}, {0, 4}, {8, 8}, {1, 1}, DType::Float32);
  slice({8, 15}, {1, 3}, {6, 9}, {1, 1}, DType::Float16);
  slice({8, 15}, {1, 0}, {3, 5}, {2, 3}, DType::Float64);
  slice({40}, {1}, {-1}, {4}, DType::UInt8);
  slice({3, 8, 8, 4}, {0, 1, 2, 0}, {3, 5, 3, 4}, {1, 1, 2, 1}, DType::Int8);
  slice({8, 6}, {8, 0}, {0, 6}, {1, 1}, DType::Float32);
  const auto reverse = [](const Shape& shape, const Ints& axes, DType dtype) {
    CAPTURE(shape.to_string());
    check_like_cpu("reverse", {random_tensor(shape, dtype, 1)}, {{"axes", axes}});
  };
  reverse({1030}, {0}, DType::Float32);
  reverse({5, 8}, {0}, DType::Float32);
  reverse({5, 8}, {0, 1}, DType::BFloat16);
  reverse({3, 4, 5}, {0, 2}, DType::Int64);
  reverse({3, 4}, {}, DType::Bool);
  reverse({0, 4}, {0}, DType::Bool);
}

TEST_CASE("cuda pad: around, and between") {
  const auto pad = [](const Shape& shape, const Ints& low, const Ints& high, const Ints& interior,
                      DType dtype) {
    CAPTURE(shape.to_string());
    check_like_cpu("pad", {random_tensor(shape, dtype, 1), random_tensor({}, dtype, 7)},
                   {{"low", low}, {"high", high}, {"interior", interior}});
  };
  pad({3, 5}, {1, 0}, {2, 3}, {0, 0}, DType::Float32);
  pad({2, 6, 6, 8}, {0, 1, 1, 0}, {0, 1, 2, 0}, {0, 0, 0, 0}, DType::Float32);
  pad({2, 6, 6, 8}, {0, 1, 1, 0}, {0, 1, 2, 0}, {0, 0, 0, 0}, DType::BFloat16);
  pad({4, 3}, {0, 2}, {1, 0}, {2, 1}, DType::Float64);
  pad({4, 4}, {0, 0}, {0, 0}, {3, 0}, DType::Int32);
  pad({1, 4}, {1, 0}, {0, 0}, {9, 0}, DType::UInt8);
  pad({0, 4}, {2, 1}, {1, 0}, {2, 0}, DType::Int8);
  pad({0, 4}, {0, 1}, {0, 0}, {0, 0}, DType::Int8);
  pad({5, 4}, {0, 0}, {0, 0}, {0, 0}, DType::Bool);
  pad({}, {}, {}, {}, DType::Float16);
}

std::vector<Tensor> parts(const std::vector<Shape>& shapes, DType dtype) {
  std::vector<Tensor> tensors;
  for (const Shape& shape : shapes) {
    tensors.push_back(random_tensor(shape, dtype, tensors.size() + 1));
  }
  return tensors;
}

TEST_CASE("cuda concatenate: few, many and empty parts") {
  const auto concatenate = [](const std::vector<Shape>& shapes, int64_t axis, DType dtype) {
    CAPTURE(shapes[0].to_string());
    CAPTURE(axis);
    check_like_cpu("concatenate", parts(shapes, dtype), {{"axis", axis}});
  };
  concatenate({{3, 4}, {5, 4}}, 0, DType::Float32);
  concatenate({{3, 4}, {3, 8}}, 1, DType::Float32);
  concatenate({{300, 3}, {300, 4}, {300, 1}}, 1, DType::Float16);
  concatenate({{2, 3, 4}, {2, 0, 4}, {2, 5, 4}}, 1, DType::Bool);
  concatenate({{2, 0}, {2, 3}}, 1, DType::Float64);
  concatenate({{0, 3}, {0, 4}}, 1, DType::Int32);
  concatenate({{7}}, 0, DType::UInt8);
  concatenate({{1 << 19}, {1 << 20}}, 0, DType::Float32);  // copies
  concatenate(std::vector<Shape>(35, Shape{3, 2}), 1, DType::Int8);
  concatenate(std::vector<Shape>(5, Shape{4}), 0, DType::UInt64);
}

TEST_CASE("cuda custom_gradient hands its first inputs on") {
  const std::vector<Tensor> inputs = parts({{3, 5}, {7}, {2}}, DType::Float32);
  check_like_cpu("custom_gradient", inputs, {}, {type_of(inputs[0]), type_of(inputs[1])});
}

}  // namespace
}  // namespace cornu::cuda::testing
