// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/model/layer_registry.h"

namespace cornu::layers {

// Registers every layer in this directory under Keras's class name.
void register_all(Registry<LayerFactory>& registry);

}  // namespace cornu::layers
