// SPDX-License-Identifier: Apache-2.0
// More functions to join, split and rotate tensors (keras.ops.numpy).
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

// Moves elements `shift` positions towards the end of `axis`, wrapping around; several axes take
// one shift each, or one for all. Without an axis, rolls the flattened x.
Tensor roll(const Tensor& x, const Axes& shift, const Axes& axis = {});
// Reorders, merges and splits axes according to an einops-style pattern: names of axes on both
// sides of "->", with the parts of one axis in parentheses. `axes_lengths` gives the sizes of
// parts; one size per group may be omitted:
//
//   rearrange(x, "b (h1 h) (w1 w) c -> (b h1 w1) h w c", {{"h1", 2}, {"w1", 2}})
//
// Throws InvalidArgument for patterns and sizes that don't fit.
Tensor rearrange(const Tensor& tensor, std::string_view pattern,
                 const std::map<std::string, int64_t>& axes_lengths = {});

// Rotates by k quarter turns from the first axis towards the second.
Tensor rot90(const Tensor& x, int64_t k = 1, std::pair<int64_t, int64_t> axes = {0, 1});
Tensor fliplr(const Tensor& x);  // reverses the order along axis 1
Tensor flipud(const Tensor& x);  // along axis 0
// Moves axis source[i] to destination[i]; the other axes keep their order.
Tensor moveaxis(const Tensor& x, const std::vector<int64_t>& source,
                const std::vector<int64_t>& destination);

// Appends x2 to x1 along `axis`; without one, flattens both first.
Tensor append(const Tensor& x1, const Tensor& x2, std::optional<int64_t> axis = {});
// Concatenate along axis 1 (for vectors: 0), axis 0 (vectors are rows), and axis 2.
Tensor hstack(const std::vector<Tensor>& xs);
Tensor vstack(const std::vector<Tensor>& xs);
Tensor dstack(const std::vector<Tensor>& xs);

// Splits into `sections` parts; if they can't be equal, the first ones are longer by one.
std::vector<Tensor> array_split(const Tensor& x, int64_t sections, int64_t axis = 0);
std::vector<Tensor> array_split(const Tensor& x, const std::vector<int64_t>& indices,
                                int64_t axis = 0);
// Split along axis 1 (for vectors: 0), 0 and 2.
std::vector<Tensor> hsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& x, const std::vector<int64_t>& indices);
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& x, const std::vector<int64_t>& indices);
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& x, const std::vector<int64_t>& indices);

// Converts positions in the flattened array to indices into each axis of `shape`; negative
// positions count from the end.
std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape);

// (batch, height, width, channels * block_size^2) -> (batch, height * block_size, width *
// block_size, channels), and the inverse (with TensorFlow's order within a block).
Tensor depth_to_space(const Tensor& x, int64_t block_size);
Tensor space_to_depth(const Tensor& x, int64_t block_size);

}  // namespace cornu::ops
