// SPDX-License-Identifier: Apache-2.0
// Ops in the configs of functional models (`x * 2 + 1`), in Keras's form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/functional.h"

namespace cornu {

// Returns an op's {"module", "class_name", "config", "registered_name"}. Throws Unimplemented,
// naming the op, if it can't be saved as one of Keras's.
Json serialize_op(const OpLayer& layer);
// Returns the arguments of Keras's call of the op, given its operands.
Json::Array op_arguments(const OpLayer& layer, Json::Array operands);

// The supported ops, by Keras's class names.
std::vector<std::string> keras_op_names();
// The module of one of them: "keras.src.ops.nn".
std::string module_of_keras_op(std::string_view class_name);

}  // namespace cornu
