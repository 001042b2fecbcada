// SPDX-License-Identifier: Apache-2.0
// Losses with which a student model learns from a teacher's outputs (keras.distillation).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "framework/core/handle.h"
#include "framework/core/json.h"
#include "framework/core/registry.h"
#include "framework/train/model.h"

namespace cornu::distillation {

// Base class of distillation losses (keras.distillation.DistillationLoss). Subclasses are created
// with make_distillation_loss<T>(…) and implemented with ops.
class DistillationLossImpl {
 public:
  virtual ~DistillationLossImpl() = default;
  // Returns a scalar computed from the outputs, in the structure returned by a model. With several
  // replicas, it must be this replica's part of the whole batch's loss, as Loss objects return;
  // pass other values through distribute::scale_loss_for_distribution.
  virtual Tensor compute_loss(const Tensors& teacher_outputs,
                              const Tensors& student_outputs) const = 0;
  // The layers whose outputs are compared; "": the models' final outputs.
  virtual std::string teacher_layer_name() const { return ""; }
  virtual std::string student_layer_name() const { return ""; }
  // Called once, by Distiller's constructor. Throws InvalidArgument for unsupported models.
  virtual void validate_model_compatibility(const Model& teacher, const Model& student) const;
  // Called before compute_loss. Throws InvalidArgument unless both models have the same number of
  // outputs, with the same names.
  virtual void validate_outputs(const Tensors& teacher_outputs,
                                const Tensors& student_outputs) const;
  // Used in messages and, as the registered name "package>Name", in files (register_serializable).
  virtual std::string class_name() const { return "DistillationLoss"; }
  // The config from which the registered function recreates the loss.
  virtual Json get_config() const { return Json::object(); }
};

// A cheap handle; LogitsDistillation and FeatureDistillation convert to it.
class DistillationLoss : public Handle<const DistillationLossImpl> {
 public:
  DistillationLoss() = default;
  explicit DistillationLoss(std::shared_ptr<const DistillationLossImpl> impl)
      : Handle(std::move(impl)) {}
  // Throws FailedPrecondition for an empty handle.
  const DistillationLossImpl& impl() const {
    return required("DistillationLoss", "a distillation loss");
  }
  Tensor compute_loss(const Tensors& teacher_outputs, const Tensors& student_outputs) const {
    impl().validate_outputs(teacher_outputs, student_outputs);
    return impl().compute_loss(teacher_outputs, student_outputs);
  }
};

template <class T, class... Args>
DistillationLoss make_distillation_loss(Args&&... args) {
  return DistillationLoss(std::make_shared<const T>(std::forward<Args>(args)...));
}

using DistillationLossFactory = std::function<DistillationLoss(const Json& config)>;
Registry<DistillationLossFactory>& distillation_loss_registry();  // by class name
void register_all(Registry<DistillationLossFactory>& registry);   // its initial contents

// Converts to and from Keras's serialized form:
// {"module", "class_name", "config", "registered_name"}, null for None. Throws InvalidArgument for
// losses given as functions, which can't be saved, and for unregistered classes.
Json serialize(const DistillationLoss& loss);
DistillationLoss distillation_loss_from_json(const Json& json);

struct LogitsDistillationOptions {
  double temperature = 3.0;  // > 0; higher values soften the probabilities
  // One for all outputs, or one each, in order or by name; None (nullptr) excludes an output.
  PerOutput<Loss> loss = "kl_divergence";
};

// Compares the final outputs, which are logits, divided by the temperature (Hinton et al.,
// "Distilling the knowledge in a neural network", 2015). A Kullback-Leibler divergence is computed
// from their softmaxes and multiplied by the square of the temperature; other losses receive the
// logits. The losses of several outputs are added. Throws InvalidArgument unless the temperature is
// positive and there is at least one loss.
class LogitsDistillation : public DistillationLoss {
 public:
  explicit LogitsDistillation(const LogitsDistillationOptions& options = {});
};

struct FeatureDistillationOptions {
  PerOutput<Loss> loss = "mse";         // as for LogitsDistillation
  std::string teacher_layer_name = {};  // "": the final outputs
  std::string student_layer_name = {};
};

// Compares the outputs of a layer of the teacher and a layer of the student. Throws InvalidArgument
// without any loss. When the Distiller is created, throws InvalidArgument if a layer name is given
// for a model that isn't functional or Sequential with a known input, and NotFound for an unknown
// layer.
class FeatureDistillation : public DistillationLoss {
 public:
  explicit FeatureDistillation(const FeatureDistillationOptions& options = {});
};

}  // namespace cornu::distillation
