// SPDX-License-Identifier: Apache-2.0
// Constant values in configs, in Keras's format.
#pragma once

#include "framework/core/json.h"
#include "framework/core/tensor.h"

namespace cornu {

// A scalar is written as a plain value, other tensors as {"class_name": "__tensor__", "config":
// {"value", "dtype"}}, with their "shape" if they have no elements and "value" doesn't show it.
Json serialize_constant(const Tensor& tensor);

bool is_constant(const Json& json);  // true for the "__tensor__" form and for "__numpy__"
Tensor parse_constant(const Json& json);

// Converts a number, bool or nested list of them to a tensor with the dtype that Keras would
// choose: int32, float32 or bool.
Tensor literal_tensor(const Json& json);

}  // namespace cornu
