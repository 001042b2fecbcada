// SPDX-License-Identifier: Apache-2.0
// Definitions shared by the implementation files of RingCollectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "distribute/collectives/ring.h"
#include "distribute/collectives/segment_bytes.h"

namespace cornu::distribute {

struct RingCollectives::Header {
  uint64_t call = 0;
  uint64_t counts = 0;  // a hash
  int64_t count = 0;
  int64_t segments = 0;
  int32_t kind = 0;
  int32_t dtype = -1;
  int32_t op = 0;
  int32_t root = 0;
  uint64_t reserved[2] = {};

  bool operator==(const Header&) const = default;
  std::string text() const;
};

// The data to reduce or gather: one chunk per rank.
struct RingCollectives::Chunks {
  SegmentBytes bytes;
  std::vector<size_t> bounds;  // of the chunks, in bytes; size() + 1 of them
  std::optional<DType> dtype;  // nullopt: nothing is reduced
  ReduceOp op = ReduceOp::Sum;
  int64_t divisor = 1;
  bool reduces = true;  // each chunk at the rank with its number
  bool gathers = true;  // all chunks everywhere
};

// Reduces elements of `in`, one array per rank, into `out` (Sum, Min or Max) and divides them by
// `divisor`. 16-bit floating-point numbers are rounded once, at the end.
void reduce_and_divide(void* out, std::span<const void* const> in, int64_t count, DType dtype,
                       ReduceOp op, int64_t divisor);

// Converts elements between float32 and a 16-bit type.
template <class To, class From>
void convert(void* to, const void* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<To*>(to)[i] = static_cast<To>(static_cast<const From*>(from)[i]);
  }
}
inline void widen(float* to, const void* from, size_t count, DType dtype) {
  dtype == DType::Float16 ? convert<float, float16>(to, from, count)
                          : convert<float, bfloat16>(to, from, count);
}
inline void narrow(void* to, const float* from, size_t count, DType dtype) {
  dtype == DType::Float16 ? convert<float16, float>(to, from, count)
                          : convert<bfloat16, float>(to, from, count);
}

}  // namespace cornu::distribute
