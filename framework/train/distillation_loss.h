// SPDX-License-Identifier: Apache-2.0
// What a student model learns of a teacher's outputs (keras.distillation).
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

// One's own derives from this (keras.distillation.DistillationLoss), and is made with
// make_distillation_loss<T>(…). Written in ops.
class DistillationLossImpl {
 public:
  virtual ~DistillationLossImpl() = default;
  // A scalar, of outputs as one model gives them. In a step of several replicas, this one's part of
  // the whole batch's loss, as Loss objects give it: another value goes through
  // distribute::scale_loss_for_distribution.
  virtual Tensor compute_loss(const Tensors& teacher_outputs,
                              const Tensors& student_outputs) const = 0;
  // The layers whose outputs are compared; "": the models' own outputs.
  virtual std::string teacher_layer_name() const { return ""; }
  virtual std::string student_layer_name() const { return ""; }
  // Called once, by Distiller's constructor: InvalidArgument for models that it isn't for.
  virtual void validate_model_compatibility(const Model& teacher, const Model& student) const;
  // Before compute_loss. InvalidArgument unless both have as many outputs, of the same names.
  virtual void validate_outputs(const Tensors& teacher_outputs,
                                const Tensors& student_outputs) const;
  // For messages; and for files, "package>Name" as it is registered (register_serializable).
  virtual std::string class_name() const { return "DistillationLoss"; }
  // What the registered function makes such a loss of.
  virtual Json get_config() const { return Json::object(); }
};

// A cheap handle; LogitsDistillation and FeatureDistillation convert to it.
class DistillationLoss : public Handle<const DistillationLossImpl> {
 public:
  DistillationLoss() = default;
  explicit DistillationLoss(std::shared_ptr<const DistillationLossImpl> impl)
      : Handle(std::move(impl)) {}
  // FailedPrecondition for an empty handle.
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
void register_all(Registry<DistillationLossFactory>& registry);   // what it holds at first

// Keras's serialized form: {"module", "class_name", "config", "registered_name"}, null for None;
// and back. InvalidArgument for functions among its losses, which have no form in files, and for
// classes that aren't registered.
Json serialize(const DistillationLoss& loss);
DistillationLoss distillation_loss_from_json(const Json& json);

struct LogitsDistillationOptions {
  double temperature = 3.0;  // > 0: of softer probabilities the higher it is
  // For all outputs, or one each, in order or by name; None (nullptr) for one that isn't compared.
  PerOutput<Loss> loss = "kl_divergence";
};

// The final outputs, logits, divided by the temperature (Hinton et al., "Distilling the knowledge
// in a neural network", 2015). A Kullback-Leibler divergence is that of their softmaxes, times the
// square of the temperature; other losses take the logits. Several outputs' are added.
// InvalidArgument for a temperature of 0 or less, and without any loss.
class LogitsDistillation : public DistillationLoss {
 public:
  explicit LogitsDistillation(const LogitsDistillationOptions& options = {});
};

struct FeatureDistillationOptions {
  PerOutput<Loss> loss = "mse";         // as of LogitsDistillation
  std::string teacher_layer_name = {};  // "": the final outputs
  std::string student_layer_name = {};
};

// What a layer of the teacher gives, and one of the student. InvalidArgument without any loss, and,
// when the Distiller is made, for names of layers where a model isn't functional or Sequential with
// a known input; NotFound for layers that it hasn't.
class FeatureDistillation : public DistillationLoss {
 public:
  explicit FeatureDistillation(const FeatureDistillationOptions& options = {});
};

}  // namespace cornu::distillation
