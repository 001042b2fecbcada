// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/losses/losses.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

// Both sides compute in float32, in a different order and with different approximations of exp and
// log: this allows a few units in the last place, also of terms that cancel in a sum.
constexpr test::Tolerance kClose = {.relative = 1e-6, .absolute = 1e-7};

// For exponentials of numbers up to a hundred, whose last digits become relative errors of the
// gradient.
constexpr test::Tolerance kOfLargeSums = {.relative = 1e-5, .absolute = 1e-6};

// Keras computes in 16 bits where Cornu only rounds the result.
constexpr test::Tolerance kOfHalves = {.relative = 1e-2, .absolute = 1e-3};

test::Tolerance tolerance_of(const Json& item) {
  const Json* dtype = item.at("arguments").find("dtype");
  if (dtype && *dtype == Json("float16")) return kOfHalves;
  const std::string& class_name = item.at("object").at("class_name").as_string();
  return class_name == "CTC" || class_name == "Circle" ? kOfLargeSums : kClose;
}

// Keras's configs omit some arguments; cases have all of them.
Loss with_reduction(const Json& item, const std::string& reduction) {
  const Json& object = item.at("object");
  Json config = object.at("config");
  config.merge(item.at("arguments"));
  config.set("reduction", reduction);
  return loss_registry().at(object.at("class_name").as_string())(config);
}

std::vector<Tensor> value_and_gradient(const Loss& loss, const Tensor& y_true, const Tensor& y_pred,
                                       const Tensor& weight) {
  GradientTape tape;
  tape.watch(y_pred);
  const Tensor value = loss(y_true, y_pred, weight);
  return {value, tape.gradient(value, y_pred)};
}

}  // namespace

TEST_CASE("losses have Keras's values under each reduction and weight") {
  for (const Json& item : test::golden_cases("losses").as_array()) {
    CAPTURE(item.at("name").as_string());
    const Tensor y_true = golden_tensor(item.at("y_true"));
    Tensor y_pred = golden_tensor(item.at("y_pred"));
    if (item.contains("mask")) y_pred = y_pred.with_mask(golden_tensor(item.at("mask")));
    for (const Json& result : item.at("results").as_array()) {
      const Tensor weight = golden_tensor(result.at("sample_weight"));
      CAPTURE(weight.to_string());
      for (const auto& [key, value] : result.at("values").as_object()) {
        const std::string reduction = key;
        CAPTURE(reduction);
        const Loss loss = with_reduction(item, reduction);
        CHECK(difference(loss(y_true, y_pred, weight), value, tolerance_of(item)) == "");
      }
    }
  }
}

TEST_CASE("losses have Keras's gradients, eagerly and compiled") {
  for (const Json& item : test::golden_cases("losses").as_array()) {
    CAPTURE(item.at("name").as_string());
    // Keras's gradient isn't that of its own value here: it counts paths that the value doesn't.
    if (item.at("name").as_string() == "ctc_too_few_steps") continue;
    const Loss loss = with_reduction(item, "sum_over_batch_size");
    const Tensor y_true = golden_tensor(item.at("y_true"));
    const Tensor y_pred = golden_tensor(item.at("y_pred"));
    const Tensor mask = item.contains("mask") ? golden_tensor(item.at("mask")) : Tensor();
    for (const Json& result : item.at("results").as_array()) {
      const Tensor weight = golden_tensor(result.at("sample_weight"));
      for (const bool eager : {true, false}) {
        CAPTURE(eager);
        const Function run = function(
            [&](const Tensor& truth, const Tensor& pred) {
              return value_and_gradient(loss, truth, mask.defined() ? pred.with_mask(mask) : pred,
                                        weight);
            },
            {.run_eagerly = eager});
        const std::vector<Tensor> values = run.call({y_true, y_pred});
        CHECK(difference(values[0], result.at("values").at("sum_over_batch_size"),
                         tolerance_of(item)) == "");
        CHECK(difference(values[1], result.at("gradient"), tolerance_of(item)) == "");
      }
    }
  }
}

TEST_CASE("losses are serialized as Keras does") {
  for (const Json& item : test::golden_cases("losses").as_array()) {
    CAPTURE(item.at("name").as_string());
    const Json& object = item.at("object");
    const std::string& class_name = object.at("class_name").as_string();
    // Keras's configs of these classes lose their options.
    if (class_name == "Huber" || class_name == "CosineSimilarity") continue;
    CHECK(difference(serialize(loss_from_json(object)), object) == "");
  }
}
