// SPDX-License-Identifier: Apache-2.0
// Kernels that read or add by index. Sums have the CPU's order, and thus the same bits.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"
#include "tests/support/errors.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::tensor_of;
using test::message_of;

// Indices in [-bound, bound), or in [0, bound) for unsigned dtypes. Many equal `repeated`, if
// given.
Tensor indices(const Shape& shape, int64_t bound, DType dtype, int64_t repeated = -1) {
  PhiloxEngine engine(5);
  std::vector<double> values(static_cast<size_t>(shape.num_elements()));
  for (double& value : values) {
    const auto draw = static_cast<int64_t>(engine.below(static_cast<uint64_t>(2 * bound)));
    const bool is_repeated = repeated >= 0 && engine.below(3) == 0;
    value = static_cast<double>(is_repeated        ? repeated
                                : is_signed(dtype) ? draw - bound
                                                   : draw / 2);
  }
  return tensor_of(values, shape, dtype);
}

Shape indexed_shape(const Shape& shape, const Shape& index, int64_t axis) {
  return shape.slice(0, axis).concat(index).concat(shape.slice(axis + 1));
}

void check_gather(const Shape& shape, const Shape& index, int64_t axis, DType dtype,
                  DType index_type) {
  CAPTURE(shape.to_string());
  CAPTURE(index.to_string());
  check_like_cpu("gather",
                 {random_tensor(shape, dtype, 1), indices(index, shape[axis], index_type)},
                 {{"axis", axis}});
}

TEST_CASE("cuda gather: rows of vectors, elements, and none") {
  check_gather({50, 64}, {33}, 0, DType::Float32, DType::Int32);
  check_gather({50, 12}, {2, 9}, 0, DType::BFloat16, DType::Int64);
  check_gather({3, 9, 5}, {}, 1, DType::Float64, DType::UInt8);
  check_gather({7}, {300}, 0, DType::UInt8, DType::UInt64);
  check_gather({4, 6}, {7}, 1, DType::Bool, DType::Int8);
  check_gather({4, 6}, {0}, 1, DType::Float32, DType::UInt32);
  check_gather({4, 0}, {3}, 0, DType::Float32, DType::Int32);
}

TEST_CASE("cuda take_along_axis") {
  const auto check = [](const Shape& shape, int64_t length, int64_t axis, DType dtype,
                        DType index_type) {
    Shape index = shape;
    index[axis] = length;
    CAPTURE(shape.to_string());
    check_like_cpu("take_along_axis",
                   {random_tensor(shape, dtype, 1), indices(index, shape[axis], index_type)},
                   {{"axis", axis}});
  };
  check({40, 9}, 3, 1, DType::Float32, DType::Int32);
  check({5, 7, 6}, 9, 1, DType::Float16, DType::Int64);
  check({300}, 1100, 0, DType::UInt8, DType::UInt32);
  check({5, 7}, 0, 1, DType::Float64, DType::Int64);
}

Attributes shape_and_axis(const Shape& shape, int64_t axis) {
  return {{"shape", shape.dims()}, {"axis", axis}};
}

void check_scatter(const Shape& shape, const Shape& index, int64_t axis, DType dtype,
                   DType index_type, int64_t repeated = -1) {
  CAPTURE(shape.to_string());
  CAPTURE(index.to_string());
  check_like_cpu("scatter_add",
                 {indices(index, shape[axis], index_type, repeated),
                  random_tensor(indexed_shape(shape, index, axis), dtype, 2)},
                 shape_and_axis(shape, axis));
}

TEST_CASE("cuda scatter_add of few updates") {
  check_scatter({20, 8}, {50}, 0, DType::Float32, DType::Int32);
  check_scatter({3, 9, 4}, {2, 40}, 1, DType::BFloat16, DType::Int64);
  check_scatter({2, 5}, {300}, 1, DType::Int8, DType::UInt8);
  check_scatter({6}, {}, 0, DType::Float64, DType::UInt64);
  check_scatter({4, 5}, {0}, 0, DType::Float16, DType::Int32);
  check_scatter({3, 0}, {2}, 0, DType::Float32, DType::Int32);
}

TEST_CASE("cuda scatter_add of many updates") {
  check_scatter({300, 8}, {1500}, 0, DType::Float32, DType::Int32);
  check_scatter({40, 5}, {3, 700}, 0, DType::BFloat16, DType::Int64, 0);  // a long run
  check_scatter({2, 70000, 3}, {1300}, 1, DType::Float64, DType::Int32, 69999);
  check_scatter({1, 4}, {1100}, 0, DType::Float16, DType::Int8);
  check_scatter({100, 33}, {2500}, 0, DType::UInt8, DType::UInt32, 99);
  check_scatter({9}, {5000}, 0, DType::Float32, DType::Int64, 3);
}

void check_put(const Shape& shape, int64_t length, int64_t axis, DType dtype, DType index_type,
               int64_t repeated = -1) {
  Shape index = shape;
  index[axis] = length;
  CAPTURE(shape.to_string());
  CAPTURE(length);
  check_like_cpu(
      "put_along_axis_add",
      {indices(index, shape[axis], index_type, repeated), random_tensor(index, dtype, 2)},
      shape_and_axis(shape, axis));
}

