// SPDX-License-Identifier: Apache-2.0
// The numbers that a step of training or evaluation reports.
#pragma once

#include <string>

#include "framework/callbacks/logs.h"
#include "framework/core/tensors.h"

namespace cornu::internal {

// What a traced step has returned, as float32 scalars in the order of their names. Numbers that may
// differ between replicas are averaged over the replicas that have examples, as Keras averages
// them. `title` names the model in errors: InvalidArgument for a value that isn't one number, and
// for no values.
Tensors step_results(const NamedValues<Tensor>& results, const std::string& title);

}  // namespace cornu::internal
