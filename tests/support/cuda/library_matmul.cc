// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's operations.
#include <algorithm>

#include "tests/support/cuda/libraries.h"
#include "tests/support/cuda/numbers.h"

namespace cornu::cuda::simulated {
namespace {

size_t count_of(int64_t batch, int64_t stride, int64_t matrix) {
  return static_cast<size_t>((batch - 1) * stride + matrix);
}

DType type_of_operands(const MatmulSpec& spec) { return spec.int8 ? DType::Int8 : spec.dtype; }

// The products that cuBLASLt has kernels for.
bool is_known(const MatmulSpec& spec) {
  return spec.int8 ? spec.has_int8_form() : is_floating(spec.dtype);
}

void multiply(const MatmulSpec& spec, std::span<void* const> operands) {
  const DType in = type_of_operands(spec);
  const auto a =
      read_numbers(operands[0], in, count_of(spec.batch, spec.a_stride, spec.m * spec.k));
  const auto b =
      read_numbers(operands[1], in, count_of(spec.batch, spec.b_stride, spec.k * spec.n));
  const auto bias = spec.bias ? read_numbers(operands[3], spec.dtype, static_cast<size_t>(spec.n))
                              : std::vector<double>(static_cast<size_t>(spec.n));
  std::vector<double> out;
  for (int64_t p = 0; p < spec.batch; ++p) {
    for (int64_t row = 0; row < spec.m; ++row) {
      for (int64_t column = 0; column < spec.n; ++column) {
        double sum = 0;
        for (int64_t i = 0; i < spec.k; ++i) {
          const int64_t in_a = spec.transpose_a ? i * spec.m + row : row * spec.k + i;
          const int64_t in_b = spec.transpose_b ? column * spec.k + i : i * spec.n + column;
          sum += a[static_cast<size_t>(p * spec.a_stride + in_a)] *
                 b[static_cast<size_t>(p * spec.b_stride + in_b)];
        }
        sum += bias[static_cast<size_t>(column)];
        out.push_back(spec.relu && sum < 0 ? 0 : sum);
      }
    }
  }
  write_numbers(operands[2], spec.dtype, out);
}

}  // namespace

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const MatmulSpec& spec) {
  const bool is_empty = spec.batch <= 0 || spec.m <= 0 || spec.n <= 0 || spec.k <= 0;
  if (!is_known(spec) || is_empty || (spec.relu && !spec.bias)) return nullptr;
  const size_t element = size_of(type_of_operands(spec));
  std::vector<size_t> bytes = {
      count_of(spec.batch, spec.a_stride, spec.m * spec.k) * element,
      count_of(spec.batch, spec.b_stride, spec.k * spec.n) * element,
      static_cast<size_t>(spec.batch * spec.m * spec.n) * size_of(spec.dtype),
  };
  if (spec.bias) bytes.push_back(static_cast<size_t>(spec.n) * element);
  return std::make_shared<SimulatedLibraryKernel>(
      "simulated matmul", std::move(bytes),
      [spec](std::span<void* const> operands) { multiply(spec, operands); });
}

}  // namespace cornu::cuda::simulated
