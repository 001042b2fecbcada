// SPDX-License-Identifier: Apache-2.0
// Sums of columns and of their squared distances from the mean, computed in one pass.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/backends/cuda/passes/passes.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;
using cpu::testing::values_of;

Graph normalizing(const std::string& count) {
  return parse_graph(
      "graph(%0: bfloat16[4,3,5,8]) {\n"
      "  %1 = cast(%0) {dtype=float32} : float32[4,3,5,8]\n"
      "  %2 = reduce_sum(%1) {axes=[0,1,2], keepdims=true} : float32[1,1,1,8]\n"
      "  %3 = constant() {value=<float32[] " +
      count +
      ">} : float32[]\n"
      "  %4 = divide(%2, %3) : float32[1,1,1,8]\n"
      "  %5 = subtract(%1, %4) : float32[4,3,5,8]\n"
      "  %6 = square(%5) : float32[4,3,5,8]\n"
      "  %7 = reduce_sum(%6) {axes=[0,1,2], keepdims=true} : float32[1,1,1,8]\n"
      "  return %4, %7\n"
      "}");
}

int64_t count_of(const Graph& graph, std::string_view op) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) { return node.is(op); });
}

TEST_CASE("the moments of a batch normalization become one node") {
  const Graph graph = fuse_moments(normalizing("60.0"));
  graph.validate();
  CHECK(count_of(graph, "column_moments") == 1);
  CHECK(count_of(graph, "reduce_sum") == 0);
  CHECK(count_of(graph, "square") == 0);
  CHECK(count_of(graph, "cast") == 0);                    // it is read as it is
  const Graph other = fuse_moments(normalizing("59.0"));  // not a mean
  CHECK(count_of(other, "column_moments") == 0);
}

// Compares sums and squares with those computed in float64.
void check_moments(const Tensor& x, int64_t columns, double tolerance) {
  const DType computed = is_half(x.dtype()) ? DType::Float32 : x.dtype();
  const Shape shape = {x.num_elements() / columns, columns};
  CAPTURE(cpu::testing::text(shape));
  const auto found =
      run_lowered("column_moments", {x.with_shape(shape)}, {{"axes", std::vector<int64_t>{0}}},
                  {{computed, {columns}}, {computed, {columns}}});
  const std::vector<double> values = values_of(x);
  const std::vector<double> sums = values_of(found[0]);
  const std::vector<double> squares = values_of(found[1]);
  const auto rows = static_cast<double>(shape[0]);
  for (int64_t c = 0; c < columns; ++c) {
    double sum = 0;
    double size = 0;
    for (size_t i = static_cast<size_t>(c); i < values.size(); i += static_cast<size_t>(columns)) {
      sum += values[i];
      size += std::abs(values[i]);
    }
    double square = 0;
    for (size_t i = static_cast<size_t>(c); i < values.size(); i += static_cast<size_t>(columns)) {
      square += (values[i] - sum / rows) * (values[i] - sum / rows);
    }
    // Relative to the magnitude and the spread of the values.
    CHECK(std::abs(sums[static_cast<size_t>(c)] - sum) <=
          tolerance * (size + std::sqrt(square * rows)));
    CHECK(std::abs(squares[static_cast<size_t>(c)] - square) <= 30 * tolerance * square);
  }
}

TEST_CASE("moments of columns: few and many rows and columns, of every float") {
  for (const auto& [rows, columns] : std::vector<std::pair<int64_t, int64_t>>{
           {1, 2}, {2, 3}, {7, 64}, {129, 5}, {1000, 24}, {40, 520}, {20'000, 3}}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
      check_moments(random_tensor({rows, columns}, dtype, 1), columns,
                    dtype == DType::Float64 ? 1e-14 : 1e-6);
    }
  }
}

TEST_CASE("moments of columns: means far from zero, and columns of one value") {
  const int64_t rows = 3000;
  std::vector<float> values;
  for (int64_t i = 0; i < rows * 4; ++i) {
    const auto wave = static_cast<float>(std::sin(static_cast<double>(i)));
    values.push_back(i % 4 == 0 ? 1e4f + 0.5f * wave : i % 4 == 1 ? 3.25f : wave);
  }
  values[2] = 1e3f;  // a column's first value is far from the others
  // About 30 roundings of float32.
  check_moments(Tensor::from(values, {rows, 4}), 4, 2e-6);
}

TEST_CASE("moments of columns: infinity and NaN reach the sums as they do in plain ones") {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr int64_t kColumns = 7;
  for (const int64_t rows : {1, 3, 40, 20'000}) {
    CAPTURE(rows);
    std::vector<float> values(static_cast<size_t>(rows * kColumns), 2.0f);
    const auto put = [&](int64_t row, int64_t column, float value) {
      values[static_cast<size_t>(row * kColumns + column)] = value;
    };
    put(0, 0, infinity);
    put(0, 1, -infinity);
    put(0, 2, nan);
    put(rows - 1, 3, infinity);
    for (int64_t row = 0; row < rows; ++row) put(row, 4, infinity);
    put(rows / 2, 5, infinity);
    put(rows - 1, 5, -infinity);  // the last column has only finite numbers
    for (const DType dtype : {DType::Float32, DType::BFloat16}) {
      const Tensor x = ops::cast(Tensor::from(values, {rows, kColumns}), to_string(dtype));
      const auto found = run_lowered("column_moments", {x}, {{"axes", std::vector<int64_t>{0}}},
                                     {{DType::Float32, {kColumns}}, {DType::Float32, {kColumns}}});
      const std::vector<float> sums = found[0].to_vector<float>();
      const std::vector<float> squares = found[1].to_vector<float>();
      for (size_t c = 0; c < kColumns; ++c) {
        CAPTURE(c);
        float sum = 0;
        for (size_t i = c; i < values.size(); i += kColumns) sum += values[i];
        CHECK((std::isnan(sum) ? std::isnan(sums[c]) : sums[c] == sum));
        CHECK((std::isfinite(sum) ? squares[c] == 0 : std::isnan(squares[c])));
      }
    }
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
