// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "tests/backends/instruction_sets.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cpu::testing {
namespace {

const KernelRunner& kernels() {
  static const KernelRunner runner(register_matmul_kernels);
  return runner;
}

// Maps an index into the output's batch axes to one into an operand's, which are broadcast.
int64_t batch_offset(int64_t index, const Shape& out_batch, const Shape& own_batch) {
  int64_t offset = 0;
  int64_t step = 1;
  for (int64_t axis = 1; axis <= own_batch.rank(); ++axis) {
    const int64_t own = own_batch[own_batch.rank() - axis];
    const int64_t size = out_batch[out_batch.rank() - axis];
    if (own != 1) offset += index % size * step;
    step *= own;
    index /= size;
  }
  return offset;
}

struct Case {
  Shape a;  // as multiplied: (batch..., m, k)
  Shape b;  // (batch..., k, n)
  bool transpose_a = false;
  bool transpose_b = false;
};

Shape stored(const Shape& shape, bool transposed) {
  Shape result = shape;
  if (transposed) std::swap(result[shape.rank() - 1], result[shape.rank() - 2]);
  return result;
}

std::vector<double> reference(const Case& c, const Tensor& a, const Tensor& b, const Shape& out) {
  const auto x = values_of(a);
  const auto y = values_of(b);
  const int64_t m = out[out.rank() - 2];
  const int64_t n = out[out.rank() - 1];
  const int64_t k = c.a.back();
  const Shape batch = out.slice(0, out.rank() - 2);
  std::vector<double> result;
  for (int64_t g = 0; g < batch.num_elements(); ++g) {
    const int64_t ga = batch_offset(g, batch, c.a.slice(0, c.a.rank() - 2));
    const int64_t gb = batch_offset(g, batch, c.b.slice(0, c.b.rank() - 2));
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l) {
          const int64_t at = ga * m * k + (c.transpose_a ? l * m + i : i * k + l);
          const int64_t bt = gb * k * n + (c.transpose_b ? j * k + l : l * n + j);
          sum += x[static_cast<size_t>(at)] * y[static_cast<size_t>(bt)];
        }
        result.push_back(sum);
      }
    }
  }
  return result;
}

Shape out_shape(const Case& c) {
  const Shape batch =
      broadcast_shapes(c.a.slice(0, c.a.rank() - 2), c.b.slice(0, c.b.rank() - 2), "test");
  return batch.concat({c.a[c.a.rank() - 2], c.b.back()});
}

double tolerance(DType dtype, int64_t k) {
  const double terms = std::sqrt(static_cast<double>(std::max<int64_t>(1, k)));
  switch (dtype) {
    case DType::Float64:
      return 1e-14 * terms;
    case DType::Float32:
      return 1e-6 * terms;
    case DType::Float16:
      return 1e-3 * terms;
    case DType::BFloat16:
      return 8e-3 * terms;
    default:
      return 0;
  }
}

