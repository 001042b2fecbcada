// SPDX-License-Identifier: Apache-2.0
// Segments viewed as one sequence of bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "framework/graph/communicator.h"

namespace cornu::distribute {

// The elements of all segments in a row. The segments' memory belongs to the caller.
class SegmentBytes {
 public:
  SegmentBytes(std::span<const Segment> segments, size_t element_size)
      : segments_(segments.begin(), segments.end()), ends_(segments.size()) {
    for (size_t i = 0; i < segments.size(); ++i) {
      total_ += static_cast<size_t>(segments[i].count) * element_size;
      ends_[i] = total_;
    }
  }

  size_t total() const { return total_; }

  struct Piece {
    const std::byte* in;
    std::byte* out;
    size_t size;
  };
  // The contiguous piece starting at byte `at`, at most `most` bytes long. Requires at < total().
  Piece piece(size_t at, size_t most) const;

  // Calls visit(at, memory, bytes) for each segment's `in`.
  template <class Visit>
  void each_input(Visit visit) const {
    for (size_t at = 0; at < total_;) {
      const Piece next = piece(at, total_);
      visit(at, next.in, next.size);
      at += next.size;
    }
  }
  // The same for `out`, restricted to bytes [begin, end).
  template <class Visit>
  void each_output(size_t begin, size_t end, Visit visit) const {
    for (size_t at = begin; at < end;) {
      const Piece next = piece(at, end - at);
      visit(at, next.out, next.size);
      at += next.size;
    }
  }
  void copy_inputs(std::byte* to) const {
    each_input([&](size_t at, const std::byte* in, size_t n) { std::memcpy(to + at, in, n); });
  }
  void copy_to_outputs(const std::byte* from) const {
    each_output(0, total_,
                [&](size_t at, std::byte* out, size_t n) { std::memcpy(out, from + at, n); });
  }

 private:
  std::vector<Segment> segments_;
  std::vector<size_t> ends_;  // end offset of each segment
  size_t total_ = 0;
};

}  // namespace cornu::distribute
