// SPDX-License-Identifier: Apache-2.0
// Tensors as part of a callback's saved state.
#pragma once

#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"

namespace cornu::callbacks {

// A list of {"shape", "dtype", "data"}, where data is the elements' bytes in base64.
Json tensors_to_json(const std::vector<Tensor>& tensors);
// DataLoss when the data isn't base64 or hasn't the bytes of that shape and dtype.
std::vector<Tensor> tensors_from_json(const Json& json);

}  // namespace cornu::callbacks
