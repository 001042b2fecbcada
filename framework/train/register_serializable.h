// SPDX-License-Identifier: Apache-2.0
// Registers user-defined classes so that they can be loaded from files.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "framework/losses/loss.h"
#include "framework/metrics/metric.h"
#include "framework/model/layer_registry.h"
#include "framework/model/parts.h"
#include "framework/train/distillation_loss.h"
#include "framework/train/optimizer.h"

namespace cornu {
namespace internal {

template <class Made, class... Kinds>
inline constexpr bool kIsOneOf = (std::is_base_of_v<Kinds, Made> || ...);

}  // namespace internal

// Registers a user-defined class under its name in files, "package>Name", which must also be its
// class_name():
//
//   register_serializable("my_package>Scale", [](const Json& config) {
//     return make_layer<Scale>(config.at("factor").as_double(), LayerOptions::from_config(config));
//   });
//
// `from_config` recreates an object from its get_config(). Its return type determines the kind of
// class: a layer (or subclassed model), Loss, Metric, Optimizer, LearningRate (a schedule),
// Initializer, Regularizer, Constraint, Quantizer or DistillationLoss. A function of one tensor is
// registered as an activation itself; a function of two tensors, y_true and y_pred, as a loss and a
// metric. Throws AlreadyExists when the name is taken. Call it before files are loaded, from one
// thread. Reference: keras.saving.register_keras_serializable.
template <class F>
void register_serializable(const std::string& name, F from_config) {
  if constexpr (std::is_invocable_r_v<Tensor, F&, const Tensor&>) {
    activation_registry().add(name, std::move(from_config));
  } else if constexpr (std::is_invocable_r_v<Tensor, F&, const Tensor&, const Tensor&>) {
    if (metric_registry().find(name) == nullptr) {  // otherwise neither is added
      loss_registry().add(name, [from_config](const Json&) { return Loss(from_config); });
    }
    metric_registry().add(name, [from_config](const Json&) { return Metric(from_config); });
  } else {
    static_assert(std::is_invocable_v<F&, const Json&>,
                  "register_serializable: expected a function of a config (const Json&), of a "
                  "tensor (an activation), or of y_true and y_pred (a loss or metric)");
    using Made = std::invoke_result_t<F&, const Json&>;
    if constexpr (std::is_convertible_v<Made, LayerHandle>) {
      layer_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Loss>) {
      loss_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Metric>) {
      metric_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Optimizer>) {
      optimizer_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Initializer, InitializerImpl>) {
      initializer_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Regularizer, RegularizerImpl>) {
      regularizer_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Constraint, ConstraintImpl>) {
      constraint_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, Quantizer, QuantizerImpl>) {
      quantizer_registry().add(name, std::move(from_config));
    } else if constexpr (internal::kIsOneOf<Made, distillation::DistillationLoss>) {
      distillation::distillation_loss_registry().add(name, std::move(from_config));
    } else {
      static_assert(std::is_class_v<Made> && std::is_convertible_v<Made, LearningRate>,
                    "register_serializable: the function must return a layer, Loss, Metric, "
                    "Optimizer, LearningRate, Initializer, Regularizer, Constraint, Quantizer "
                    "or DistillationLoss");
      schedule_registry().add(name, std::move(from_config));
    }
  }
}

}  // namespace cornu
