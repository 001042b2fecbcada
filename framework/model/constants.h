// SPDX-License-Identifier: Apache-2.0
// Values in configs, as Keras writes them.
#pragma once

#include "framework/core/json.h"
#include "framework/core/tensor.h"

namespace cornu {

// A scalar as itself, others as {"class_name": "__tensor__", "config": {"value", "dtype"}}.
Json serialize_constant(const Tensor& tensor);

bool is_constant(const Json& json);  // of the latter form, or of "__numpy__"
Tensor parse_constant(const Json& json);

// A number, bool or nested list of them, as Keras makes a tensor of it: int32, float32 or bool.
Tensor literal_tensor(const Json& json);

}  // namespace cornu
