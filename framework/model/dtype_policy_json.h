// SPDX-License-Identifier: Apache-2.0
// Dtype policies in Keras's configs. Internal: included by framework/model's .cc files.
#pragma once

#include <string>

#include "framework/core/json.h"
#include "framework/model/layer.h"

namespace cornu {

// The config's "dtype": Keras's form of a policy.
Json serialize_dtype_policy(const DTypePolicy& policy);
// The name of a policy in a config: that form, or a plain name; "" for None. Throws Unimplemented
// for a map of policies.
std::string dtype_policy_name(const Json& json);

}  // namespace cornu
