// SPDX-License-Identifier: Apache-2.0
// Placeholders, the start of functional models.
#pragma once

#include <optional>
#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// Arguments of Input, in Keras's order.
struct InputOptions {
  OptionalShape shape = {};                // of one example; Shape() of one number ({}: None)
  std::optional<int64_t> batch_size = {};  // None: unknown
  std::optional<DTypeLike> dtype = {};     // None: float32, or the tensor's
  OptionalShape batch_shape = {};          // instead of the two above
  std::string name = {};
  Tensor tensor = {};  // a placeholder whose shape and dtype are taken; all others may be left out
};

// A placeholder of shape (batch_size, *shape). Layers called on it record a functional graph.
// InvalidArgument for options that contradict each other, and for a tensor that is no placeholder.
//
// In Keras `tensor` itself becomes the input, also of what was computed of it before. Here it stays
// what it is: a model lies between what Input returns and what is computed of that.
Tensor Input(const InputOptions& options);

// True for a placeholder made by Input or by a layer called on one.
bool is_placeholder(const Tensor& tensor);

}  // namespace cornu
