// SPDX-License-Identifier: Apache-2.0
// Operations by index. Indices are integers; negative ones count from the end of the axis. An index
// that the axis doesn't have throws OutOfRange, naming it, when the op runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Takes slices of x along `axis`: shape x.shape[:axis] + indices.shape + x.shape[axis+1:]. Without
// an axis, takes elements of the flattened x.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});

// Takes the elements of a lookup table (size) at `places`, int64. Unknown tokens are passed as
// themselves, moved away from 0 by the table's size: throws InvalidArgument when the op runs,
// naming `owner` and the first of them.
Tensor take_known(const Tensor& table, const Tensor& places, const std::string& owner);

// out[..., i, ...] = x[..., indices[..., i, ...], ...]; ranks must be equal, and axes other than
// `axis` broadcast. Without an axis, flattens x and the indices.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});

// Adds an axis of num_classes with 1 at the index and 0 elsewhere (all 0 for invalid indices).
// Floats are truncated to integers.
Tensor one_hot(const Tensor& x, int64_t num_classes, int64_t axis = -1,
               DTypeLike dtype = DType::Float32);

// For each s in [0, num_segments), sums the slices data[i] with segment_ids[i] = s. Ids don't count
// from the end.
Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);

// predictions (batch, classes), targets (batch) -> bool (batch): whether the target's prediction is
// among the k largest. Ties count as in. False for a target that isn't a class, and for a row with
// a non-finite prediction.
Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k);

}  // namespace cornu::ops
