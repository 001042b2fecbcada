// SPDX-License-Identifier: Apache-2.0
// The arithmetic of reductions over ranks in one address space.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "framework/graph/communicator.h"

namespace cornu {

// Reduces elements [begin, end) of every rank's `in` into `out`, in the order of ranks; `out` may
// be the same memory as one of the inputs. NaN from any rank is propagated. 16-bit floating-point
// numbers are summed in float32.
void reduce_elements(void* out, std::span<const void* const> in, int64_t begin, int64_t end,
                     DType dtype, ReduceOp op);

// Divides the elements of a sum, as reductions do for ReduceOp::Mean.
void divide_elements(void* elements, int64_t count, DType dtype, int64_t divisor);

// Throws Unimplemented for bool.
void require_reducible(DType dtype);

// Enumerates the work of one of `ranks` ranks that share it: calls visit(segment, begin, end) for
// its share of the elements of all segments. The shares cover all elements exactly once, and start
// at cache line boundaries.
void each_share(std::span<const Segment> segments, int rank, int ranks,
                const std::function<void(size_t, int64_t, int64_t)>& visit);

// The address of an element.
inline std::byte* element_at(void* memory, int64_t element, DType dtype) {
  return static_cast<std::byte*>(memory) + static_cast<size_t>(element) * size_of(dtype);
}

}  // namespace cornu
