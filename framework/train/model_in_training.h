// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "framework/callbacks/trained_model.h"

namespace cornu {

// `model` as callbacks see it; it has to outlive what is returned.
std::shared_ptr<TrainedModel> in_training(Model& model);

}  // namespace cornu