TEST_CASE("cuda put_along_axis_add: each way of adding") {
  check_put({6, 5, 4}, 7, 1, DType::Float32, DType::Int32);
  check_put({30, 9}, 1, 1, DType::Float16, DType::Int64);
  check_put({3, 1200}, 1100, 1, DType::Float32, DType::Int64, 7);  // sorted
  check_put({300, 2, 2}, 2000, 0, DType::BFloat16, DType::UInt32);
  check_put({16384, 64}, 65, 1, DType::Int32, DType::UInt8);  // walks
  check_put({4, 5}, 0, 1, DType::Float64, DType::Int32);
}

TEST_CASE("cuda put_along_axis_add of few updates to a large array") {
  check_put({2, 700000}, 49, 1, DType::BFloat16, DType::Int32, 3);
  check_put({3, 500000}, 45, 1, DType::Float32, DType::Int32);
}

TEST_CASE("cuda: no sums of bools") {
  CHECK_FALSE(has_lowering("scatter_add",
                           {indices({3}, 4, DType::Int32), random_tensor({3}, DType::Bool, 1)},
                           shape_and_axis({4}, 0), {{DType::Bool, {4}}}));
}

TEST_CASE("cuda one_hot and iota") {
  const auto one_hot = [](const Tensor& index, int64_t depth, DType dtype) {
    CAPTURE(depth);
    check_like_cpu("one_hot", {index}, {{"depth", depth}, {"dtype", dtype}});
  };
  one_hot(indices({5, 7}, 9, DType::Int32), 8, DType::Float32);
  one_hot(indices({600}, 4, DType::UInt8), 3, DType::BFloat16);
  one_hot(indices({3}, 4, DType::Int64), 1, DType::Bool);
  one_hot(tensor_of({1e19, 2, -1}, {3}, DType::UInt64), 5, DType::Float64);
  one_hot(indices({3}, 4, DType::Int8), 0, DType::UInt8);
  const auto iota = [](const std::vector<int64_t>& shape, int64_t axis, DType dtype) {
    CAPTURE(Shape(shape).to_string());
    check_like_cpu("iota", {}, {{"shape", shape}, {"axis", axis}, {"dtype", dtype}});
  };
  iota({1003}, 0, DType::Int64);
  iota({300, 3}, 0, DType::UInt8);
  iota({2, 5, 3}, 1, DType::Float16);
  iota({4, 5000}, 1, DType::BFloat16);
  iota({2, 5}, 1, DType::Float64);
  iota({0}, 0, DType::Int32);
}

TEST_CASE("cuda: indices outside of the axis are refused as on the CPU") {
  const auto refused = [](const std::string& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes, const TensorType& output) {
    return message_of<OutOfRange>([&] { run_lowered(op, inputs, attributes, {output}); });
  };
  const Tensor x = random_tensor({4, 6}, DType::Float32, 1);
  CHECK(refused("gather", {x, tensor_of({0, 4}, {2}, DType::Int32)}, {{"axis", int64_t{0}}},
                {DType::Float32, {2, 6}}) ==
        "take: index 4 is outside of [-4, 4), axis 0 of shape (4, 6). Negative indices count from "
        "the end.");
  CHECK(refused("take_along_axis", {x, tensor_of({-7, 0, 1, 2}, {4, 1}, DType::Int64)},
                {{"axis", int64_t{1}}}, {DType::Float32, {4, 1}}) ==
        "take_along_axis: index -7 is outside of [-6, 6), axis 1 of shape (4, 6). Negative indices "
        "count from the end.");
  const std::string scatter =
      "scatter_add: index 18446744073709551615 is outside of [-3, 3), axis 0 of shape (3, 6). "
      "Negative indices count from the end.";
  CHECK(refused("scatter_add", {tensor_of({0, -1, 1, 2}, {4}, DType::UInt64), x},
                shape_and_axis({3, 6}, 0), {DType::Float32, {3, 6}}) == scatter);
  // Rejected even where nothing is read.
  CHECK(refused("gather",
                {random_tensor({4, 0}, DType::Float32, 1), tensor_of({9}, {1}, DType::UInt8)},
                {{"axis", int64_t{0}}}, {DType::Float32, {1, 0}}) ==
        "take: index 9 is outside of [-4, 4), axis 0 of shape (4, 0). Negative indices count from "
        "the end.");
  // Rejected by the sorting kernels.
  std::vector<double> many(1200, 1);
  many[1100] = 3;
  CHECK(refused("scatter_add",
                {tensor_of(many, {1200}, DType::Int32), random_tensor({1200}, DType::Float32, 1)},
                shape_and_axis({3}, 0), {DType::Float32, {3}}) ==
        "scatter_add: index 3 is outside of [-3, 3), axis 0 of shape (3,). Negative indices count "
        "from the end.");
}

}  // namespace
}  // namespace cornu::cuda::testing
