// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/train/optimizer.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

// Twenty steps in float32, with rounding in a different order.
constexpr test::Tolerance kClose = {.relative = 1e-6, .absolute = 2e-7};

// The same, amplified by five iterations of matrix products in each step.
constexpr test::Tolerance kOfMatrices = {.relative = 1e-5, .absolute = 2e-6};

test::Tolerance tolerance_of(const Json& item) {
  return item.at("object").at("class_name").as_string() == "Muon" ? kOfMatrices : kClose;
}

std::vector<Variable> make_variables(const Json& list) {
  std::vector<Variable> variables;
  for (const Json& variable : list.as_array()) {
    variables.emplace_back(golden_tensor(variable),
                           VariableOptions{.name = variable.at("name").as_string()});
  }
  return variables;
}

void check_optimizer_variables(const Optimizer& optimizer, const Json& item) {
  const Json& expected = item.at("optimizer_variables");
  const std::vector<Variable> variables = optimizer.variables();
  REQUIRE(variables.size() == expected.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    CAPTURE(variables[i].path());
    CHECK(variables[i].path() == expected[i].at("path").as_string());
    CHECK(variables[i].name() == expected[i].at("name").as_string());
    CHECK(difference(variables[i].value(), expected[i], tolerance_of(item)) == "");
  }
}

void run(const Json& item, bool eager) {
  const Optimizer optimizer = optimizer_from_json(item.at("object"));
  if (const Json* exclusions = item.find("exclude_from_weight_decay")) {
    WeightDecayExclusions names;
    for (const Json& name : exclusions->at("var_names").as_array()) {
      names.var_names.push_back(name.as_string());
    }
    optimizer.impl().exclude_from_weight_decay(names);
  }
  const std::vector<Variable> variables = make_variables(item.at("variables"));
  optimizer.impl().build(variables);
  const Function step = function(
      [&](const std::vector<Tensor>& values) {
        optimizer.apply_gradients(values, variables);
        return std::vector<Tensor>();
      },
      {.run_eagerly = eager});
  const auto& gradients = item.at("gradients").as_array();
  for (size_t i = 0; i < gradients.size(); ++i) {
    CAPTURE(i);
    if (const Json& rate = item.at("learning_rates")[i]; !rate.is_null()) {
      CHECK(optimizer.learning_rate().item<float>() ==
            doctest::Approx(rate.as_double()).epsilon(2e-6));
    }
    std::vector<Tensor> values;
    for (const Json& gradient : gradients[i].as_array()) values.push_back(golden_tensor(gradient));
    step.call(values);
    for (size_t v = 0; v < variables.size(); ++v) {
      CHECK(difference(variables[v].value(), item.at("trajectory")[i][v], tolerance_of(item)) ==
            "");
    }
  }
  CHECK(optimizer.iterations() == item.at("iterations").as_int());
  check_optimizer_variables(optimizer, item);
  if (!item.contains("finalized")) return;
  optimizer.impl().finalize_variable_values();
  for (size_t v = 0; v < variables.size(); ++v) {
    CHECK(difference(variables[v].value(), item.at("finalized")[v], tolerance_of(item)) == "");
  }
}

}  // namespace

TEST_CASE("optimizers take Keras's steps, eagerly and compiled") {
  for (const Json& item : test::golden_cases("optimizers").as_array()) {
    CAPTURE(item.at("name").as_string());
    run(item, true);
    run(item, false);
  }
}

TEST_CASE("optimizers are serialized as Keras does") {
  for (const Json& item : test::golden_cases("optimizers").as_array()) {
    CAPTURE(item.at("name").as_string());
    CHECK(difference(serialize(optimizer_from_json(item.at("object"))), item.at("object")) == "");
  }
}
