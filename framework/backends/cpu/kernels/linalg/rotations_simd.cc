// SPDX-License-Identifier: Apache-2.0
// Applies many rotations at once to a few rows that stay in a near cache: Van Zee, van de Geijn and
// Quintana-Orti, "Restructuring the tridiagonal and bidiagonal QR algorithms for performance"
// (2014).
#include <algorithm>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/linalg/rotations.h"
#include "framework/core/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/linalg/rotations_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kVectors = 4;  // whose sums don't wait for each other

using Vector = hn::Vec<hn::ScalableTag<double>>;

HWY_INLINE void write_vectors(const Vector* vectors, double* to) {
  const hn::ScalableTag<double> d;
  for (int64_t v = 0; v < kVectors; ++v) {
    hn::StoreU(vectors[v], d, to + v * static_cast<int64_t>(hn::Lanes(d)));
  }
}

// As many rows as there are elements in kVectors vectors.
void rotate_few(std::span<const Rotation> rotations, double* columns, int64_t step) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Vector left[kVectors];  // column `held`, with which the next rotation mostly continues
  int64_t held = -1;
  for (const Rotation& rotation : rotations) {
    if (rotation.k != held) {
      if (held >= 0) write_vectors(left, columns + held * step);
      for (int64_t v = 0; v < kVectors; ++v) {
        left[v] = hn::LoadU(d, columns + rotation.k * step + v * lanes);
      }
    }
    const auto c = hn::Set(d, rotation.c), s = hn::Set(d, rotation.s);
    double* const first = columns + rotation.k * step;
    for (int64_t v = 0; v < kVectors; ++v) {
      const auto right = hn::LoadU(d, first + step + v * lanes);
      hn::StoreU(hn::NegMulAdd(s, right, hn::Mul(c, left[v])), d, first + v * lanes);
      left[v] = hn::MulAdd(s, left[v], hn::Mul(c, right));
    }
    held = rotation.k + 1;
  }
  if (held >= 0) write_vectors(left, columns + held * step);
}

void rotate_rows(std::span<const Rotation> rotations, double* columns, int64_t step, int64_t begin,
                 int64_t end) {
  const int64_t together = kVectors * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<double>()));
  for (int64_t row = begin; row < end; row += together) rotate_few(rotations, columns + row, step);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(rotate_rows);

void rotate(std::span<const Rotation> rotations, double* columns, int64_t rows, int64_t step) {
  const int64_t cost = static_cast<int64_t>(rotations.size()) * kRotatedRows;
  const int64_t grain = std::max<int64_t>(1, 200'000 / std::max<int64_t>(1, cost)) * kRotatedRows;
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    HWY_DYNAMIC_DISPATCH(rotate_rows)(rotations, columns, step, begin, end);
  });
}

}  // namespace cornu::cpu
#endif
