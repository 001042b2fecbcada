// SPDX-License-Identifier: Apache-2.0
#include "framework/train/distillation_loss.h"

#include <algorithm>
#include <vector>

#include "framework/model/registration_advice.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"
#include "framework/train/body.h"
#include "framework/train/per_output.h"

namespace cornu::distillation {
namespace {

bool is_kl_divergence(const Loss& loss) { return loss.impl().class_name() == "KLDivergence"; }

// The losses of one kind of distillation, and their values for each output.
class Losses {
 public:
  Losses(const char* who, PerOutput<Loss> losses) : who_(who), losses_(std::move(losses)) {
    const std::vector<Loss>& list = losses_.list();
    check<InvalidArgument>(
        std::any_of(list.begin(), list.end(), [](const Loss& loss) { return bool(loss); }),
        "{}: expected a loss for one output at least, got none.", who_);
  }

  // Sums `value(loss, teacher's output, student's output)` over the outputs that have a loss.
  template <class Value>
  Tensor sum(const Tensors& teacher, const Tensors& student, const Value& value) const {
    check<InvalidArgument>(!losses_.has_names() || teacher.has_names(),
                           "{}: its losses go by names of outputs, but the outputs have none. "
                           "Give a list of losses, in their order.",
                           who_);
    std::vector<std::string> outputs = teacher.names();
    outputs.resize(teacher.size());
    const std::vector<Loss> losses = by_output(who_, "a loss", losses_, outputs, Loss());
    Tensor total;
    for (size_t i = 0; i < teacher.size(); ++i) {
      if (!losses[i]) continue;
      const Tensor& other = teacher.has_names() ? student.at(outputs[i]) : student[i];
      const Loss loss = losses[i].resolve(teacher[i].shape(), other.shape());
      const Tensor part = value(loss, teacher[i], other);
      total = total.defined() ? total + part : part;
    }
    return total.defined() ? total : ops::zeros({});
  }

  // Losses are written as classes, even those given by name: for a name, Keras uses the function,
  // to which its LogitsDistillation passes logits instead of probabilities.
  Json config() const {
    return per_output_to_json(losses_, [](const Loss& loss) {
      return serialize(loss && !loss.needs_resolving() ? Loss(loss.shared()) : loss);
    });
  }

 private:
  const char* who_;
  PerOutput<Loss> losses_;
};

// Reads the losses from a config; leaves `losses` unchanged if it has none.
void read_losses(const Json& config, PerOutput<Loss>& losses) {
  if (const Json* given = config.find("loss")) {
    losses = per_output_from_json<Loss>(given, loss_from_json);
  }
}

class Logits : public DistillationLossImpl {
 public:
  explicit Logits(const LogitsDistillationOptions& options)
      : temperature_(options.temperature), losses_("LogitsDistillation", options.loss) {
    check<InvalidArgument>(temperature_ > 0,
                           "LogitsDistillation: expected a temperature > 0, got {}.", temperature_);
  }
  std::string class_name() const override { return "LogitsDistillation"; }
  Json get_config() const override {
    return Json::object({{"temperature", temperature_}, {"loss", losses_.config()}});
  }

  Tensor compute_loss(const Tensors& teacher, const Tensors& student) const override {
    return losses_.sum(teacher, student,
                       [&](const Loss& loss, const Tensor& of_teacher, const Tensor& of_student) {
                         const Tensor a = of_teacher / temperature_, b = of_student / temperature_;
                         if (!is_kl_divergence(loss)) return ops::mean(loss(a, b));
                         return ops::mean(loss(ops::softmax(a), ops::softmax(b))) *
                                (temperature_ * temperature_);
                       });
  }

 private:
  double temperature_;
  Losses losses_;
};

class Features : public DistillationLossImpl {
 public:
  explicit Features(const FeatureDistillationOptions& options)
      : losses_("FeatureDistillation", options.loss),
        teacher_layer_(options.teacher_layer_name),
        student_layer_(options.student_layer_name) {}
  std::string class_name() const override { return "FeatureDistillation"; }
  Json get_config() const override {
    const auto name_or_none = [](const std::string& name) {
      return name.empty() ? Json(nullptr) : Json(name);
    };
    return Json::object({{"loss", losses_.config()},
                         {"teacher_layer_name", name_or_none(teacher_layer_)},
                         {"student_layer_name", name_or_none(student_layer_)}});
  }
  std::string teacher_layer_name() const override { return teacher_layer_; }
  std::string student_layer_name() const override { return student_layer_; }

  Tensor compute_loss(const Tensors& teacher, const Tensors& student) const override {
    return losses_.sum(teacher, student, [](const Loss& loss, const Tensor& a, const Tensor& b) {
      return ops::mean(loss(a, b));
    });
  }

 private:
  Losses losses_;
  std::string teacher_layer_;
  std::string student_layer_;
};

void require_layer(const std::string& who, const char* what, const Model& model,
                   const std::string& layer) {
  if (layer.empty()) return;
  check<InvalidArgument>(
      model.body() && model.body()->graph(),
      "{}: the {} is {}, of which no layer's outputs can be had by name: that takes a functional "
      "model, or a Sequential one with an Input. Omit '{}' to compare the final outputs.",
      who, what, title_of(model), layer);
  model.get_layer(layer);
}

}  // namespace

void DistillationLossImpl::validate_model_compatibility(const Model& teacher,
                                                        const Model& student) const {
  require_layer(class_name(), "teacher", teacher, teacher_layer_name());
  require_layer(class_name(), "student", student, student_layer_name());
}

void DistillationLossImpl::validate_outputs(const Tensors& teacher, const Tensors& student) const {
  const auto sorted = [](std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    return names;
  };
  check<InvalidArgument>(
      teacher.size() == student.size() && sorted(teacher.names()) == sorted(student.names()),
      "{}: expected outputs of the student like the teacher's, in number and names, got {} ({}) "
      "for {} ({}).",
      class_name(), student.size(), fmt::join(student.names(), ", "), teacher.size(),
      fmt::join(teacher.names(), ", "));
}

LogitsDistillation::LogitsDistillation(const LogitsDistillationOptions& options)
    : DistillationLoss(std::make_shared<const Logits>(options)) {}

FeatureDistillation::FeatureDistillation(const FeatureDistillationOptions& options)
    : DistillationLoss(std::make_shared<const Features>(options)) {}

Registry<DistillationLossFactory>& distillation_loss_registry() {
  static auto& registry = make_registry<DistillationLossFactory>("distillation loss", register_all);
  return registry;
}

void register_all(Registry<DistillationLossFactory>& registry) {
  registry.add("LogitsDistillation", [](const Json& config) -> DistillationLoss {
    LogitsDistillationOptions options;
    ConfigReader reader(config);
    reader("temperature", options.temperature);
    read_losses(config, options.loss);
    return LogitsDistillation(options);
  });
  registry.add("FeatureDistillation", [](const Json& config) -> DistillationLoss {
    FeatureDistillationOptions options;
    read_losses(config, options.loss);
    ConfigReader reader(config);
    reader("teacher_layer_name", options.teacher_layer_name);
    reader("student_layer_name", options.student_layer_name);
    return FeatureDistillation(options);
  });
}

Json serialize(const DistillationLoss& loss) {
  if (!loss) return nullptr;
  return serialized_form("keras.distillation", loss.impl().class_name(), loss.impl().get_config());
}

DistillationLoss distillation_loss_from_json(const Json& json) {
  return make_from_file(distillation_loss_registry(), json);
}

}  // namespace cornu::distillation
