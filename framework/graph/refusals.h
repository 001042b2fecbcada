// SPDX-License-Identifier: Apache-2.0
// Error messages, shared by the kernels of all backends, for values that ops reject.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/shape.h"
#include "framework/graph/kernel_spec.h"

namespace cornu {

// Throws InvalidArgument: a label of sparse_softmax_cross_entropy isn't a class of the logits.
[[noreturn]] void refuse_label(const std::string& label, int64_t row, const Shape& logits);

// The user-visible name of an op that takes indices. A scatter_add with the attribute "segments" is
// a segment_sum, whose negative ids arrive with the number of segments subtracted. A gather from
// ops::take_known is "vocabulary of …".
std::string indexing_name(const KernelSpec& spec);

// Throws OutOfRange: an index of a take, or of a similar op with the given name, is invalid for the
// axis. Throws InvalidArgument for a token that isn't in a vocabulary.
[[noreturn]] void refuse_index(const std::string& op, const std::string& index, int64_t axis,
                               const Shape& shape);

// Throws OutOfRange: a segment id of a segment_reduce isn't one of the `segments`.
[[noreturn]] void refuse_segment(int64_t id, int64_t segments);

}  // namespace cornu
