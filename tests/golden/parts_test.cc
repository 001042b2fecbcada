// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "framework/autodiff/gradient_tape.h"
#include "framework/model/activations.h"
#include "framework/model/parts.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

// Float32 with different approximations of exp, tanh, erf, …
constexpr test::Tolerance kClose = {.relative = 3e-6, .absolute = 1e-6};

std::vector<Json> cases_of_kind(const std::string& kind) {
  std::vector<Json> result;
  const Json all = test::golden_cases("regularizers_constraints_initializers");
  for (const Json& item : all.as_array()) {
    if (item.at("kind").as_string() == kind) result.push_back(item);
  }
  REQUIRE(!result.empty());
  return result;
}

double number(const Json& arguments, const char* key, double otherwise) {
  const Json* found = arguments.find(key);
  return found ? found->as_double() : otherwise;
}

// Returns the activation with the arguments of a golden case.
ActivationFunction activation_with(const std::string& name, const Json& arguments) {
  if (arguments.size() == 0) return Activation(name);
  const auto axis = static_cast<int64_t>(number(arguments, "axis", -1));
  if (name == "relu") {
    const activations::ReluOptions options = {
        .negative_slope = number(arguments, "negative_slope", 0),
        .max_value = number(arguments, "max_value", 0),
        .threshold = number(arguments, "threshold", 0)};
    return [=](const Tensor& x) { return activations::relu(x, options); };
  }
  if (name == "gelu") return [](const Tensor& x) { return activations::gelu(x, true); };
  if (name == "softmax") return [=](const Tensor& x) { return activations::softmax(x, axis); };
  if (name == "log_softmax") {
    return [=](const Tensor& x) { return activations::log_softmax(x, axis); };
  }
  if (name == "sparsemax") return [=](const Tensor& x) { return activations::sparsemax(x, axis); };
  if (name == "glu") return [=](const Tensor& x) { return activations::glu(x, axis); };
  if (name == "threshold") {
    const double level = number(arguments, "threshold", 0);
    const double below = number(arguments, "default_value", 0);
    return [=](const Tensor& x) { return activations::threshold(x, level, below); };
  }
  REQUIRE(arguments.size() == 1);
  const double value = arguments.as_object()[0].second.as_double();
  if (name == "elu") return [=](const Tensor& x) { return activations::elu(x, value); };
  if (name == "celu") return [=](const Tensor& x) { return activations::celu(x, value); };
  if (name == "leaky_relu") {
    return [=](const Tensor& x) { return activations::leaky_relu(x, value); };
  }
  if (name == "hard_shrink") {
    return [=](const Tensor& x) { return activations::hard_shrink(x, value); };
  }
  if (name == "soft_shrink") {
    return [=](const Tensor& x) { return activations::soft_shrink(x, value); };
  }
  REQUIRE(name == "squareplus");
  return [=](const Tensor& x) { return activations::squareplus(x, value); };
}

struct Moments {
  double mean = 0;
  double stddev = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments result;
  const auto count = static_cast<double>(values.size());
  for (double value : values) result.mean += value / count;
  for (double value : values) result.stddev += (value - result.mean) * (value - result.mean);
  result.stddev = std::sqrt(result.stddev / count);
  return result;
}

}  // namespace

TEST_CASE("activations have Keras's values and gradients") {
  for (const Json& item : test::golden_cases("activations").as_array()) {
    CAPTURE(item.at("name").as_string());
    // Keras 3.15.1 on TensorFlow adds up cumulative sums where it should take the last one: along
    // this axis, its result doesn't even sum to 1.
    if (item.at("name").as_string() == "sparsemax_axis0") continue;
    const auto function = activation_with(item.at("activation").as_string(), item.at("arguments"));
    const Tensor x = golden_tensor(item.at("x"));
    GradientTape tape;
    tape.watch(x);
    const Tensor y = function(x);
    CHECK(difference(y, item.at("y"), kClose) == "");
    const Tensor gradient =
        tape.gradient(y, x, {.output_gradients = golden_tensor(item.at("output_gradient"))});
    CHECK(difference(gradient, item.at("input_gradient"), kClose) == "");
  }
}

