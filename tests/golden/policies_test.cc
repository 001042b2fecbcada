// SPDX-License-Identifier: Apache-2.0
// Layers under dtype policies compared with real Keras: dtypes of weights and outputs, and their
// values to the precision of the compute dtype.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/model/layer_registry.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;
using cornu::test::golden_tensors;

namespace {

// A few roundings to the dtype: numbers here are of magnitude 1, and Keras rounds after each step,
// while Cornu's kernels may round only their result.
test::Tolerance tolerance_of(DType computed, const LayerHandle& layer) {
  if (computed == DType::Float64) {
    // Keras turns the attention scores into weights in float32.
    const double close = layer.get().class_name() == "MultiHeadAttention" ? 1e-7 : 1e-12;
    return {.relative = close, .absolute = close};
  }
  const double rounding = std::ldexp(1.0, computed == DType::BFloat16 ? -8 : -11);
  return {.relative = 4 * rounding, .absolute = 4 * rounding};
}

void check_variables(const LayerHandle& layer, const Json& expected, DType computed) {
  const std::vector<Variable> weights = layer.weights();
  REQUIRE(weights.size() == expected.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CAPTURE(weights[i].path());
    CHECK(weights[i].path() == expected[i].at("path").as_string());
    CHECK(to_string(weights[i].dtype()) == expected[i].at("dtype").as_string());
    CHECK(difference(weights[i].value(), expected[i], tolerance_of(computed, layer)) == "");
  }
}

}  // namespace

TEST_CASE("layers have Keras's dtypes and values under each policy") {
  int checked = 0;
  for (const Json& item : test::golden_cases("policies").as_array()) {
    CAPTURE(item.at("name").as_string());
    const std::vector<Tensor> inputs = golden_tensors(item.at("inputs"));
    const LayerHandle layer = layer_from_json(item.at("object"));
    test::build_layer(layer, item, inputs);
    CHECK(difference(serialize_layer(layer.get()), item.at("object")) == "");
    layer.set_weights(golden_tensors(item.at("weights")));
    const DType computed = dtype_from_string(item.at("outputs")[0].at("dtype").as_string());
    check_variables(layer, item.at("weights"), computed);
    CallOptions options;
    const Json& training = item.at("call_arguments").at("training");
    if (!training.is_null()) options.training = training.as_bool();
    const Tensors outputs = layer(Tensors(inputs), options);
    check_outputs(outputs, item.at("outputs"), tolerance_of(computed, layer));
    check_variables(layer, item.at("weights_after"), computed);
    ++checked;
  }
  CHECK(checked >= 40);
}
