// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/model/layer_registry.h"

namespace cornu::layers {

// Adds every layer of this folder by Keras's class name.
void register_all(Registry<LayerFactory>& registry);

}  // namespace cornu::layers
