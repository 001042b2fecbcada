// SPDX-License-Identifier: Apache-2.0
// A student model that learns from a teacher (keras.distillation.Distiller).
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/metrics/metrics.h"
#include "framework/train/distillation_loss.h"

namespace cornu::distillation {

struct DistillerOptions {
  std::vector<DistillationLoss> distillation_losses = {};  // at least one
  std::vector<double> distillation_loss_weights = {};      // one each; empty: all 1
  double student_loss_weight = 0.5;  // of the compiled loss, in [0, 1]; the others get the rest
  std::string name = "distiller";
};

// Trains `student` on its own loss, which is passed to compile, and on the outputs of `teacher` for
// the same inputs:
//
//   distillation::Distiller distiller(
//       teacher, student,
//       {.distillation_losses = {distillation::LogitsDistillation({.temperature = 4.0})}});
//   distiller.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
//   distiller.fit(x, y);
//   student.save("student.keras");
//
// The loss is student_loss_weight times the student's loss, plus (1 - student_loss_weight) times
// the weighted sum of the distillation losses; "student_loss", "distillation_loss" and "total_loss"
// are logged. As in Keras, it includes neither losses added by add_loss nor weight penalties. The
// teacher runs in inference mode and isn't trained: its `trainable` is set to false. When layers of
// the student are compared by name, the student is run a second time. Calls and predict use the
// student.
//
// load_model, applied to a file saved from a Distiller here or by Keras, returns a Distiller that
// can continue training. Keras's files don't contain the student's own loss, so it must be compiled
// again. load_model returns it as a Model; get_layer finds "teacher" and "student" by their names.
//
// Throws InvalidArgument when weights are out of range or their number differs from that of the
// losses, without a distillation loss, and for functional models whose inputs or outputs differ in
// shape or dtype.
class Distiller : public Model {
 public:
  Distiller(const Model& teacher, const Model& student, const DistillerOptions& options);

  const Model& teacher() const { return teacher_; }
  const Model& student() const { return student_; }

  std::string class_name() const override { return "Distiller"; }
  Json module() const override { return "keras.distillation"; }
  // Throws InvalidArgument for a distillation loss given as a function, which can't be saved.
  Json get_config() const override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  NamedValues<Tensor> train_step(const Batch& data) override;
  // Throws FailedPrecondition if student_loss_weight isn't 0 and no loss was passed to compile.
  Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                      const Tensors& sample_weight) override;

 private:
  // A model's final outputs and the outputs of some of its layers, computed together.
  struct Taps {
    Model model;
    size_t finals = 0;  // 0: the original model, without taps
    // For each layer, the index of its first output and the number of its outputs.
    std::map<std::string, std::pair<size_t, size_t>> layers = {};
  };
  static Taps taps_of(const Model& model, const std::vector<std::string>& layers);
  // Keyed by layer name; "": the final outputs.
  static std::map<std::string, Tensors> outputs_of(Taps& taps, const Tensors& x, bool training);
  Tensor distillation_loss(const Tensors& x, const Tensors& y_pred);

  Model teacher_;
  Model student_;
  std::vector<DistillationLoss> losses_;
  std::vector<double> weights_;
  double student_weight_;
  Taps teacher_taps_;
  Taps student_taps_;
  metrics::Mean student_loss_;
  metrics::Mean distillation_loss_;
  metrics::Mean total_loss_;
};

// Recreates a Distiller from its get_config(), with newly initialized weights.
LayerHandle distiller_from_config(const Json& config);

}  // namespace cornu::distillation
