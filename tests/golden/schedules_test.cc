// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/train/optimizer.h"
#include "tests/golden/golden.h"

using namespace cornu;

TEST_CASE("schedules have Keras's rates, eagerly and compiled") {
  for (const Json& item : test::golden_cases("schedules").as_array()) {
    CAPTURE(item.at("name").as_string());
    LearningRate schedule = 0.0;
    set_from_config(item.at("object"), schedule);
    const Function compiled = function([&](const Tensor& step) { return schedule(step); });
    const auto& steps = item.at("steps").as_array();
    for (size_t i = 0; i < steps.size(); ++i) {
      CAPTURE(steps[i].as_int());
      const Tensor step = Tensor::scalar(steps[i].as_int());
      const double expected = item.at("learning_rates")[i].as_double();
      // Near the end of a cosine schedule, one minus a number close to one: absolute errors of
      // float32.
      CHECK(std::abs(schedule(step).item<double>() - expected) <= 2e-6 * std::abs(expected) + 2e-8);
      CHECK(std::abs(compiled(step).single().item<double>() - expected) <=
            2e-6 * std::abs(expected) + 2e-8);
    }
  }
}

TEST_CASE("schedules are serialized as Keras does") {
  for (const Json& item : test::golden_cases("schedules").as_array()) {
    CAPTURE(item.at("name").as_string());
    LearningRate schedule = 0.0;
    set_from_config(item.at("object"), schedule);
    CHECK(test::difference(config_value(schedule), item.at("object")) == "");
  }
}
