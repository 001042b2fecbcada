// SPDX-License-Identifier: Apache-2.0
// The loops of products of large matrices, for several instruction sets: Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication" (2008).
#include <algorithm>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/matmul/packed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "framework/backends/cpu/kernels/matmul/packed_simd.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many sums as fit in registers besides a row of b and an element of a.
constexpr int64_t kStripRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int64_t kVectors = HWY_TARGET == HWY_AVX3 ? 3 : 2;
template <class T>
constexpr int64_t kPanelColumns = kVectors* int64_t{HWY_MAX_BYTES / sizeof(T)};

template <class V>
HWY_INLINE V plus_product(V sum, V a, V b) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
    return hn::MulAdd(a, b, sum);
  } else {
    return hn::Add(sum, hn::Mul(a, b));
  }
}

// Adds strip x panel to kStripRows x kPanelColumns elements of `out`, or writes it there.
template <class T>
HWY_INLINE void multiply_strip(const T* strip, const T* panel, int64_t depth, bool adds, T* out,
                               int64_t step) {
  const hn::ScalableTag<T> d;
  constexpr auto kLanes = kPanelColumns<T> / kVectors;
  hn::Vec<decltype(d)> sums[kStripRows][kVectors];
  for (int64_t i = 0; i < kStripRows; ++i) {
    for (int64_t v = 0; v < kVectors; ++v) {
      sums[i][v] = adds ? hn::LoadU(d, out + i * step + v * kLanes) : hn::Zero(d);
    }
  }
  for (int64_t l = 0; l < depth; ++l) {
    hn::Vec<decltype(d)> b[kVectors];
    for (int64_t v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, panel + v * kLanes);
    for (int64_t i = 0; i < kStripRows; ++i) {
      const auto a = hn::Set(d, strip[i]);
      for (int64_t v = 0; v < kVectors; ++v) sums[i][v] = plus_product(sums[i][v], a, b[v]);
    }
    strip += kStripRows;
    panel += kPanelColumns<T>;
  }
  for (int64_t i = 0; i < kStripRows; ++i) {
    for (int64_t v = 0; v < kVectors; ++v) hn::StoreU(sums[i][v], d, out + i * step + v * kLanes);
  }
}

// Like multiply_strip, for fewer rows and columns.
template <class T>
void multiply_edge(const T* strip, const T* panel, int64_t depth, bool adds, T* out, int64_t step,
                   int64_t rows, int64_t columns) {
  T tile[kStripRows * kPanelColumns<T>] = {};
  for (int64_t i = 0; adds && i < rows; ++i) {
    std::copy_n(out + i * step, columns, tile + i * kPanelColumns<T>);
  }
  multiply_strip(strip, panel, depth, adds, tile, kPanelColumns<T>);
  for (int64_t i = 0; i < rows; ++i) {
    std::copy_n(tile + i * kPanelColumns<T>, columns, out + i * step);
  }
}

template <class T>
void pack_panel(const StridedMatrix<T>& b, int64_t k, int64_t n, int64_t panel, T* to) {
  const int64_t first = panel * kPanelColumns<T>;
  const int64_t columns = std::min(kPanelColumns<T>, n - first);
  for (int64_t l = 0; l < k; ++l, to += kPanelColumns<T>) {
    const T* row = b.data + l * b.row + first * b.column;
    for (int64_t j = 0; j < columns; ++j) to[j] = row[j * b.column];
    std::fill(to + columns, to + kPanelColumns<T>, T{0});
  }
}

// Packs rows [begin, end), columns [first, first + depth) of a.
template <class T>
void pack_strips(const StridedMatrix<T>& a, int64_t begin, int64_t end, int64_t first,
                 int64_t depth, T* to) {
  for (int64_t row = begin; row < end; row += kStripRows, to += kStripRows * depth) {
    const int64_t rows = std::min(kStripRows, end - row);
    const T* from = a.data + row * a.row + first * a.column;
    for (int64_t l = 0; l < depth; ++l) {
      for (int64_t i = 0; i < kStripRows; ++i) {
        to[l * kStripRows + i] = i < rows ? from[i * a.row + l * a.column] : T{0};
      }
    }
  }
}

template <class T>
void multiply_rows(const PackedRows<T>& p) {
  for (int64_t first = 0; first < p.k; first += kPackedDepth) {
    const int64_t depth = std::min(kPackedDepth, p.k - first);
    const bool adds = p.adds || first > 0;
    pack_strips(p.a, p.begin, p.end, first, depth, p.memory);
    for (int64_t column = 0; column < p.n; column += kPanelColumns<T>) {
      const T* panel = p.panels + column * p.k + first * kPanelColumns<T>;
      const int64_t columns = std::min(kPanelColumns<T>, p.n - column);
      for (int64_t row = p.begin; row < p.end; row += kStripRows) {
        const T* strip = p.memory + (row - p.begin) * depth;
        T* to = p.out + row * p.step + column;
        const int64_t rows = std::min(kStripRows, p.end - row);
        if (rows == kStripRows && columns == kPanelColumns<T>) {
          multiply_strip(strip, panel, depth, adds, to, p.step);
        } else {
          multiply_edge(strip, panel, depth, adds, to, p.step, rows, columns);
        }
      }
    }
  }
}

template <class T>
constexpr PackedProduct<T> kPacked = {kStripRows, kPanelColumns<T>, pack_panel<T>,
                                      multiply_rows<T>};

const PackedProduct<double>* packed_float64() { return &kPacked<double>; }
const PackedProduct<int32_t>* packed_int32() { return &kPacked<int32_t>; }
const PackedProduct<int64_t>* packed_int64() { return &kPacked<int64_t>; }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cornu::cpu {

HWY_EXPORT(packed_float64);
HWY_EXPORT(packed_int32);
HWY_EXPORT(packed_int64);

template <>
const PackedProduct<double>& packed_product() {
  return *HWY_DYNAMIC_DISPATCH(packed_float64)();
}
template <>
const PackedProduct<int32_t>& packed_product() {
  return *HWY_DYNAMIC_DISPATCH(packed_int32)();
}
template <>
const PackedProduct<int64_t>& packed_product() {
  return *HWY_DYNAMIC_DISPATCH(packed_int64)();
}

}  // namespace cornu::cpu
#endif
