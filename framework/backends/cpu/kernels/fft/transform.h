// SPDX-License-Identifier: Apache-2.0
// Fourier transforms of rows of any one length.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/backends/cpu/kernels/fft/stages.h"

namespace cornu::cpu {

// A row's bits depend neither on the other rows nor on the number of threads.
template <class T>
class RowFft {
 public:
  virtual ~RowFft() = default;
  // The number of rows that are best transformed together.
  virtual int64_t group() const = 0;
  // The size of the memory that a group needs, in numbers.
  virtual int64_t memory() const = 0;
  // Transforms up to group() consecutive rows out of place; may be called from any thread.
  virtual void transform(const ComplexRows<const T>& in, const ComplexRows<T>& out, int64_t rows,
                         T* memory) const = 0;
};

template <class T>
std::unique_ptr<RowFft<T>> make_row_fft(int64_t length);

// exp(-2 pi i power / length) for powers in [0, length), rounded once: the product of two table
// entries, with more digits than float64 has.
class UnitRoots {
 public:
  explicit UnitRoots(int64_t length);
  std::complex<double> operator()(int64_t power) const;

 private:
  std::vector<std::complex<long double>> coarse_, fine_;
};

}  // namespace cornu::cpu
