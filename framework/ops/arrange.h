// SPDX-License-Identifier: Apache-2.0
// More ways to put tensors together, take them apart and turn them round (keras.ops.numpy).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/ops/arguments.h"

namespace cornu::ops {

// Elements moved `shift` places towards the end of `axis`, the last ones to its beginning; several
// axes take one shift each, or one for all. Without an axis, of the flattened x.
Tensor roll(const Tensor& x, const Axes& shift, const Axes& axis = {});
// The axes in another order, joined and parted, as a pattern says: the names of axes on both sides
// of "->", in parentheses those that one axis consists of, as einops has it. `axes_lengths` has the
// sizes of parts, of which one a group may be left out:
//
//   rearrange(x, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", {{"h1", 2}, {"w1", 2}})
//
// InvalidArgument for patterns and sizes that don't fit.
Tensor rearrange(const Tensor& tensor, std::string_view pattern,
                 const std::map<std::string, int64_t>& axes_lengths = {});

// By k quarter turns from the first axis towards the second.
Tensor rot90(const Tensor& x, int64_t k = 1, std::pair<int64_t, int64_t> axes = {0, 1});
Tensor fliplr(const Tensor& x);  // in reverse order along axis 1
Tensor flipud(const Tensor& x);  // along axis 0
// Axis source[i] goes to destination[i]; the others keep their order.
Tensor moveaxis(const Tensor& x, const std::vector<int64_t>& source,
                const std::vector<int64_t>& destination);

// x2 after x1 along `axis`; without one, both flattened.
Tensor append(const Tensor& x1, const Tensor& x2, std::optional<int64_t> axis = {});
// Along axis 1 (vectors: 0), axis 0 (vectors are rows), axis 2.
Tensor hstack(const std::vector<Tensor>& xs);
Tensor vstack(const std::vector<Tensor>& xs);
Tensor dstack(const std::vector<Tensor>& xs);

// Into `sections` parts, the first ones longer by one where they can't be equal.
std::vector<Tensor> array_split(const Tensor& x, int64_t sections, int64_t axis = 0);
std::vector<Tensor> array_split(const Tensor& x, const std::vector<int64_t>& indices,
                                int64_t axis = 0);
// Along axis 1 (vectors: 0), 0 and 2.
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& x, const std::vector<int64_t>& indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, const std::vector<int64_t>& indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, const std::vector<int64_t>& indices);

// The index into each axis of `shape` that a place in the flattened array has; negative places
// count from the end.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);

// (batch, height, width, channels * block_size^2) -> (batch, height * block_size, width *
// block_size, channels), and back (TensorFlow's order within a block).
Tensor depth_to_space(const Tensor& x, int64_t block_size);
Tensor space_to_depth(const Tensor& x, int64_t block_size);

}  // namespace cornu::ops
