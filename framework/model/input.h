// SPDX-License-Identifier: Apache-2.0
// Placeholders, the start of functional models.
#pragma once

#include <optional>
#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// Arguments of Input, in Keras's order.
struct InputOptions {
  OptionalShape shape = {};                // of one example
  std::optional<int64_t> batch_size = {};  // None: unknown
  DTypeLike dtype = DType::Float32;
  OptionalShape batch_shape = {};  // instead of the two above
  std::string name = {};
};

// A placeholder of shape (batch_size, *shape). Layers called on it record a functional graph.
Tensor Input(const InputOptions& options);

// True for a placeholder made by Input or by a layer called on one.
bool is_placeholder(const Tensor& tensor);

}  // namespace cornu
