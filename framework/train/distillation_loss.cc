// SPDX-License-Identifier: Apache-2.0
#include "framework/train/distillation_loss.h"

#include <algorithm>
#include <vector>

#include "framework/ops/ops.h"
#include "framework/train/body.h"

namespace cornu::distillation {
namespace {

bool is_kl_divergence(const Loss& loss) { return loss.impl().class_name() == "KLDivergence"; }

// The losses of one kind of distillation, and what they give for each output.
class Losses {
 public:
  Losses(const char* who, PerOutput<Loss> losses) : who_(who), losses_(std::move(losses)) {
    const std::vector<Loss>& list = losses_.list();
    check<InvalidArgument>(
        std::any_of(list.begin(), list.end(), [](const Loss& loss) { return bool(loss); }),
        "{}: expected a loss for one output at least, got none.", who_);
  }

  // Adds `value(loss, teacher's output, student's)` of those outputs that have a loss.
  template <class Value>
  Tensor sum(const Tensors& teacher, const Tensors& student, const Value& value) const {
    Tensor total;
    for (size_t i = 0; i < teacher.size(); ++i) {
      const Loss loss = of_output(teacher, i);
      if (!loss) continue;
      const Tensor& other = teacher.has_names() ? student.at(teacher.names()[i]) : student[i];
      const Tensor part = value(loss.resolve(teacher[i].shape(), other.shape()), teacher[i], other);
      total = total.defined() ? total + part : part;
    }
    return total.defined() ? total : ops::zeros({});
  }

 private:
  Loss of_output(const Tensors& outputs, size_t index) const {
    if (losses_.is_for_all()) return losses_.list()[0];
    if (losses_.has_names()) {
      check<InvalidArgument>(outputs.has_names(),
                             "{}: its losses go by names of outputs, but the outputs have none. "
                             "Give a list of losses, in their order.",
                             who_);
      const auto& names = losses_.names();
      const auto found = std::find(names.begin(), names.end(), outputs.names()[index]);
      return found == names.end() ? Loss()
                                  : losses_.list()[static_cast<size_t>(found - names.begin())];
    }
    check<InvalidArgument>(losses_.list().size() == outputs.size(),
                           "{}: expected one loss for each output ({}), got {}. Give one for all, "
                           "or nullptr for those that aren't compared.",
                           who_, outputs.size(), losses_.list().size());
    return losses_.list()[index];
  }

  const char* who_;
  PerOutput<Loss> losses_;
};

class Logits : public DistillationLossImpl {
 public:
  explicit Logits(const LogitsDistillationOptions& options)
      : temperature_(options.temperature), losses_("LogitsDistillation", options.loss) {
    check<InvalidArgument>(temperature_ > 0,
                           "LogitsDistillation: expected a temperature > 0, got {}.", temperature_);
  }
  std::string class_name() const override { return "LogitsDistillation"; }

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
  check<InvalidArgument>(model.body() && model.body()->graph(),
                         "{}: the {} is {}, of which no layer's outputs can be had by name: that "
                         "takes a functional model, or a Sequential one with an Input. Leave out "
                         "'{}' to compare the final outputs.",
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
      "for "
      "{} ({}).",
      class_name(), student.size(), fmt::join(student.names(), ", "), teacher.size(),
      fmt::join(teacher.names(), ", "));
}

LogitsDistillation::LogitsDistillation(const LogitsDistillationOptions& options)
    : DistillationLoss(std::make_shared<const Logits>(options)) {}

FeatureDistillation::FeatureDistillation(const FeatureDistillationOptions& options)
    : DistillationLoss(std::make_shared<const Features>(options)) {}

}  // namespace cornu::distillation
