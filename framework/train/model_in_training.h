// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "framework/callbacks/trained_model.h"

namespace cornu {

// Returns the view of `model` that callbacks get; `model` must outlive it.
std::shared_ptr<TrainedModel> in_training(Model& model);

}  // namespace cornu
