// SPDX-License-Identifier: Apache-2.0
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

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
  std::string class_name() const override { return "tests>Difference"; }
  Json get_config() const override { return Json::object({{"reduces", reduces_}}); }

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

TEST_CASE("a Distiller that was saved goes on where it was") {
  register_serializable("tests>Difference", [](const Json& config) {
    return distillation::make_distillation_loss<Difference>(config.at("reduces").as_bool());
  });
  const test::Scratch scratch;
  const Tensor x = some_values({8, 4}), y = some_values({8, 3});
  Distiller distiller(
      functional("teacher"), functional("student"),
      {.distillation_losses = {LogitsDistillation({.temperature = 2.0, .loss = "mse"}),
                               LogitsDistillation(),
                               FeatureDistillation({.loss = losses::Huber({.delta = 0.5}),
                                                    .teacher_layer_name = "hidden",
                                                    .student_layer_name = "hidden"}),
                               distillation::make_distillation_loss<Difference>(true)},
       .distillation_loss_weights = {1.0, 0.5, 2.0, 0.25},
       .student_loss_weight = 0.25,
       .name = "both"});
  distiller.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  distiller.fit(x, y, {.verbose = 0});
  distiller.save(scratch.path("d.keras"));
  Model loaded = load_model(scratch.path("d.keras"));
  CHECK(loaded.class_name() == "Distiller");
  CHECK(loaded.name() == "both");
  CHECK(loaded.get_config().dump() == distiller.get_config().dump());
  CHECK_FALSE(loaded.get_layer("teacher").trainable());
  const FitOptions options = {.epochs = 2, .verbose = 0, .shuffle = false};
  const History expected = distiller.fit(x, y, options), found = loaded.fit(x, y, options);
  for (const char* name : {"loss", "student_loss", "distillation_loss", "total_loss", "mae"}) {
    CHECK(found.at(name) == expected.at(name));
  }
  const Tensor predicted = loaded.predict(x, {.verbose = 0}),
               wanted = distiller.predict(x, {.verbose = 0});
  CHECK(predicted.to_vector<float>() == wanted.to_vector<float>());

  Distiller with_function(functional("teacher"), functional("student"),
                          {.distillation_losses = {LogitsDistillation(
                               {.loss = [](const Tensor& a, const Tensor&) { return a; }})}});
  with_function.build({2, 4});
  CHECK(error_of([&] { with_function.save(scratch.path("f.keras")); }) ==
        "InvalidArgument: Loss 'loss': a function, or a class without class_name(), can't be "
        "saved. Make it a LossImpl whose class_name() is \"package>Name\", and register that with "
        "loss_registry().add(…).");
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
  CHECK(
      made({.distillation_losses = {FeatureDistillation({.teacher_layer_name = "hiden"})}}) ==
      "NotFound: Functional 'teacher' has no layer named 'hiden'. Did you mean 'hidden'? Known: " +
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
        "Input. Omit 'score' to compare the final outputs.");
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
        "InvalidArgument: Distiller 'distiller': expected a scalar of the tests>Difference, got "
        "shape (8, 3).");
  CHECK(
      fitted({.distillation_losses = {LogitsDistillation({.loss = {"mse", "mse"}})}}, "mse") ==
      "InvalidArgument: Distiller 'distiller': LogitsDistillation: expected a loss for each of its "
      "1 outputs, got 2 of them.");
  CHECK(error_of([] {
          const Tensors outputs = {{"price", ops::ones({1, 2})}};
          LogitsDistillation({.loss = {{"prise", "mse"}}}).compute_loss(outputs, outputs);
        }) ==
        "InvalidArgument: LogitsDistillation: a loss is given for an output 'prise', which it "
        "doesn't have. Did you mean 'price'? Known: price.");
  CHECK(fitted({.distillation_losses = {LogitsDistillation({.loss = {{"p", "mse"}}})}}, "mse") ==
        "InvalidArgument: Distiller 'distiller': LogitsDistillation: its losses go by names of "
        "outputs, but the outputs have none. Give a list of losses, in their order.");
  CHECK(error_of([] {
          LogitsDistillation().compute_loss({{"p", ops::ones({1, 2})}}, {{"q", ops::ones({1, 2})}});
        }) ==
        "InvalidArgument: LogitsDistillation: expected outputs of the student like the teacher's, "
        "in number and names, got 1 (q) for 1 (p).");
}
