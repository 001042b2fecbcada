// SPDX-License-Identifier: Apache-2.0
// Placeholders, the starting point of functional models.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// Arguments of Input, in Keras's order.
struct InputOptions {
  OptionalShape shape = {};                // of one example; Shape(): a scalar; {}: None
  std::optional<int64_t> batch_size = {};  // None: unknown
  std::optional<DTypeLike> dtype = {};     // None: float32, or the dtype of `tensor`
  OptionalShape batch_shape = {};          // replaces `shape` and `batch_size`
  std::string name = {};
  Tensor tensor = {};  // a placeholder whose shape and dtype are used; others may be omitted
};

// Returns a placeholder of shape (batch_size, *shape). Layers called on it record a functional
// graph. Throws InvalidArgument for contradictory options and when `tensor` isn't a placeholder.
//
// In Keras, `tensor` itself becomes the input, including for results already computed from it. Here
// `tensor` is unaffected: a model extends from the placeholder returned by Input to results
// computed from it.
Tensor Input(const InputOptions& options);
// Input({28, 28, 1}): a shape alone.
template <std::same_as<Shape> T = Shape>  // as a template, it ranks below options in braces
Tensor Input(const T& shape) {
  return Input(InputOptions{.shape = shape});
}

// Returns true for a placeholder made by Input or by calling a layer on one.
bool is_placeholder(const Tensor& tensor);

}  // namespace cornu