void check_matmul(const Case& c, DType dtype) {
  CAPTURE(text(c.a));
  CAPTURE(text(c.b));
  CAPTURE(text(c.transpose_a));
  CAPTURE(text(c.transpose_b));
  CAPTURE(text(dtype));
  const Tensor a = random_tensor(stored(c.a, c.transpose_a), dtype, 1);
  const Tensor b = random_tensor(stored(c.b, c.transpose_b), dtype, 2);
  const Shape out = out_shape(c);
  const Attributes attributes = {{"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}};
  const DType sums = dtype == DType::Int8 ? DType::Int32 : dtype;
  const Tensor result = kernels().run("matmul", {a, b}, attributes, {{sums, out}})[0];
  check_close(result, reference(c, a, b, out), tolerance(dtype, c.a.back()));
}

void check_transposes(const Shape& a, const Shape& b, DType dtype) {
  for (bool transpose_a : {false, true}) {
    for (bool transpose_b : {false, true}) check_matmul({a, b, transpose_a, transpose_b}, dtype);
  }
}

TEST_CASE("matmul multiplies matrices of any size, transposed or not") {
  for (int64_t m : {1, 5, 16, 67}) {
    for (int64_t k : {1, 7, 64}) {
      for (int64_t n : {1, 10, 33, 64}) check_transposes({m, k}, {k, n}, DType::Float32);
    }
  }
}

TEST_CASE("matmul serves the products of a small network and their gradients") {
  check_transposes({64, 784}, {784, 128}, DType::Float32);
  check_transposes({128, 512}, {512, 10}, DType::Float32);
  check_transposes({300, 20}, {20, 700}, DType::Float32);
}

TEST_CASE("matmul broadcasts batch axes") {
  for (DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Int8}) {
    check_transposes({3, 4, 5}, {3, 5, 6}, dtype);
    check_transposes({3, 4, 5}, {5, 6}, dtype);
    check_transposes({4, 5}, {3, 5, 6}, dtype);
    check_transposes({2, 1, 4, 5}, {1, 3, 5, 6}, dtype);
    check_transposes({2, 3, 4, 5}, {3, 5, 6}, dtype);
    check_transposes({2, 3, 4, 5}, {2, 3, 5, 6}, dtype);
    check_transposes({2, 1, 2, 4, 5}, {3, 2, 5, 6}, dtype);
  }
}

TEST_CASE("matmul of many small matrices with vectors") {
  for (int64_t k : {1, 3, 16, 37, 256}) {
    check_transposes({100, 1, k}, {100, k, 1}, DType::Float32);
    check_transposes({100, 3, k}, {100, k, 1}, DType::Float32);
    check_transposes({4, 50, 5, k}, {4, 50, k, 1}, DType::Float32);
    check_transposes({2, 50, 5, k}, {1, 50, k, 1}, DType::Float32);
  }
}

TEST_CASE("matmul of float64 and integers by copies of the operands") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float64, DType::Int32, DType::UInt32}) {
      check_transposes({29, 400}, {400, 53}, dtype);
      check_transposes({8, 192}, {192, 24}, dtype);
      check_transposes({205, 193}, {193, 49}, dtype);
      check_transposes({5, 31, 40}, {5, 40, 33}, dtype);
      check_transposes({2, 3, 24, 40}, {3, 40, 9}, dtype);
    }
  });
  const Tensor a = random_tensor({211, 300}, DType::Float64, 1);
  const Tensor b = random_tensor({300, 47}, DType::Float64, 2);
  const Attributes attributes = {{"transpose_a", false}, {"transpose_b", false}};
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    found.push_back(
        values_of(kernels().run("matmul", {a, b}, attributes, {{DType::Float64, {211, 47}}})[0]));
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

