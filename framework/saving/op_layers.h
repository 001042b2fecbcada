// SPDX-License-Identifier: Apache-2.0
// Ops in the configs of functional models (`x * 2 + 1`), as Keras writes them.
#pragma once

#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/functional.h"

namespace cornu {

// {"module", "class_name", "config", "registered_name"} of an op. Unimplemented, naming the op, for
// one that isn't saved as one of Keras's.
Json serialize_op(const OpLayer& layer);
// What Keras's call of it is given, of the operands.
Json::Array op_arguments(const OpLayer& layer, Json::Array operands);

// The ops that are read, by Keras's class names.
std::vector<std::string> keras_op_names();

}  // namespace cornu