TEST_CASE("regularizers have Keras's values and gradients") {
  for (const Json& item : cases_of_kind("regularizer")) {
    CAPTURE(item.at("name").as_string());
    const Regularizer regularizer = regularizer_from_json(item.at("object"));
    const Tensor x = golden_tensor(item.at("x"));
    GradientTape tape;
    tape.watch(x);
    const Tensor value = (*regularizer)(x);
    CHECK(difference(value, item.at("value"), kClose) == "");
    const Tensor gradient =
        tape.gradient(value, x, {.unconnected_gradients = UnconnectedGradients::Zero});
    if (!item.at("gradient").is_null()) {
      CHECK(difference(gradient, item.at("gradient"), kClose) == "");
    }
    CHECK(difference(serialize(regularizer), item.at("object")) == "");
  }
}

TEST_CASE("constraints have Keras's values") {
  for (const Json& item : cases_of_kind("constraint")) {
    CAPTURE(item.at("name").as_string());
    const Constraint constraint = constraint_from_json(item.at("object"));
    CHECK(difference((*constraint)(golden_tensor(item.at("x"))), item.at("value"), kClose) == "");
    CHECK(difference(serialize(constraint), item.at("object")) == "");
  }
}

TEST_CASE("fixed initializers have Keras's values") {
  for (const Json& item : cases_of_kind("initializer")) {
    CAPTURE(item.at("name").as_string());
    Json object = item.at("object");
    if (item.at("name").as_string() == "initializer_identity_gain") {
      object.set("config", Json::object({{"gain", 2.5}}));  // Keras's config loses the gain
    }
    const Initializer initializer = initializer_from_json(object);
    const Tensor value = (*initializer)(item.at("shape").as_shape(), DType::Float32);
    const bool is_exact = object.at("class_name").as_string() != "STFT";
    CHECK(difference(value, item.at("value"), is_exact ? test::Tolerance{} : kClose) == "");
    CHECK(difference(serialize(initializer), object) == "");
  }
}

TEST_CASE("random initializers have Keras's distributions") {
  for (const Json& item : cases_of_kind("random_initializer")) {
    CAPTURE(item.at("name").as_string());
    const Initializer initializer = initializer_from_json(item.at("object"));
    CHECK(difference(serialize(initializer), item.at("object")) == "");
    const Shape shape = item.at("shape").as_shape();
    const Json& expected = item.at("statistics");
    const double mean = expected.at("mean").as_double();
    const double stddev = expected.at("stddev").as_double();
    // Many draws of one shape with different seeds, so that wrong fans are noticed.
    std::vector<double> values;
    for (int64_t seed = 0; values.size() < 50'000; ++seed) {
      Json config = item.at("object").at("config");
      config.set("seed", seed);
      const Initializer seeded =
          initializer_registry().at(item.at("object").at("class_name").as_string())(config);
      for (double value : test::numbers_of((*seeded)(shape, DType::Float32))) {
        values.push_back(value);
      }
    }
    // Five standard errors.
    const double error = 5.0 / std::sqrt(static_cast<double>(values.size()));
    const Moments moments = moments_of(values);
    CHECK(std::abs(moments.mean - mean) < error * stddev);
    CHECK(std::abs(moments.stddev / stddev - 1) < error);
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    if (!expected.at("min").is_null()) CHECK(*low >= expected.at("min").as_double() - 1e-6);
    if (!expected.at("max").is_null()) CHECK(*high <= expected.at("max").as_double() + 1e-6);
  }
}

TEST_CASE("orthogonal matrices are orthogonal, times the gain") {
  for (const Json& item : cases_of_kind("orthogonal_initializer")) {
    CAPTURE(item.at("name").as_string());
    const Initializer initializer = initializer_from_json(item.at("object"));
    const Shape shape = item.at("shape").as_shape();
    const auto values = test::numbers_of((*initializer)(shape, DType::Float64));
    const int64_t columns = shape.back();
    const int64_t rows = shape.num_elements() / columns;
    const bool by_column = rows >= columns;
    const double gain = item.at("gain").as_double();
    const int64_t count = std::min(rows, columns);
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < count; ++b) {
        double product = 0;
        for (int64_t k = 0; k < std::max(rows, columns); ++k) {
          const int64_t i = by_column ? k * columns + a : a * columns + k;
          const int64_t j = by_column ? k * columns + b : b * columns + k;
          product += values[static_cast<size_t>(i)] * values[static_cast<size_t>(j)];
        }
        CHECK(product == doctest::Approx(a == b ? gain * gain : 0.0));
      }
    }
  }
}
