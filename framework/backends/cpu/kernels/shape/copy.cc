// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/shape/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/backends/cpu/kernels/elementwise/targets.h"
#include "framework/backends/cpu/kernels/shape/element.h"
#include "framework/core/threads.h"

// Uses four-lane code only, which every supported CPU runs.
#include <hwy/highway.h>

#include "framework/backends/cpu/kernels/shape/transpose.inc"

HWY_BEFORE_NAMESPACE();
namespace cornu::cpu {
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

// Like transpose_part, for a tile of at most kCopyTile x kCopyTile. Whole tiles of four-byte
// elements are transposed in a buffer, so that all accesses to a cache line of either array are
// close together: with strides of powers of two the lines would evict each other.
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
  int64_t done = 0;  // columns
  if constexpr (sizeof(T) == 4) {
    if (rows % 4 == 0) {
      for (; done + 4 <= columns; done += 4) {
        for (int64_t i = 0; i < rows; i += 4) {
          HWY_NAMESPACE::transpose_4x4(from + i * from_step + done, from_step,
                                       to + done * to_step + i, to_step);
        }
      }
    }
  }
  transpose_part(from + done, from_step, to + done * to_step, to_step, rows, columns - done);
}

template <class T>
void copy_row(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t count) {
  if (from_step == 1 && to_step == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  } else if (from_step == 0 && to_step == 1) {
    std::fill_n(to, count, *from);
  } else if (from_step == -1 && to_step == 1) {
    std::reverse_copy(from - count + 1, from + 1, to);
  } else {
    for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
  }
}

// Copies rows of a length known to the compiler, without a call per row.
template <class T, int64_t kCount>
void copy_short_rows(const T* from, T* to, const CopyAxis& rows, int64_t from_step) {
  if (from_step == 1) {
    for (int64_t row = 0; row < rows.size; ++row) {
      std::memcpy(to + row * rows.to, from + row * rows.from, kCount * sizeof(T));
    }
  } else {
    for (int64_t row = 0; row < rows.size; ++row) {
      std::fill_n(to + row * rows.to, kCount, from[row * rows.from]);
    }
  }
}

// Copies rows.size rows. Rows that are contiguous in `to`, and contiguous or a single value in
// `from`, may be short.
template <class T>
void copy_rows(const T* from, T* to, const CopyAxis& rows, const CopyAxis& inner) {
  const auto short_rows = [&]<int64_t... kCounts>(std::integer_sequence<int64_t, kCounts...>) {
    return ((inner.size == kCounts &&
             (copy_short_rows<T, kCounts>(from, to, rows, inner.from), true)) ||
            ...);
  };
  if (inner.to == 1 && (inner.from == 1 || inner.from == 0)) {
    using Lengths = std::integer_sequence<int64_t, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 64>;
    if (short_rows(Lengths())) return;
  }
  for (int64_t row = 0; row < rows.size; ++row) {
    copy_row(from + row * rows.from, inner.from, to + row * rows.to, inner.to, inner.size);
  }
}

template <class T>
void interleave_part(const T* a, const T* b, T* to, int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, to + 2 * i);
  }
  for (; i < count; ++i) {
    to[2 * i] = a[i];
    to[2 * i + 1] = b[i];
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
  if (inner_.from != 0 && inner_.from != 1 && inner_.to == 1) {
    const auto across =
        std::ranges::find_if(outer_, [](const CopyAxis& axis) { return axis.from == 1; });
    if (across != outer_.end()) {
      across_ = *across;
      outer_.erase(across);
      tiles_ = true;
    }
  }
  if (!tiles_ && !outer_.empty() && inner_.size * static_cast<int64_t>(element) < kPartBytes) {
    rows_ = outer_.back();
    outer_.pop_back();
  }
  outer_count_ /= inner_.size * across_.size * rows_.size;
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

// Long rows are divided, so that every thread has a part; of shorter rows, a thread has several.
template <class T>
void StridedCopy::run_as(const T* from, T* to) const {
  constexpr auto kElement = static_cast<int64_t>(sizeof(T));
  const int64_t part = std::min(inner_.size, kPartBytes / kElement);
  const int64_t several = std::clamp<int64_t>(kPartBytes / (part * kElement), 1, rows_.size);
  const int64_t parts = (inner_.size + part - 1) / part;
  const int64_t groups = parts * ((rows_.size + several - 1) / several);
  parallel_for(outer_count_ * groups, kCopyGrainBytes / (several * part * kElement),
               [&](int64_t begin, int64_t end) {
                 each_outer(begin, end, groups, [&](int64_t index, int64_t source, int64_t target) {
                   const int64_t first = index % parts * part, row = index / parts * several;
                   copy_rows(from + source + row * rows_.from + first * inner_.from,
                             to + target + row * rows_.to + first * inner_.to,
                             {std::min(several, rows_.size - row), rows_.from, rows_.to},
                             {std::min(part, inner_.size - first), inner_.from, inner_.to});
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
  with_element(element_, [&]<class T>(T) {
    const T* source = static_cast<const T*>(from);
    T* target = static_cast<T*>(to);
    if (tiles_) {
      run_tiles(source, target);
    } else {
      run_as(source, target);
    }
  });
}

void interleave(size_t element, const void* a, const void* b, void* to, int64_t count) {
  with_element(element, [&]<class T>(T) {
    parallel_for(
        count, kCopyGrainBytes / static_cast<int64_t>(element), [&](int64_t begin, int64_t end) {
          interleave_part(static_cast<const T*>(a) + begin, static_cast<const T*>(b) + begin,
                          static_cast<T*>(to) + 2 * begin, end - begin);
        });
  });
}

}  // namespace cornu::cpu
HWY_AFTER_NAMESPACE();
