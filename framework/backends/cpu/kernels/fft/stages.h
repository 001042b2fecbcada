// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of many rows at once, whose elements are interleaved.
#pragma once

#include <cstdint>
#include <vector>

namespace cornu::cpu {

// One step of a Stockham transform: turns groups of `radix` x `rest` elements into `radix` times as
// many groups of `rest`. `stride`: the product of the previous radices.
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

// Loops over rows, for the CPU's instruction set.
template <class T>
struct FftFunctions {
  // Writes `stage` of `from` to `to`: element i of row l is at i * lanes + l. A row's bits don't
  // depend on the number of rows.
  void (*run_stage)(const FftStage<T>& stage, int64_t lanes, const ComplexRows<const T>& from,
                    const ComplexRows<T>& to);
  // to[j * to_step + i] = from[i * from_step + j], i < rows, j < columns.
  void (*transpose)(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                    int64_t columns);
  // to[i] = a[i] * b[i].
  void (*multiply)(const ComplexRows<const T>& a, const ComplexRows<const T>& b, int64_t count,
                   const ComplexRows<T>& to);
  // to[i * step + l] = from[i * lanes + l] * (by_lane[i * step + l] * by_row[i]), i < rows, l <
  // lanes.
  void (*multiply_tile)(const ComplexRows<const T>& from, int64_t rows, int64_t lanes,
                        const ComplexRows<const T>& by_lane, const ComplexRows<const T>& by_row,
                        int64_t step, const ComplexRows<T>& to);
  // Separates every second number from the others: to[i] = (from[2 * i], from[2 * i + 1]).
  void (*pairs_of)(const T* from, int64_t count, const ComplexRows<T>& to);
  // The bins 0 to `half` of a row of 2 * half real numbers; z: the transform of the row's pairs as
  // complex numbers; roots: powers of the root of the row's length.
  void (*bins_of_pairs)(const ComplexRows<const T>& z, int64_t half,
                        const ComplexRows<const T>& roots, const ComplexRows<T>& bins);
};

template <class T>
const FftFunctions<T>& fft_functions();

}  // namespace cornu::cpu
