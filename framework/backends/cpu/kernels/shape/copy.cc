// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/shape/copy.h"

#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/core/threads.h"

// Uses four-lane code only, which every supported CPU runs.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// to[j][i] = from[i][j] for 4 x 4 elements of four bytes.
HWY_INLINE void transpose_4x4(const uint32_t* from, int64_t from_step, uint32_t* to,
                              int64_t to_step) {
  const hn::FixedTag<uint32_t, 4> d;
  const hn::FixedTag<uint64_t, 2> wide;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + from_step);
  const auto r2 = hn::LoadU(d, from + 2 * from_step);
  const auto r3 = hn::LoadU(d, from + 3 * from_step);
  const auto a = hn::BitCast(wide, hn::InterleaveLower(d, r0, r1));
  const auto b = hn::BitCast(wide, hn::InterleaveLower(d, r2, r3));
  const auto c = hn::BitCast(wide, hn::InterleaveUpper(d, r0, r1));
  const auto e = hn::BitCast(wide, hn::InterleaveUpper(d, r2, r3));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, a, b)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, a, b)), d, to + to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(wide, c, e)), d, to + 2 * to_step);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(wide, c, e)), d, to + 3 * to_step);
}

}  // namespace
}  // namespace HWY_NAMESPACE

namespace {

constexpr int64_t kCopyTile = 16;           // rows and columns of a tile
constexpr int64_t kCopyGrainBytes = 32768;  // per thread, at least
constexpr int64_t kPartBytes = 131072;      // of a row that is divided

// to[j][i] = from[i][j] for i < rows, j < columns.
template <class T>
void transpose_part(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                    int64_t columns) {
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t i = 0; i < rows; ++i) to[j * to_step + i] = from[i * from_step + j];
  }
}

// The same for a tile of at most kCopyTile x kCopyTile. Whole tiles of four-byte elements are
// transposed in a buffer, so that all accesses to a cache line of either array are close together:
// with strides of powers of two the lines would evict each other.
template <class T>
void transpose_tile(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows,
                    int64_t columns) {
  if constexpr (sizeof(T) == 4) {
    if (rows == kCopyTile && columns == kCopyTile) {
      alignas(64) T buffer[kCopyTile * kCopyTile];
      for (int64_t i = 0; i < kCopyTile; i += 4) {
        for (int64_t j = 0; j < kCopyTile; j += 4) {
          HWY_NAMESPACE::transpose_4x4(from + i * from_step + j, from_step,
                                       buffer + j * kCopyTile + i, kCopyTile);
        }
      }
      for (int64_t j = 0; j < kCopyTile; ++j) {
        std::memcpy(to + j * to_step, buffer + j * kCopyTile, kCopyTile * sizeof(T));
      }
      return;
    }
  }
  transpose_part(from, from_step, to, to_step, rows, columns);
}

template <class T>
void copy_row(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (from_step == 0 && to_step == 1) {
    std::fill_n(to, count, *from);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

}  // namespace

StridedCopy::StridedCopy(size_t element, const std::vector<CopyAxis>& axes, int64_t from_offset,
                         int64_t to_offset)
    : element_(element), from_offset_(from_offset), to_offset_(to_offset) {
  for (const CopyAxis& axis : axes) {
    outer_count_ *= axis.size;
    if (axis.size == 1) continue;
    CopyAxis* last = outer_.empty() ? nullptr : &outer_.back();
    if (last && last->from == axis.from * axis.size && last->to == axis.to * axis.size) {
      *last = {last->size * axis.size, axis.from, axis.to};
    } else {
      outer_.push_back(axis);
    }
  }
  if (outer_count_ == 0) return;
  if (!outer_.empty()) {
    inner_ = outer_.back();
    outer_.pop_back();
  }
  if (inner_.from != 1 && inner_.to == 1) {
    const auto across =
        std::ranges::find_if(outer_, [](const CopyAxis& axis) { return axis.from == 1; });
    if (across != outer_.end()) {
      across_ = *across;
      outer_.erase(across);
      tiles_ = true;
    }
  }
  outer_count_ /= inner_.size * across_.size;
}

// Calls `visit(offset in from, offset in to)` for the outer indices [begin, end) / skipped.
template <class Visit>
void StridedCopy::each_outer(int64_t begin, int64_t end, int64_t skipped, Visit visit) const {
  for (int64_t index = begin; index < end; ++index) {
    int64_t from = from_offset_;
    int64_t to = to_offset_;
    int64_t rest = index / skipped;
    for (size_t i = outer_.size(); i-- > 0;) {
      const int64_t at = rest % outer_[i].size;
      rest /= outer_[i].size;
      from += at * outer_[i].from;
      to += at * outer_[i].to;
    }
    visit(index % skipped, from, to);
  }
}

// Long rows are divided, so that every thread has a part.
template <class T>
void StridedCopy::run_as(const T* from, T* to) const {
  constexpr auto kElement = static_cast<int64_t>(sizeof(T));
  const int64_t part = std::min(inner_.size, kPartBytes / kElement);
  const int64_t parts = (inner_.size + part - 1) / part;
  parallel_for(
      outer_count_ * parts, kCopyGrainBytes / (part * kElement), [&](int64_t begin, int64_t end) {
        each_outer(begin, end, parts, [&](int64_t index, int64_t from_offset, int64_t to_offset) {
          const int64_t first = index * part;
          copy_row(from + from_offset + first * inner_.from, inner_.from,
                   to + to_offset + first * inner_.to, inner_.to,
                   std::min(part, inner_.size - first));
        });
      });
}

template <class T>
void StridedCopy::run_tiles(const T* from, T* to) const {
  const int64_t strips = (across_.size + kCopyTile - 1) / kCopyTile;
  const int64_t strip_bytes = inner_.size * kCopyTile * static_cast<int64_t>(sizeof(T));
  parallel_for(
      outer_count_ * strips, kCopyGrainBytes / strip_bytes, [&](int64_t begin, int64_t end) {
        each_outer(begin, end, strips, [&](int64_t strip, int64_t from_offset, int64_t to_offset) {
          const int64_t first = strip * kCopyTile;
          const int64_t columns = std::min(kCopyTile, across_.size - first);
          const T* source = from + from_offset + first;
          T* target = to + to_offset + first * across_.to;
          for (int64_t i = 0; i < inner_.size; i += kCopyTile) {
            transpose_tile(source + i * inner_.from, inner_.from, target + i, across_.to,
                           std::min(kCopyTile, inner_.size - i), columns);
          }
        });
      });
}

void StridedCopy::run(const void* from, void* to) const {
  if (outer_count_ == 0) return;
  auto run_with = [&]<class T>(T) {
    const T* source = static_cast<const T*>(from);
    T* target = static_cast<T*>(to);
    if (tiles_) {
      run_tiles(source, target);
    } else {
      run_as(source, target);
    }
  };
  switch (element_) {
    case 1:
      return run_with(uint8_t{});
    case 2:
      return run_with(uint16_t{});
    case 4:
      return run_with(uint32_t{});
    default:
      return run_with(uint64_t{});
  }
}

}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();
