// SPDX-License-Identifier: Apache-2.0
#include "tests/support/layer_conformance.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"

namespace cornu::test {
namespace {

// Compiled code may fuse multiplications and additions.
constexpr double kSame = 2e-6;
constexpr double kSameInFloat32 = 2e-5;

const CallArgs kInference = {.training = false};
const CallArgs kTraining = {.training = true};

std::vector<Tensor> state_of(const Layer& layer) {
  std::vector<Tensor> values;
  for (const Variable& variable : layer.variables()) values.push_back(variable.stored());
  return values;
}

void restore(const Layer& layer, const std::vector<Tensor>& values) {
  const auto variables = layer.variables();
  REQUIRE(variables.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i) variables[i].store(values[i]);
}

void check_placeholders(const LayerCase& c) {
  LayerHandle layer = c.make();
  const Tensor real = layer(Tensors(c.inputs), kInference);
  CHECK(real.shape() == c.output_shape);
  for (const bool known_batch : {true, false}) {
    CAPTURE(known_batch);
    std::vector<Tensor> placeholders;
    for (const Tensor& input : c.inputs) {
      Shape shape = input.shape();
      if (!known_batch) shape[0] = kUnknown;
      placeholders.push_back(Input({.dtype = input.dtype(), .batch_shape = shape}));
    }
    const Tensor inferred = c.make()(Tensors(placeholders));
    CHECK(is_placeholder(inferred));
    CHECK(inferred.dtype() == real.dtype());
    Shape expected = real.shape();
    if (!known_batch) expected[0] = kUnknown;
    CHECK(inferred.shape() == expected);
    CHECK(layer(Tensors(placeholders)).shape() == expected);  // already built on values
  }
}

void check_config(const LayerCase& c) {
  LayerHandle layer = c.make();
  const Tensor expected = layer(Tensors(c.inputs), kInference);
  const Json json = serialize_layer(layer.get());
  CHECK(json.at("class_name").as_string() == layer.get().class_name());
  CHECK(json.at("config").at("name").as_string() == layer.name());
  for (const Json& form : {json, Json::parse(json.dump())}) {
    LayerHandle copy = layer_from_json(form);
    copy.get().ensure_built(layer.get().built_shapes());
    CHECK(copy.get_config() == layer.get_config());
    copy.set_weights(layer.get_weights());
    CHECK(distance(copy(Tensors(c.inputs), kInference), expected) == 0);
  }
}

void check_weights(const LayerCase& c) {
  LayerHandle layer = c.make();
  CHECK(layer.weights().empty());
  layer(Tensors(c.inputs), kInference);
  CHECK(layer.trainable_weights().size() == static_cast<size_t>(c.trainable_weights));
  CHECK(layer.non_trainable_weights().size() == static_cast<size_t>(c.non_trainable_weights));
  CHECK(layer.trainable_variables().size() + layer.get().non_trainable_variables().size() ==
        layer.variables().size());
  const std::vector<Variable> weights = layer.weights();
  layer(Tensors(c.inputs), kInference);
  REQUIRE(layer.weights().size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    CHECK(layer.weights()[i].id() == weights[i].id());
    CHECK(weights[i].path().starts_with(layer.name() + "/"));
    CHECK(weights[i].path().ends_with("/" + weights[i].name()));
  }
  std::vector<Tensor> values;
  for (const Variable& weight : weights) values.push_back(some_values(weight.shape(), 7));
  layer.set_weights(values);
  const std::vector<Tensor> got = layer.get_weights();
  for (size_t i = 0; i < values.size(); ++i) CHECK(distance(got[i], values[i]) == 0);
  values.push_back(Tensor(1.0f));
  CHECK(error_of([&] { layer.set_weights(values); }).find("set_weights expected") !=
        std::string::npos);
  layer.set_trainable(false);
  CHECK(layer.trainable_weights().empty());
}

void check_training_flag(const LayerCase& c) {
  LayerHandle layer = c.make();
  const Tensor inference = layer(Tensors(c.inputs), kInference);
  const bool trains = layer.get().training_by_default();
  CHECK((distance(layer(Tensors(c.inputs)), inference) > 0) == (trains && c.differs_in_training));
  const Tensor training = layer(Tensors(c.inputs), kTraining);
  CHECK((distance(training, inference) > 0) == c.differs_in_training);
  if (!c.random) return;
  const Tensor again = layer(Tensors(c.inputs), kTraining);
  CHECK(distance(again, training) > 0);
}

void check_compiled(const LayerCase& c) {
  LayerHandle layer = c.make();
  layer(Tensors(c.inputs), kInference);
  const std::vector<Tensor> before = state_of(layer.get());
  for (const CallArgs& args : {kInference, kTraining}) {
    CAPTURE(args.training);
    const Function compiled = function(
        [&](const std::vector<Tensor>& inputs) { return layer(Tensors(inputs), args).list(); });
    // Two calls, so that state left behind by the first one counts.
    std::vector<Tensor> eager;
    for (int i = 0; i < 2; ++i) eager.push_back(layer(Tensors(c.inputs), args));
    const std::vector<Tensor> eager_state = state_of(layer.get());
    restore(layer.get(), before);
    for (const Tensor& expected : eager) {
      CHECK(distance(compiled.call(c.inputs).at(0), expected) <= kSame);
    }
    CHECK(compiled.trace_count() == 1);
    const std::vector<Tensor> state = state_of(layer.get());
    for (size_t i = 0; i < state.size(); ++i) CHECK(distance(state[i], eager_state[i]) <= kSame);
    restore(layer.get(), before);
  }
}

void check_gradient(const Tensor& gradient, const Shape& shape, DType dtype) {
  REQUIRE(gradient.defined());
  CHECK(gradient.shape() == shape);
  CHECK(gradient.dtype() == dtype);
  CHECK(ops::all(ops::isfinite(gradient)).item<bool>());
}

void check_gradients(const LayerCase& c) {
  if (!c.differentiable) return;
  LayerHandle layer = c.make();
  layer(Tensors(c.inputs), kInference);
  for (const CallArgs& args : {kInference, kTraining}) {
    CAPTURE(args.training);
    GradientTape tape({.persistent = true});
    std::vector<Tensor> inputs;
    for (const Tensor& input : c.inputs) {
      if (!is_floating(input.dtype())) continue;
      tape.watch(input);
      inputs.push_back(input);
    }
    const Tensor output = layer(Tensors(c.inputs), args);
    if (!is_floating(output.dtype())) return;
    const auto stopped = tape.stop_recording();
    const std::vector<Tensor> of_inputs = tape.gradient(output, inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      check_gradient(of_inputs[i], inputs[i].shape(), inputs[i].dtype());
    }
    const std::vector<Variable> weights = layer.trainable_weights();
    const std::vector<Tensor> of_weights = tape.gradient(output, weights);
    for (size_t i = 0; i < weights.size(); ++i) {
      CAPTURE(weights[i].name());
      check_gradient(of_weights[i], weights[i].shape(), weights[i].dtype());
    }
  }
}

void check_no_rows(const LayerCase& c) {
  LayerHandle layer = c.make();
  layer(Tensors(c.inputs), kInference);
  std::vector<Tensor> inputs;
  for (const Tensor& input : c.inputs) {
    Shape shape = input.shape();
    shape[0] = 0;
    inputs.push_back(Tensor::empty(shape, input.dtype()));
  }
  Shape expected = c.output_shape;
  expected[0] = 0;
  CHECK(layer(Tensors(inputs), kInference).shape() == expected);

  // A replica whose part of the batch is empty still takes part in the step: it neither updates
  // statistics nor produces NaN gradients.
  const std::vector<Tensor> before = layer.get_weights();
  GradientTape tape;
  const Tensor output = layer(Tensors(inputs), kTraining);
  CHECK(output.shape() == expected);
  if (!is_floating(output.dtype())) return;
  for (const Tensor& gradient : tape.gradient(output, layer.trainable_weights())) {
    if (gradient.defined()) CHECK(distance(gradient, ops::zeros_like(gradient)) == 0);
  }
  if (c.moves_without_rows) return;
  const std::vector<Tensor> after = layer.get_weights();
  for (size_t i = 0; i < before.size(); ++i) CHECK(distance(after[i], before[i]) == 0);
}

// The config of the same layer, and of the layer it wraps, in float64.
Json in_float64(Json json) {
  Json config = json.at("config");
  config.set("dtype", "float64");
  if (const Json* layer = config.find("layer")) config.set("layer", in_float64(*layer));
  json.set("config", config);
  return json;
}

void check_float64(const LayerCase& c) {
  LayerHandle layer = c.make();
  const Tensor expected = layer(Tensors(c.inputs), kInference);
  LayerHandle wide = layer_from_json(in_float64(serialize_layer(layer.get())));
  wide.get().ensure_built(layer.get().built_shapes());
  wide.set_weights(layer.get_weights());
  for (const Variable& weight : wide.weights()) CHECK(weight.dtype() == DType::Float64);
  const Tensor got = wide(Tensors(c.inputs), kInference);
  if (is_floating(c.inputs[0].dtype()) && is_floating(expected.dtype())) {
    CHECK(got.dtype() == DType::Float64);
  }
  CHECK(distance(got, expected) <= kSameInFloat32);
}

}  // namespace

void check_layer(const LayerCase& layer_case) {
  CAPTURE(layer_case.name);
  set_random_seed(11);
  check_placeholders(layer_case);
  check_config(layer_case);
  check_weights(layer_case);
  check_training_flag(layer_case);
  check_compiled(layer_case);
  check_gradients(layer_case);
  check_no_rows(layer_case);
  check_float64(layer_case);
}

Tensor some_values(const Shape& shape, uint64_t seed) {
  PhiloxEngine engine(seed);
  Tensor tensor = Tensor::empty(shape, DType::Float32);
  for (float& value : tensor.mutable_data<float>()) value = engine.uniform() * 2 - 1;
  return tensor;
}

double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return std::numeric_limits<double>::infinity();
  const Tensor x = ops::cast(a, DType::Float64);
  const Tensor y = ops::cast(b, DType::Float64);
  double largest = 0;
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    const auto at = static_cast<size_t>(i);
    const double difference = std::abs(x.data<double>()[at] - y.data<double>()[at]);
    // NaN differs from everything.
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return std::string(to_string(error.code())) + ": " + error.what();
  }
  return "";
}

}  // namespace cornu::test
