// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of various lengths.
#include <doctest/doctest.h>

#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/kernel_run.h"

namespace cornu::cuda::testing {
namespace {

using cpu::testing::random_tensor;

// A transform's sums grow with the square root of its length.
double tolerance(int64_t length, DType dtype) {
  const double unit = dtype == DType::Float64   ? 1e-15
                      : dtype == DType::Float32 ? 1e-6
                      : dtype == DType::Float16 ? 2e-3
                                                : 2e-2;
  return 2 * unit * std::sqrt(static_cast<double>(length));
}

void check_fft(int64_t rows, int64_t length, DType dtype, bool inverse = false) {
  CAPTURE(rows);
  CAPTURE(length);
  const Shape shape = {rows, length};
  check_like_cpu("fft", {random_tensor(shape, dtype, 1), random_tensor(shape, dtype, 2)},
                 {{"inverse", inverse}}, tolerance(length, dtype));
}

void check_rfft(int64_t rows, int64_t length, DType dtype) {
  CAPTURE(rows);
  CAPTURE(length);
  check_like_cpu("rfft", {random_tensor({rows, length}, dtype, 1)}, {}, tolerance(length, dtype));
}

TEST_CASE("cuda fft in one launch") {
  for (const int64_t length :
       {1,  2,  3,   4,   5,   6,   7,   8,   9,    10,   12,   15,   16,  30,
        35, 64, 105, 128, 210, 243, 256, 512, 1000, 1024, 1029, 2401, 4096}) {
    check_fft(3, length, DType::Float32, length % 3 == 0);
    check_rfft(3, length, DType::Float32);
  }
  for (const int64_t length : {2, 6, 49, 120, 1029, 2048}) {
    check_fft(2, length, DType::Float64);
    check_fft(2, length, DType::Float64, true);
    check_rfft(2, length, DType::Float64);
  }
}

TEST_CASE("cuda fft of primes and their multiples: Bluestein's") {
  for (const int64_t length : {11, 13, 22, 26, 101, 121, 1009, 2018}) {
    check_fft(3, length, DType::Float32, length % 2 == 0);
    check_rfft(3, length, DType::Float32);
  }
  check_fft(2, 17, DType::Float64);
  check_rfft(2, 34, DType::Float64);
  check_fft(1, 2053, DType::Float32);  // in several launches
  check_rfft(2, 4099, DType::Float64);
}

TEST_CASE("cuda fft of long rows: a launch for each factor") {
  for (const int64_t length : {6000, 8192, 10000, 65536}) {
    check_fft(2, length, DType::Float32, length == 8192);
    check_rfft(2, length, DType::Float32);
  }
  check_fft(2, 4096, DType::Float64);
  check_rfft(3, 7 * 7 * 7 * 25, DType::Float32);
  check_rfft(1, 3 * 3 * 3 * 3 * 3 * 3 * 3 * 5, DType::Float64);
  check_fft(1, 1 << 18, DType::Float32);
}

TEST_CASE("cuda fft of many rows, of none, and of 16-bit numbers") {
  check_fft(2000, 8, DType::Float32);
  check_rfft(1500, 30, DType::Float32);
  check_fft(0, 8, DType::Float32);
  check_like_cpu("rfft", {random_tensor({2, 3, 12}, DType::Float32, 1)}, {}, 1e-5);
  check_like_cpu("rfft", {random_tensor({12}, DType::Float32, 1)}, {}, 1e-5);
  check_fft(3, 24, DType::Float16);
  check_rfft(3, 64, DType::BFloat16);
  check_rfft(5, 1, DType::BFloat16);
  check_rfft(2, 11, DType::Float16);
}

}  // namespace
}  // namespace cornu::cuda::testing
