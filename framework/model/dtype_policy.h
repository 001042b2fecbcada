// SPDX-License-Identifier: Apache-2.0
// The dtype policy of layers that are given none (keras.config).
#pragma once

#include <string>

#include "framework/model/layer.h"

namespace cornu {

// keras.config.set_dtype_policy: what layers and models that are made from now on compute in and
// keep their weights in, unless they are given a dtype: "float32" (as it is at first), "float64",
// "float16", "bfloat16", "mixed_float16" or "mixed_bfloat16". Those that are there keep theirs, and
// those from files have the files'. Of the whole process; any thread may call it. InvalidArgument,
// with the nearest known name, for another one or one whose weights can't be numbers.
//
// Give a model's last layer {.dtype = "float32"}, so that losses of mixed policies are computed
// from float32.
void set_dtype_policy(const std::string& name);
DTypePolicy dtype_policy();

}  // namespace cornu
