// SPDX-License-Identifier: Apache-2.0
// Registers the built-in initializers, regularizers, constraints, quantizers and activations by
// name.
#pragma once

#include "framework/model/layer_registry.h"
#include "framework/model/parts.h"

namespace cornu {

// Defined by framework/registration.
void register_builtins(Registry<InitializerFactory>& registry);
void register_builtins(Registry<RegularizerFactory>& registry);
void register_builtins(Registry<ConstraintFactory>& registry);
void register_builtins(Registry<QuantizerFactory>& registry);
void register_builtins(Registry<ActivationFunction>& registry);
void register_builtins(Registry<LayerFactory>& registry);

namespace initializers {
void register_all(Registry<InitializerFactory>& registry);
void register_stft(Registry<InitializerFactory>& registry);
}  // namespace initializers
namespace regularizers {
void register_all(Registry<RegularizerFactory>& registry);
}
namespace constraints {
void register_all(Registry<ConstraintFactory>& registry);
}
namespace quantizers {
void register_all(Registry<QuantizerFactory>& registry);
}
namespace activations {
void register_all(Registry<ActivationFunction>& registry);
}

}  // namespace cornu
