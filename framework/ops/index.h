// SPDX-License-Identifier: Apache-2.0
// Operations by index. Indices are integers; negative ones count from the end of the axis. One that
// the axis doesn't have is OutOfRange when the op runs, naming it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "framework/core/tensor.h"

namespace cornu::ops {

// Slices of x along `axis`: shape x.shape[:axis] + indices.shape + x.shape[axis+1:]. Without an
// axis, elements of the flattened x.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});

// The elements of a lookup table (size) at `places`, int64, which tokens that it lacks take as
// themselves, moved away from 0 by its size: InvalidArgument when the op runs, naming `owner` and
// the first of them.
Tensor take_known(const Tensor& table, const Tensor& places, const std::string& owner);

// out[..., i, ...] = x[..., indices[..., i, ...], ...]; ranks are equal, other axes than `axis`
// broadcast. Without an axis, of the flattened x, for flattened indices.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<int64_t> axis = {});

// A new axis of num_classes with 1 at the index, 0 elsewhere (everywhere for others). Floats count
// as the integers they are cut to.
Tensor one_hot(const Tensor& x, int64_t num_classes, int64_t axis = -1,
               DTypeLike dtype = DType::Float32);

// Sums of the slices data[i] with segment_ids[i] = s, for s in [0, num_segments). Ids don't count
// from the end.
Tensor segment_sum(const Tensor& data, const Tensor& segment_ids, int64_t num_segments);

// predictions (batch, classes), targets (batch) -> bool (batch): is the target's prediction among
// the k largest? Ties count as in. False for a target that is no class, and for a row with a
// prediction that isn't finite.
Tensor in_top_k(const Tensor& targets, const Tensor& predictions, int64_t k);

}  // namespace cornu::ops