TEST_CASE("matmul of matrices and vectors, long ones too") {
  for_each_instruction_set([] {
    for (const DType dtype : {DType::Float32, DType::Float64}) {
      check_matmul({{37, 131}, {131, 1}, false, false}, dtype);
      check_matmul({{37, 131}, {131, 1}, false, true}, dtype);
      check_matmul({{1, 50'001}, {50'001, 1}, true, false}, dtype);
      check_matmul({{3, 2, 40'000}, {3, 40'000, 1}, false, false}, dtype);
    }
  });
  const Tensor a = random_tensor({5, 100'003}, DType::Float32, 1);
  const Tensor b = random_tensor({100'003, 1}, DType::Float32, 2);
  const Attributes attributes = {{"transpose_a", false}, {"transpose_b", false}};
  std::vector<std::vector<double>> found;
  for (const int threads : {1, 2, 3}) {
    const ComputeThreadsScope scope(threads);
    found.push_back(
        values_of(kernels().run("matmul", {a, b}, attributes, {{DType::Float32, {5, 1}}})[0]));
  }
  CHECK(found[0] == found[1]);
  CHECK(found[0] == found[2]);
}

TEST_CASE("matmul with a banded matrix passes over its zeros") {
  // Bands at both ends, in between, over the whole row, and empty.
  const auto in_band = [](int64_t row, int64_t column, int64_t columns) {
    if (row == 0) return false;
    return row == 1 || std::abs(column - row * columns / 12) < 3;
  };
  for_each_instruction_set([&] {
    for (const int64_t n : {1, 3, 16, 70}) {
      CAPTURE(n);
      const Case c{{12, 50}, {4, 50, n}};
      Tensor a = random_tensor(c.a, DType::Float32, 1);
      const auto weights = a.mutable_data<float>();
      for (size_t i = 0; i < weights.size(); ++i) {
        const auto at = static_cast<int64_t>(i);
        if (!in_band(at / 50, at % 50, 50)) weights[i] = 0;
      }
      const Tensor b = random_tensor(c.b, DType::Float32, 2);
      const Shape out = out_shape(c);
      const Attributes attributes = {
          {"transpose_a", false}, {"transpose_b", false}, {"banded", true}};
      const auto run = [&] {
        return kernels().run("matmul", {a, b}, attributes, {{DType::Float32, out}})[0];
      };
      const Tensor result = run();
      check_close(result, reference(c, a, b, out), tolerance(DType::Float32, 50));
      for (const int threads : {1, 3}) {
        const ComputeThreadsScope scope(threads);
        CHECK(values_of(run()) == values_of(result));
      }
    }
  });
}

TEST_CASE("matmul serves every dtype that has products") {
  for (DType dtype : {DType::Float64, DType::Float16, DType::BFloat16, DType::Int8, DType::UInt8,
                      DType::Int32, DType::Int64, DType::UInt32, DType::UInt64}) {
    check_transposes({9, 3}, {3, 7}, dtype);
  }
  for (DType dtype :
       {DType::Float64, DType::BFloat16, DType::Int8, DType::Int32, DType::Int64, DType::UInt64}) {
    check_transposes({70, 33}, {33, 65}, dtype);
  }
}

TEST_CASE("matmul of an empty axis") {
  for (DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Int8}) {
    check_matmul({{0, 4}, {4, 3}}, dtype);
    check_matmul({{2, 4}, {4, 0}}, dtype);
    check_matmul({{2, 0}, {0, 3}}, dtype);
    check_matmul({{0, 2, 4}, {4, 3}}, dtype);
  }
}

TEST_CASE("matmul has no kernel for bool") {
  const Tensor a = Tensor::from(std::vector<bool>(4), Shape{2, 2});
  CHECK_FALSE(kernels().make("matmul", {a, a}, {{"transpose_a", false}, {"transpose_b", false}},
                             {{DType::Bool, {2, 2}}}));
}

void check_bias_act(const Case& c, DType dtype, const std::string& activation) {
  CAPTURE(text(c.a));
  CAPTURE(text(c.b));
  CAPTURE(text(activation));
  CAPTURE(text(dtype));
  const Tensor a = random_tensor(stored(c.a, c.transpose_a), dtype, 1);
  const Tensor b = random_tensor(stored(c.b, c.transpose_b), dtype, 2);
  const Tensor bias = random_tensor({c.b.back()}, dtype, 3);
  const Shape out = out_shape(c);
  auto expected = reference(c, a, b, out);
  const auto bias_values = values_of(bias);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] += bias_values[i % bias_values.size()];
    if (!activation.empty()) expected[i] = std::max(expected[i], 0.0);
    if (activation == "relu6") expected[i] = std::min(expected[i], 6.0);
  }
  const Attributes attributes = {
      {"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}, {"activation", activation}};
  const Tensor result =
      kernels().run("matmul_bias_act", {a, b, bias}, attributes, {{dtype, out}})[0];
  check_close(result, expected, tolerance(dtype, c.a.back()));
}

TEST_CASE("matmul_bias_act adds a bias and rectifies") {
  for (const char* activation : {"", "relu", "relu6"}) {
    for (DType dtype : {DType::Float32, DType::BFloat16, DType::Float16}) {
      check_bias_act({{5, 7}, {7, 10}}, dtype, activation);
      check_bias_act({{64, 100}, {100, 64}}, dtype, activation);
      check_bias_act({{33, 20}, {20, 129}, true, true}, dtype, activation);
      check_bias_act({{2, 3, 20}, {20, 17}}, dtype, activation);
      check_bias_act({{2, 3, 20}, {2, 20, 17}}, dtype, activation);
      check_bias_act({{4, 0}, {0, 6}}, dtype, activation);
      check_bias_act({{0, 4}, {4, 6}}, dtype, activation);
    }
  }
}

void check_visible_nan(DType dtype, const std::string& activation) {
  CAPTURE(text(dtype));
  CAPTURE(activation);
  std::vector<double> values(32 * 32, 1);
  values[5] = std::nan("");  // in the first row
  const Tensor a = tensor_of(values, {32, 32}, dtype);
  const Tensor b = random_tensor({32, 37}, dtype, 1);
  const Tensor bias = random_tensor({37}, dtype, 2);
  const Attributes attributes = {
      {"transpose_a", false}, {"transpose_b", false}, {"activation", activation}};
  for_each_instruction_set([&] {
    const auto result = values_of(
        kernels().run("matmul_bias_act", {a, b, bias}, attributes, {{dtype, {32, 37}}})[0]);
    for (size_t i = 0; i < result.size(); ++i) {
      CHECK(std::isnan(result[i]) == (i < 37));
      if (i >= 37) CHECK(result[i] >= 0);
      if (i >= 37 && activation == "relu6") CHECK(result[i] <= 6);
    }
  });
}

TEST_CASE("matmul_bias_act keeps NaN visible behind relu") {
  for (DType dtype : {DType::Float32, DType::BFloat16}) {
    for (const char* activation : {"relu", "relu6"}) check_visible_nan(dtype, activation);
  }
}

}  // namespace
}  // namespace cornu::cpu::testing
