// SPDX-License-Identifier: Apache-2.0
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/support/layer_conformance.h"

using namespace cornu;
using distillation::Distiller;
using distillation::FeatureDistillation;
using distillation::LogitsDistillation;
using test::error_of;
using test::some_values;

namespace {

Model functional(const std::string& name, int64_t units = 3) {
  const Tensor x = Input({.shape = {4}});
  const Tensor hidden = layers::Dense({.units = 5, .name = "hidden"})(x);
  return Model(x, layers::Dense({.units = units, .name = "score"})(hidden), {.name = name});
}

class Plain : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return score_(x); }

 private:
  layers::Dense score_ = track("score", layers::Dense({.units = 3}));
};

class Difference : public distillation::DistillationLossImpl {
 public:
  explicit Difference(bool reduces) : reduces_(reduces) {}
  Tensor compute_loss(const Tensors& teacher, const Tensors& student) const override {
    const Tensor difference = ops::abs(teacher.single() - student.single());
    return reduces_ ? ops::mean(difference) : difference;
  }
  std::string class_name() const override { return "Difference"; }

 private:
  bool reduces_;
};

}  // namespace

TEST_CASE("a Distiller of classes, with a loss of one's own") {
  Model teacher = *make_layer<Plain>(), student = *make_layer<Plain>();
  Distiller distiller(
      teacher, student,
      {.distillation_losses = {distillation::make_distillation_loss<Difference>(true)},
       .student_loss_weight = 0});
  distiller.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1})});
  const Tensor x = some_values({8, 4});
  const History history = distiller.fit(x, {.epochs = 5, .verbose = 0});
  CHECK(history.at("distillation_loss").back() < history.at("distillation_loss").front());
  CHECK(history.at("loss") == history.at("total_loss"));
  CHECK(distiller.trainable_weights().size() == 2);
  const Tensor predicted = distiller.predict(x, {.verbose = 0}), expected = student(x);
  CHECK(predicted.to_vector<float>() == expected.to_vector<float>());
}

TEST_CASE("a Distiller of models whose outputs have the same names, in any order") {
  const auto model = [](bool turned) {
    const Tensor x = Input({.shape = {4}});
    const Tensor p = layers::Dense({.units = 3})(x), q = layers::Dense({.units = 2})(x);
    return turned ? Model(x, {{"q", q}, {"p", p}}) : Model(x, {{"p", p}, {"q", q}});
  };
  const Model teacher = model(false), student = model(true);
  Distiller distiller(teacher, student,
                      {.distillation_losses = {LogitsDistillation()}, .student_loss_weight = 0});
  distiller.compile({.optimizer = "sgd"});
  CHECK(distiller.train_on_batch(ops::ones({2, 4}), {}).at("distillation_loss") > 0);
}

TEST_CASE("what a Distiller can't be made of") {
  const Model teacher = functional("teacher"), student = functional("student");
  const auto made = [&](const distillation::DistillerOptions& options) {
    return error_of([&] { Distiller(teacher, student, options); });
  };
  CHECK(made({}) ==
        "InvalidArgument: Distiller 'distiller': expected distillation_losses, got none. Give one, "
        "such as LogitsDistillation().");
  CHECK(made({.distillation_losses = {LogitsDistillation()}, .student_loss_weight = 1.5}) ==
        "InvalidArgument: Distiller 'distiller': expected a student_loss_weight from 0 to 1, got "
        "1.5.");
  CHECK(made({.distillation_losses = {LogitsDistillation()},
              .distillation_loss_weights = {1.0, 2.0}}) ==
        "InvalidArgument: Distiller 'distiller': expected a weight for each of 1 "
        "distillation_losses, got 2.");
  CHECK(made({.distillation_losses = {FeatureDistillation({.teacher_layer_name = "hiden"})}}) ==
        "NotFound: Functional 'teacher': it has no layer named 'hiden'. Did you mean 'hidden'? "
        "Known: " +
            teacher.layers()[0].name() + ", hidden, score.");
  CHECK(error_of([&] {
          Distiller(functional("teacher", 2), student,
                    {.distillation_losses = {LogitsDistillation()}});
        }) ==
        "InvalidArgument: Distiller: expected outputs of the student like the teacher's, got "
        "float32 (None, 3) for float32 (None, 2).");
  const Model object = *make_layer<Plain>();
  CHECK(error_of([&] {
          Distiller(
              object, student,
              {.distillation_losses = {FeatureDistillation({.teacher_layer_name = "score"})}});
        }) ==
        "InvalidArgument: FeatureDistillation: the teacher is Plain 'plain_2', of which no layer's "
        "outputs can be had by name: that takes a functional model, or a Sequential one with an "
        "Input. Leave out 'score' to compare the final outputs.");
  CHECK(error_of([] { LogitsDistillation({.temperature = 0}); }) ==
        "InvalidArgument: LogitsDistillation: expected a temperature > 0, got 0.");
  CHECK(error_of([] { FeatureDistillation({.loss = nullptr}); }) ==
        "InvalidArgument: FeatureDistillation: expected a loss for one output at least, got none.");
}

TEST_CASE("what a Distiller can't be trained with") {
  const Model teacher = functional("teacher"), student = functional("student");
  const Tensor x = some_values({8, 4}), y = some_values({8, 3});
  const auto fitted = [&](const distillation::DistillerOptions& options,
                          const PerOutput<Loss>& loss) {
    Distiller distiller(teacher, student, options);
    distiller.compile({.loss = loss});
    return error_of([&] { distiller.fit(x, y, {.verbose = 0}); });
  };
  CHECK(fitted({.distillation_losses = {LogitsDistillation()}}, {}) ==
        "FailedPrecondition: Distiller 'distiller': expected a loss of the student. Give compile "
        "one, or make it with student_loss_weight 0.");
  CHECK(fitted({.distillation_losses = {distillation::make_distillation_loss<Difference>(false)}},
               "mse") ==
        "InvalidArgument: Distiller 'distiller': expected a scalar of the Difference, got shape "
        "(8, 3).");
  CHECK(fitted({.distillation_losses = {LogitsDistillation({.loss = {"mse", "mse"}})}}, "mse") ==
        "InvalidArgument: Distiller 'distiller': LogitsDistillation: expected one loss for each "
        "output (1), got 2. Give one for all, or nullptr for those that aren't compared.");
  CHECK(fitted({.distillation_losses = {LogitsDistillation({.loss = {{"p", "mse"}}})}}, "mse") ==
        "InvalidArgument: Distiller 'distiller': LogitsDistillation: its losses go by names of "
        "outputs, but the outputs have none. Give a list of losses, in their order.");
  CHECK(error_of([] {
          LogitsDistillation().compute_loss({{"p", ops::ones({1, 2})}}, {{"q", ops::ones({1, 2})}});
        }) ==
        "InvalidArgument: LogitsDistillation: expected outputs of the student like the teacher's, "
        "in number and names, got 1 (q) for 1 (p).");
}
