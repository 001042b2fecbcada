// SPDX-License-Identifier: Apache-2.0
// The metrics that a Distiller reports, and the student it trains, compared with real Keras.
// golden_distillation.py has the same models.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/golden/golden.h"

namespace cornu {
namespace {

using distillation::FeatureDistillation;
using distillation::LogitsDistillation;
using test::golden_tensor;

Model model(const std::string& name, const std::string& activation, const Json& weights) {
  const Tensor x = Input({.shape = {3}});
  const Tensor hidden =
      layers::Dense({.units = 4, .activation = activation, .name = name + "_hidden"})(x);
  std::vector<Tensor> logits;
  for (size_t i = 0; i < (weights.as_array().size() - 2) / 2; ++i) {
    logits.push_back(layers::Dense({.units = 3, .name = fmt::format("{}_{}", name, i)})(hidden));
  }
  const Tensors outputs =
      logits.size() == 1 ? Tensors(logits[0]) : Tensors{{"p", logits[0]}, {"q", logits[1]}};
  Model result(x, outputs, {.name = name});
  std::vector<Tensor> values;
  for (const Json& value : weights.as_array()) values.push_back(golden_tensor(value));
  result.set_weights(values);
  return result;
}

distillation::DistillerOptions options_of(const std::string& name) {
  const Loss divergence = losses::KLDivergence();
  if (name == "logits") {
    return {.distillation_losses = {LogitsDistillation({.temperature = 4.0, .loss = divergence})}};
  }
  if (name == "logits_mse") {
    return {.distillation_losses = {LogitsDistillation({.loss = "mse"})},
            .student_loss_weight = 0.2};
  }
  if (name == "distillation_alone") {
    return {.distillation_losses = {LogitsDistillation()}, .student_loss_weight = 0.0};
  }
  if (name == "student_alone") {
    return {.distillation_losses = {LogitsDistillation()}, .student_loss_weight = 1.0};
  }
  if (name == "features") {
    return {.distillation_losses = {LogitsDistillation({.temperature = 2.0}),
                                    FeatureDistillation({.loss = "cosine_similarity",
                                                         .teacher_layer_name = "teacher_hidden",
                                                         .student_layer_name = "student_hidden"}),
                                    FeatureDistillation({.loss = "mae"})},
            .distillation_loss_weights = {0.5, 2.0, 0.1}};
  }
  CHECK(name == "several_outputs");
  return {.distillation_losses = {LogitsDistillation({.loss = {{"p", divergence}}})},
          .student_loss_weight = 0.0};
}

}  // namespace

TEST_CASE("a Distiller reports what Keras's does, and leaves its student") {
  const Json cases = test::golden_cases("distillation");
  for (const Json& item : cases.as_array()) {
    const std::string name = item.at("name").as_string();
    CAPTURE(name);
    const Model teacher = model("teacher", "tanh", item.at("teacher"));
    const Model student = model("student", "relu", item.at("student"));
    distillation::Distiller distiller(teacher, student, options_of(name));
    const bool single = item.at("y").as_array().size() == 1;
    const Loss loss = losses::SparseCategoricalCrossentropy({.from_logits = true});
    distiller.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}),
                       .loss = single ? PerOutput<Loss>(loss) : PerOutput<Loss>{},
                       .metrics = single ? MetricsArgument{"accuracy"} : MetricsArgument()});
    const Tensor x = golden_tensor(item.at("x"));
    const Tensors y = single ? Tensors(golden_tensor(item.at("y")[0]))
                             : Tensors{{"p", golden_tensor(item.at("y")[0])},
                                       {"q", golden_tensor(item.at("y")[1])}};
    const History history =
        distiller.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    for (const auto& entry : item.at("history").as_object()) {
      const auto& key = entry.first;
      const auto& expected = entry.second;
      CAPTURE(key);
      for (size_t i = 0; i < 3; ++i) {
        CHECK(history.at(key)[i] == doctest::Approx(expected[i].as_double()).epsilon(1e-4));
      }
    }
    const Logs evaluated = distiller.evaluate(x, y, {.batch_size = 4, .verbose = 0});
    for (const auto& [key, expected] : item.at("evaluated").as_object()) {
      CHECK(evaluated.at(key) == doctest::Approx(expected.as_double()).epsilon(1e-4));
    }
    const std::vector<Tensor> trained = student.get_weights();
    for (size_t i = 0; i < trained.size(); ++i) {
      CHECK(test::difference(trained[i], item.at("trained")[i], {.absolute = 1e-5}) == "");
    }
    CHECK(teacher.trainable_weights().empty());
    CHECK(test::difference(teacher.get_weights()[0], item.at("teacher")[0], {}) == "");
  }
}

}  // namespace cornu
