// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of rows of any one length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/backends/cpu/kernels/fft/stages.h"

namespace cornu::cpu {

// A row's bits don't depend on the rows beside it, nor on the number of threads.
template <class T>
class RowFft {
 public:
  virtual ~RowFft() = default;
  // How many rows are best transformed together.
  virtual int64_t group() const = 0;
  // How many numbers of memory a group needs.
  virtual int64_t memory() const = 0;
  // Transforms up to group() rows that lie behind each other, into others, from any thread.
  virtual void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t rows,
                         T* memory) const = 0;
};

template <class T>
std::unique_ptr<RowFft<T>> make_row_fft(int64_t length);

// exp(-2 pi i power / length), of powers in [0, length), rounded once: a product of two numbers of
// tables, in more digits than float64 has.
class UnitRoots {
 public:
  explicit UnitRoots(int64_t length);
  std::complex<double> operator()(int64_t power) const;

 private:
  std::vector<std::complex<long double>> coarse_, fine_;
};

}  // namespace cornu::cpu
