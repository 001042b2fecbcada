// SPDX-License-Identifier: Apache-2.0
// The default dtype policy for layers that aren't given one (keras.config).
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu {

// keras.config.set_dtype_policy: sets the compute and weight dtypes of layers and models created
// from now on without an explicit dtype: "float32" (the initial policy), "float64", "float16",
// "bfloat16", "mixed_float16" or "mixed_bfloat16". Existing layers keep their policy, and layers
// loaded from files use the policy in the file. The setting is process-wide and may be changed from
// any thread. Throws InvalidArgument, suggesting the nearest known name, for an unknown policy or
// one whose weights can't hold numbers.
//
// Give a model's last layer {.dtype = "float32"}, so that losses under a mixed policy are computed
// from float32 values.
void set_dtype_policy(const std::string& name);
DTypePolicy dtype_policy();

}  // namespace cornu
