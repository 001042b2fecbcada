// SPDX-License-Identifier: Apache-2.0
// A student model that learns of a teacher (keras.distillation.Distiller).
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
  std::vector<double> distillation_loss_weights = {};      // one each; empty: 1
  double student_loss_weight = 0.5;  // of the compiled loss, 0 to 1; the others have the rest
  std::string name = "distiller";
};

// Trains `student` on its own loss, which compile is given, and on what `teacher` gives for the
// same inputs:
//
//   distillation::Distiller distiller(
//       teacher, student,
//       {.distillation_losses = {distillation::LogitsDistillation({.temperature = 4.0})}});
//   distiller.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
//   distiller.fit(x, y);
//   student.save("student.keras");
//
// The loss is student_loss_weight times the student's, plus (1 - student_loss_weight) times the
// weighted sum of the others; "student_loss", "distillation_loss" and "total_loss" are among the
// logs. What layers add by add_loss, and penalties of weights, aren't in it, as in Keras. The
// teacher runs as in inference, and isn't trained: its `trainable` becomes false. Where layers of
// the student are compared by name, it is run once more for them. A call, and predict, is the
// student's.
//
// load_model of a file of it, or of Keras's, gives the Distiller, which goes on training; Keras's
// say nothing of the student's own loss: compile it anew. It is used as a Model; get_layer finds
// "teacher" and "student" by their names.
//
// InvalidArgument for weights out of range, in another number than the losses, without a
// distillation loss, and for functional models whose inputs or outputs differ in shape or dtype.
class Distiller : public Model {
 public:
  Distiller(const Model& teacher, const Model& student, const DistillerOptions& options);

  const Model& teacher() const { return teacher_; }
  const Model& student() const { return student_; }

  std::string class_name() const override { return "Distiller"; }
  Json module() const override { return "keras.distillation"; }
  // InvalidArgument for a function among the distillation losses, which has no form in files.
  Json get_config() const override;
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  NamedValues<Tensor> train_step(const Batch& data) override;
  // FailedPrecondition where student_loss_weight isn't 0 and compile was given no loss.
  Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                      const Tensors& sample_weight) override;

 private:
  // A model's final outputs, and what some of its layers give, computed together.
  struct Taps {
    Model model;
    size_t finals = 0;  // 0: the model is as it was
    // The first output of each, and how many it has.
    std::map<std::string, std::pair<size_t, size_t>> layers = {};
  };
  static Taps taps_of(const Model& model, const std::vector<std::string>& layers);
  // By the layers' names; "": the final outputs.
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

// The Distiller that get_config() of one tells of, with fresh weights.
LayerHandle distiller_from_config(const Json& config);

}  // namespace cornu::distillation
