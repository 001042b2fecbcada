// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/reduce_elements.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "framework/core/error.h"

namespace cornu {
namespace {

template <class T>
using SumOf =
    std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;

constexpr int64_t kBlock = 1024;  // elements reduced together

// Adds (or compares) the elements of another rank. NaN from any rank is propagated.
template <class T, class Count>
void combine(SumOf<T>* total, const T* in, Count count, ReduceOp op) {
  using Sum = SumOf<T>;
  if (op == ReduceOp::Sum || op == ReduceOp::Mean) {
    for (int64_t i = 0; i < count; ++i) total[i] = static_cast<Sum>(total[i] + Sum(in[i]));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const Sum other = Sum(in[i]);
    const bool first = op == ReduceOp::Min ? other < total[i] : total[i] < other;
    if (other != other || first) total[i] = other;
  }
}

// Reduces `count` elements of every rank, starting at `at`. With a constant count, compilers
// vectorize.
template <class T, class Count>
void reduce_block(T* out, std::span<const void* const> in, int64_t at, Count count, ReduceOp op) {
  using Sum = SumOf<T>;
  std::array<Sum, kBlock> total;
  const T* first = static_cast<const T*>(in[0]) + at;
  for (int64_t i = 0; i < count; ++i) total[static_cast<size_t>(i)] = Sum(first[i]);
  for (size_t rank = 1; rank < in.size(); ++rank) {
    combine(total.data(), static_cast<const T*>(in[rank]) + at, count, op);
  }
  if (op == ReduceOp::Mean) {
    const auto ranks = static_cast<Sum>(in.size());
    for (int64_t i = 0; i < count; ++i) {
      total[static_cast<size_t>(i)] = static_cast<Sum>(total[static_cast<size_t>(i)] / ranks);
    }
  }
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(total[static_cast<size_t>(i)]);
}

template <class T>
void reduce_range(T* out, std::span<const void* const> in, int64_t begin, int64_t end,
                  ReduceOp op) {
  int64_t at = begin;
  for (; at + kBlock <= end; at += kBlock) {
    reduce_block(out + (at - begin), in, at, std::integral_constant<int64_t, kBlock>(), op);
  }
  if (at < end) reduce_block(out + (at - begin), in, at, end - at, op);
}

}  // namespace

void reduce_elements(void* out, std::span<const void* const> in, int64_t begin, int64_t end,
                     DType dtype, ReduceOp op) {
  dispatch_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      reduce_range(static_cast<T*>(out), in, begin, end, op);
    }
  });
}

void divide_elements(void* elements, int64_t count, DType dtype, int64_t divisor) {
  if (divisor == 1) return;
  dispatch_dtype(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      const auto by = static_cast<SumOf<T>>(divisor);
      T* values = static_cast<T*>(elements);
      for (int64_t i = 0; i < count; ++i) {
        values[i] = static_cast<T>(static_cast<SumOf<T>>(SumOf<T>(values[i]) / by));
      }
    }
  });
}

void require_reducible(DType dtype) {
  check<Unimplemented>(dtype != DType::Bool, "Collective: no reduction of bool. Cast it to int32.");
}

void each_share(std::span<const Segment> segments, int rank, int ranks,
                const std::function<void(size_t, int64_t, int64_t)>& visit) {
  constexpr int64_t kStep = 64;  // elements: shares start at cache line boundaries
  int64_t total = 0;
  for (const Segment& segment : segments) total += segment.count;
  const int64_t share = ((total + ranks - 1) / ranks + kStep - 1) / kStep * kStep;
  const int64_t first = rank * share;
  const int64_t last = first + share;
  int64_t place = 0;  // position of the segment's first element
  for (size_t i = 0; i < segments.size(); ++i) {
    const int64_t begin = std::clamp<int64_t>(first - place, 0, segments[i].count);
    const int64_t end = std::clamp<int64_t>(last - place, 0, segments[i].count);
    if (begin < end) visit(i, begin, end);
    place += segments[i].count;
  }
}

}  // namespace cornu
