// SPDX-License-Identifier: Apache-2.0
// What kernels of every backend say of values that ops refuse.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/shape.h"
#include "framework/graph/kernel_spec.h"

namespace cornu {

// InvalidArgument: a label of sparse_softmax_cross_entropy that is no class of the logits.
[[noreturn]] void refuse_label(const std::string& label, int64_t row, const Shape& logits);

// What programs call an op that takes indices. A scatter_add with the attribute "segments" is a
// segment_sum, whose negative ids have come with the number of segments subtracted. A gather of
// ops::take_known is "vocabulary of …".
std::string indexing_name(const KernelSpec& spec);

// OutOfRange: an index of a take, or of an op like it (by that name), is none of an axis.
// InvalidArgument: a token isn't of a vocabulary.
[[noreturn]] void refuse_index(const std::string& op, const std::string& index, int64_t axis,
                               const Shape& shape);

// OutOfRange: a segment's number of a segment_reduce is none of `segments`.
[[noreturn]] void refuse_segment(int64_t id, int64_t segments);

}  // namespace cornu
