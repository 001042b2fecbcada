// SPDX-License-Identifier: Apache-2.0
#include "framework/model/register.h"

namespace cornu {

Registry<InitializerFactory>& initializer_registry() {
  static auto& registry = make_registry<InitializerFactory>("initializer", register_builtins);
  return registry;
}

Registry<RegularizerFactory>& regularizer_registry() {
  static auto& registry = make_registry<RegularizerFactory>("regularizer", register_builtins);
  return registry;
}

Registry<ConstraintFactory>& constraint_registry() {
  static auto& registry = make_registry<ConstraintFactory>("constraint", register_builtins);
  return registry;
}

Registry<QuantizerFactory>& quantizer_registry() {
  static auto& registry = make_registry<QuantizerFactory>("quantizer", register_builtins);
  return registry;
}

Registry<ActivationFunction>& activation_registry() {
  static auto& registry = make_registry<ActivationFunction>("activation", register_builtins);
  return registry;
}

Registry<LayerFactory>& layer_registry() {
  static auto& registry = make_registry<LayerFactory>("layer", register_builtins);
  return registry;
}

}  // namespace cornu
