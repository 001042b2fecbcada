// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/metrics/metrics.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

// Float32 sums of up to ten in a different order; differences of such sums may be 0 on one side.
constexpr test::Tolerance kClose = {.relative = 1e-6, .absolute = 5e-7};
// For 16 bits, where Keras rounds after each step and Cornu only at the end.
constexpr test::Tolerance kHalfClose = {.relative = 2e-3, .absolute = 1e-3};
constexpr test::Tolerance kDoubleClose = {.relative = 1e-9, .absolute = 1e-9};

void check_close(const Tensor& actual, const Json& expected) {
  const DType dtype = actual.dtype();
  const test::Tolerance tolerance = dtype == DType::Float16   ? kHalfClose
                                    : dtype == DType::Float64 ? kDoubleClose
                                                              : kClose;
  CHECK(difference(actual, expected, tolerance) == "");
  CHECK(to_string(dtype) == expected.at("dtype").as_string());
}

void update(const Metric& metric, const std::vector<Tensor>& inputs, bool of_values) {
  const Tensor weight = inputs.back();
  if (of_values) {
    metric.impl().update_values(inputs[0], weight);
  } else {
    metric.update_state(inputs[0], inputs[1], weight);
  }
}

void run(const Json& item, bool compiled) {
  const Metric metric = metric_from_json(item.at("object"));
  for (const Json& step : item.at("updates").as_array()) {
    const bool of_values = step.contains("values");
    std::vector<Tensor> inputs;
    if (of_values) {
      inputs = {golden_tensor(step.at("values"))};
    } else {
      inputs = {golden_tensor(step.at("y_true")), golden_tensor(step.at("y_pred"))};
    }
    const Tensor weight = golden_tensor(step.at("sample_weight"));
    if (compiled) {
      if (weight.defined()) inputs.push_back(weight);
      function([&](const std::vector<Tensor>& xs) -> std::vector<Tensor> {
        std::vector<Tensor> all = xs;
        if (!weight.defined()) all.emplace_back();
        update(metric, all, of_values);
        return {};
      }).call(inputs);
    } else {
      inputs.push_back(weight);
      update(metric, inputs, of_values);
    }
    check_close(metric.result(), step.at("result"));
  }
  const auto& expected = item.at("variables").as_array();
  const std::vector<Variable> variables = metric.variables();
  REQUIRE(variables.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CHECK(variables[i].path() == expected[i].at("path").as_string());
    check_close(variables[i].value(), expected[i]);
  }
  metric.reset_state();
  check_close(metric.result(), item.at("result_after_reset"));
}

}  // namespace

TEST_CASE("metrics have Keras's results after each update, eagerly and compiled") {
  for (const Json& item : test::golden_cases("metrics").as_array()) {
    CAPTURE(item.at("name").as_string());
    run(item, false);
    run(item, true);
  }
}

TEST_CASE("metrics are serialized as Keras does") {
  for (const Json& item : test::golden_cases("metrics").as_array()) {
    CAPTURE(item.at("name").as_string());
    CHECK(difference(serialize(metric_from_json(item.at("object"))), item.at("object")) == "");
  }
}
