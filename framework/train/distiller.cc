// SPDX-License-Identifier: Apache-2.0
#include "framework/train/distiller.h"

#include <algorithm>

#include "framework/model/serialized.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"
#include "framework/train/body.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu::distillation {
namespace {

// Whether compute_loss is being called by train_step on this thread.
thread_local bool is_training = false;

class [[nodiscard]] TrainingHere {
 public:
  TrainingHere() : before_(std::exchange(is_training, true)) {}
  ~TrainingHere() { is_training = before_; }
  TrainingHere(const TrainingHere&) = delete;
  TrainingHere& operator=(const TrainingHere&) = delete;

 private:
  bool before_;
};

bool are_compatible(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    const int64_t p = a.shape()[i], q = b.shape()[i];
    if (p != q && p != kUnknown && q != kUnknown) return false;
  }
  return true;
}

std::string types_of(const Tensors& tensors) {
  std::vector<std::string> types;
  for (const Tensor& tensor : tensors) {
    types.push_back(fmt::format("{} {}", tensor.dtype(), tensor.shape()));
  }
  return fmt::format("{}", fmt::join(types, ", "));
}

// Compared in order, or by names if both have names.
bool are_alike(const Tensors& teacher, const Tensors& student) {
  if (teacher.size() != student.size()) return false;
  const auto& names = student.names();
  for (size_t i = 0; i < teacher.size(); ++i) {
    size_t at = i;
    if (teacher.has_names() && student.has_names()) {
      at = static_cast<size_t>(std::find(names.begin(), names.end(), teacher.names()[i]) -
                               names.begin());
    }
    if (at == student.size() || !are_compatible(teacher[i], student[at])) return false;
  }
  return true;
}

void require_alike(const char* what, const Tensors& teacher, const Tensors& student) {
  const bool alike = are_alike(teacher, student);
  check<InvalidArgument>(alike,
                         "Distiller: expected {} of the student like the teacher's, got {} for {}.",
                         what, types_of(student), types_of(teacher));
}

// Restores the names given to a model's outputs, because names derived from list positions differ
// between models.
Tensors with_given_names(const Model& model, const Tensors& outputs) {
  if (!model.body() || !model.body()->graph()) return outputs;
  return model.outputs().with(outputs.list());
}

std::vector<std::string> without_repeats(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, "");
  return names;
}

}  // namespace

Distiller::Distiller(const Model& teacher, const Model& student, const DistillerOptions& options)
    : Model(ModelOptions{.name = options.name}),
      teacher_(teacher),
      student_(student),
      losses_(options.distillation_losses),
      weights_(options.distillation_loss_weights),
      student_weight_(options.student_loss_weight),
      student_loss_(metrics::Mean({.name = "student_loss"})),
      distillation_loss_(metrics::Mean({.name = "distillation_loss"})),
      total_loss_(metrics::Mean({.name = "total_loss"})) {
  check<InvalidArgument>(student_weight_ >= 0 && student_weight_ <= 1,
                         "Distiller '{}': expected a student_loss_weight from 0 to 1, got {}.",
                         name(), student_weight_);
  check<InvalidArgument>(
      !losses_.empty(),
      "Distiller '{}': expected distillation_losses, got none. Give one, such as "
      "LogitsDistillation().",
      name());
  if (weights_.empty()) weights_.assign(losses_.size(), 1.0);
  check<InvalidArgument>(
      weights_.size() == losses_.size(),
      "Distiller '{}': expected a weight for each of {} distillation_losses, got "
      "{}.",
      name(), losses_.size(), weights_.size());
  const bool known =
      teacher_.body() && teacher_.body()->graph() && student_.body() && student_.body()->graph();
  if (known) {
    require_alike("inputs", teacher_.inputs(), student_.inputs());
    require_alike("outputs", teacher_.outputs(), student_.outputs());
  }
  std::vector<std::string> of_teacher, of_student;
  for (const DistillationLoss& loss : losses_) {
    loss.impl().validate_model_compatibility(teacher_, student_);
    of_teacher.push_back(loss.impl().teacher_layer_name());
    of_student.push_back(loss.impl().student_layer_name());
  }
  teacher_taps_ = taps_of(teacher_, without_repeats(std::move(of_teacher)));
  student_taps_ = taps_of(student_, without_repeats(std::move(of_student)));
  teacher_.set_trainable(false);
  track("teacher", teacher_);
  track("student", student_);
  if (teacher_taps_.finals > 0) track("_teacher_feature_extractor", teacher_taps_.model);
  if (student_taps_.finals > 0) track("_student_feature_extractor", student_taps_.model);
  track(student_loss_);
  track(distillation_loss_);
  track(total_loss_);
}

