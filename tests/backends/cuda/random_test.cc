// SPDX-License-Identifier: Apache-2.0
// Random numbers: the same bits as the CPU's, except those computed with the library's logarithms
// and powers.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::tensor_of;

Tensor key() { return Tensor::from<uint32_t>({0x12345678u, 0x9abcdef0u}); }

std::vector<Tensor> placed_key(int64_t offset) {
  return {key(), tensor_of({static_cast<double>(offset)}, {}, DType::Int64)};
}

void check_numbers(const std::string& op, const std::vector<Tensor>& inputs, const Shape& shape,
                   DType dtype, double tolerance = 0) {
  CAPTURE(shape.to_string());
  const Attributes attributes = op == "random_bits"
                                    ? Attributes{{"shape", shape.dims()}}
                                    : Attributes{{"shape", shape.dims()}, {"dtype", dtype}};
  check_like_cpu(op, inputs, attributes, {{dtype, shape}}, tolerance);
}

TEST_CASE("cuda random bits and uniform numbers are the CPU's") {
  check_numbers("random_bits", {key()}, {2}, DType::UInt32);
  check_numbers("random_bits", {key()}, {3, 701}, DType::UInt32);
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    CAPTURE(to_string(dtype));
    check_numbers("random_uniform", {key()}, {2051}, dtype);
    for (const int64_t offset : {1, 2, 3, 4, 1027}) {
      check_numbers("random_uniform", placed_key(offset), {261}, dtype);
    }
  }
  check_numbers("random_bits", placed_key((int64_t{1} << 40) + 3), {9}, DType::UInt32);
  check_numbers("random_uniform", {key()}, {0}, DType::Float32);
  check_numbers("random_uniform", {key()}, {}, DType::Float32);
}

TEST_CASE("cuda normal numbers are the CPU's") {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16}) {
    CAPTURE(to_string(dtype));
    check_numbers("random_normal", {key()}, {5003}, dtype);
    for (const int64_t offset : {1, 6, 7}) {
      check_numbers("random_normal", placed_key(offset), {130}, dtype);
    }
  }
}

TEST_CASE("cuda permutations are the CPU's") {
  for (const int64_t count : {0, 1, 2, 3, 31, 33, 1024, 1025, 3001}) {
    CAPTURE(count);
    check_like_cpu("random_permutation", {key()}, {{"count", count}});
  }
}

Tensor alphas(int64_t count, DType dtype) {
  constexpr double kShapes[] = {1e-3, 0.3, 0.99, 1, 1.5, 7, 300, 1e6, 0, -1, NAN, INFINITY};
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(kShapes[i % 12]);
  return tensor_of(values, {count}, dtype);
}

TEST_CASE("cuda gamma numbers") {
  for (const bool log : {false, true}) {
    CAPTURE(log);
    check_like_cpu("random_gamma", {key(), alphas(1200, DType::Float64)}, {{"log", log}}, 1e-13);
    check_like_cpu("random_gamma", {key(), alphas(1200, DType::Float32)}, {{"log", log}}, 1e-6);
    check_like_cpu("random_gamma", {key(), alphas(240, DType::BFloat16)}, {{"log", log}}, 1e-2);
    check_like_cpu("random_gamma",
                   {key(), alphas(240, DType::Float32), tensor_of({77}, {}, DType::Int64)},
                   {{"log", log}, {"placed", true}}, 1e-6);
  }
}

TEST_CASE("cuda binomial numbers") {
  constexpr double kCounts[] = {0, 1, 5.7, 40, 1000, 1e6, -1, NAN, INFINITY};
  constexpr double kChances[] = {0, 1e-3, 0.2, 0.5, 0.7, 1, 1.5};
  std::vector<double> counts, chances;
  for (int i = 0; i < 630; ++i) {
    counts.push_back(kCounts[i % 9]);
    chances.push_back(kChances[i % 7]);
  }
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16}) {
    CAPTURE(to_string(dtype));
    const Tensor n = tensor_of(counts, {630}, dtype), p = tensor_of(chances, {630}, dtype);
    check_like_cpu("random_binomial", {key(), n, p}, {});
    check_like_cpu("random_binomial", {key(), n, p, tensor_of({5}, {}, DType::Int64)},
                   {{"placed", true}});
  }
}

}  // namespace
}  // namespace cornu::cuda::testing
