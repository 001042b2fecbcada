// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of many rows at once, whose elements alternate.
#pragma once

#include <cstdint>
#include <vector>

namespace cornu::cpu {

// One step of a Stockham transform: from groups of `radix` x `rest` elements it makes `radix` times
// as many groups of `rest`. `stride`: the product of the radices before.
template <class T>
struct FftStage {
  int64_t radix = 1;
  int64_t rest = 1;
  int64_t stride = 1;
  std::vector<T> real, imaginary;            // the twiddle of (i, k) at i * radix + k
  std::vector<T> root_real, root_imaginary;  // powers of the radix-th root of 1
};

template <class T>
struct ComplexRows {
  T* real;
  T* imaginary;
};

// Writes `stage` of `from` to `to`: element i of row l lies at i * lanes + l. A row's bits don't
// depend on the number of rows.
void run_stage(const FftStage<float>& stage, int64_t lanes, const ComplexRows<const float>& from,
               const ComplexRows<float>& to);
void run_stage(const FftStage<double>& stage, int64_t lanes, const ComplexRows<const double>& from,
               const ComplexRows<double>& to);

}  // namespace cornu::cpu