Distiller::Taps Distiller::taps_of(const Model& model, const std::vector<std::string>& layers) {
  if (layers.empty()) return {.model = model};
  const Tensors finals = model.outputs();
  std::vector<Tensor> outputs = finals.list();
  std::map<std::string, std::pair<size_t, size_t>> places;
  for (const std::string& layer : layers) {
    const Tensors of_layer = model.get_layer(layer).output();
    places[layer] = {outputs.size(), of_layer.size()};
    outputs.insert(outputs.end(), of_layer.begin(), of_layer.end());
  }
  return {.model = Model(model.inputs(), Tensors(std::move(outputs)),
                         {.name = model.name() + "_multi_feature_extractor"}),
          .finals = finals.size(),
          .layers = std::move(places)};
}

std::map<std::string, Tensors> Distiller::outputs_of(Taps& taps, const Tensors& x, bool training) {
  const Tensors all = taps.model(x, {.training = training});
  if (taps.finals == 0) return {{"", all}};
  const auto part = [&](size_t begin, size_t count) {
    const auto from = all.begin() + static_cast<int64_t>(begin);
    return Tensors(std::vector<Tensor>(from, from + static_cast<int64_t>(count)));
  };
  std::map<std::string, Tensors> result = {{"", part(0, taps.finals)}};
  for (const auto& [layer, place] : taps.layers) result[layer] = part(place.first, place.second);
  return result;
}

Json Distiller::get_config() const {
  Json config = Model::get_config();
  config.set("teacher", serialize_part(teacher_));
  config.set("student", serialize_part(student_));
  Json::Array losses;
  for (const DistillationLoss& loss : losses_) losses.push_back(serialize(loss));
  config.set("distillation_losses", Json(std::move(losses)));
  config.set("distillation_loss_weights", config_value(weights_));
  config.set("student_loss_weight", student_weight_);
  return config;
}

LayerHandle distiller_from_config(const Json& config) {
  DistillerOptions options;
  for (const Json& loss : config.at("distillation_losses").as_array()) {
    options.distillation_losses.push_back(distillation_loss_from_json(loss));
  }
  ConfigReader reader(config);
  reader("distillation_loss_weights", options.distillation_loss_weights);
  reader("student_loss_weight", options.student_loss_weight);
  reader("name", options.name);
  const auto distiller =
      make_layer<Distiller>(model_from_config(config.at("teacher"), true),
                            model_from_config(config.at("student"), true), options);
  bool trainable = true;
  reader("trainable", trainable);
  if (!trainable) distiller->set_trainable(false);
  return distiller;
}

Tensors Distiller::call_list(const Tensors& inputs, const CallArgs&) { return student_(inputs); }

NamedValues<Tensor> Distiller::train_step(const Batch& data) {
  const TrainingHere here;
  return Model::train_step(data);
}

Tensor Distiller::distillation_loss(const Tensors& x, const Tensors& y_pred) {
  const auto of_teacher = outputs_of(teacher_taps_, x, false);
  auto of_student = student_taps_.finals == 0 ? std::map<std::string, Tensors>()
                                              : outputs_of(student_taps_, x, is_training);
  of_student[""] = y_pred;
  Tensor total;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const DistillationLossImpl& loss = losses_[i].impl();
    Tensors teacher = of_teacher.at(loss.teacher_layer_name());
    Tensors student = of_student.at(loss.student_layer_name());
    if (loss.teacher_layer_name().empty()) teacher = with_given_names(teacher_, teacher);
    if (loss.student_layer_name().empty()) student = with_given_names(student_, student);
    std::vector<Tensor> constant;
    for (const Tensor& output : teacher) constant.push_back(ops::stop_gradient(output));
    const Tensor value = losses_[i].compute_loss(teacher.with(std::move(constant)), student);
    check<InvalidArgument>(value.rank() == 0,
                           "Distiller '{}': expected a scalar of the {}, got shape {}.", name(),
                           loss.class_name(), value.shape());
    const Tensor part = value * weights_[i];
    total = total.defined() ? total + part : part;
  }
  return total;
}

Tensor Distiller::compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                               const Tensors& sample_weight) {
  Tensor student = ops::zeros({});
  if (student_weight_ > 0 && !y.empty()) {
    student = trainer().compiled_loss(*this, y, y_pred, sample_weight);
    check<FailedPrecondition>(
        student.defined(),
        "Distiller '{}': expected a loss of the student. Give compile one, or "
        "make it with student_loss_weight 0.",
        name());
  }
  const Tensor distillation = student_weight_ < 1 ? distillation_loss(x, y_pred) : ops::zeros({});
  const Tensor total = student * student_weight_ + distillation * (1 - student_weight_);
  student_loss_.update_state(distribute::unscale_loss_for_distribution(student));
  distillation_loss_.update_state(distribute::unscale_loss_for_distribution(distillation));
  total_loss_.update_state(distribute::unscale_loss_for_distribution(total));
  return total;
}

}  // namespace cornu::distillation
