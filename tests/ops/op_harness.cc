// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/op_harness.h"

#include <doctest/doctest.h>

#include <cmath>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"

namespace cornu::testing {

Tensor random_tensor(const Shape& shape, double low, double high, uint64_t seed) {
  Tensor tensor = Tensor::empty(shape, DType::Float64);
  PhiloxEngine engine(seed);
  for (double& value : tensor.mutable_data<double>()) {
    value = low + (high - low) * to_unit_double(engine(), engine());
  }
  return tensor;
}

Tensor random_ints(const Shape& shape, int64_t low, int64_t high, DType dtype, uint64_t seed) {
  Tensor tensor = Tensor::empty(shape, DType::Int64);
  PhiloxEngine engine(seed);
  for (int64_t& value : tensor.mutable_data<int64_t>()) {
    value = low + static_cast<int64_t>(engine.below(static_cast<uint64_t>(high - low)));
  }
  return ops::cast(tensor, dtype);
}

std::vector<double> to_doubles(const Tensor& tensor) {
  std::vector<double> values;
  dispatch_dtype(tensor.dtype(), [&](auto zero) {
    for (const auto value : tensor.data<decltype(zero)>()) {
      values.push_back(static_cast<double>(value));
    }
  });
  return values;
}

std::vector<std::vector<int64_t>> indices_of(const Shape& shape) {
  std::vector<std::vector<int64_t>> result;
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()), 0);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    result.push_back(index);
    for (int64_t axis = shape.rank(); axis-- > 0;) {
      if (++index[static_cast<size_t>(axis)] < shape[axis]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
  }
  return result;
}

size_t offset_of(const Shape& shape, const std::vector<int64_t>& index) {
  const size_t added = index.size() - static_cast<size_t>(shape.rank());
  int64_t offset = 0;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t place = shape[axis] == 1 ? 0 : index[added + static_cast<size_t>(axis)];
    offset = offset * shape[axis] + place;
  }
  return static_cast<size_t>(offset);
}

namespace {

bool close(double actual, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <= tolerance * std::max(1.0, std::abs(expected));
}

}  // namespace

void check_values(const Tensor& actual, const Shape& shape, const std::vector<double>& expected,
                  double tolerance) {
  REQUIRE(actual.shape().to_string() == shape.to_string());
  const std::vector<double> values = to_doubles(actual);
  REQUIRE(values.size() == expected.size());
  for (size_t i = 0; i < values.size(); ++i) {
    INFO("element " << i << " of shape " << shape.to_string() << ": " << values[i] << ", expected "
                    << expected[i]);
    CHECK(close(values[i], expected[i], tolerance));
  }
}

void check_same(const Tensor& actual, const Tensor& expected, double tolerance) {
  CHECK(actual.dtype() == expected.dtype());
  check_values(actual, expected.shape(), to_doubles(expected), tolerance);
}

namespace {

// Returns the gradients of sum(f(inputs) * weights), or zeros if there are none.
std::vector<Tensor> weighted_gradients(const OpFunction& f, const std::vector<Tensor>& inputs,
                                       const Tensor& weights) {
  GradientTape tape;
  std::vector<Tensor> sources;
  for (const Tensor& input : inputs) {
    if (!is_floating(input.dtype())) continue;
    tape.watch(input);
    sources.push_back(input);
  }
  const Tensor total = ops::sum(f(inputs) * weights);
  return tape.gradient(total, sources, {.unconnected_gradients = UnconnectedGradients::Zero});
}

// Returns central differences of a scalar function for all elements of the floating-point inputs.
std::vector<Tensor> differences(const std::function<double(const std::vector<Tensor>&)>& f,
                                const std::vector<Tensor>& inputs, double step) {
  std::vector<Tensor> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    Tensor gradient = Tensor::empty(inputs[i].shape(), DType::Float64);
    for (size_t element = 0; element < gradient.mutable_data<double>().size(); ++element) {
      auto moved = [&](double by) {
        std::vector<Tensor> others = inputs;
        others[i] = Tensor::from(inputs[i].to_vector<double>(), inputs[i].shape());
        others[i].mutable_data<double>()[element] += by;
        return f(others);
      };
      gradient.mutable_data<double>()[element] = (moved(step) - moved(-step)) / (2 * step);
    }
    result.push_back(gradient);
  }
  return result;
}

std::set<std::string>& seen_ops() {
  static std::set<std::string> ops;
  return ops;
}

void note_ops(const OpFunction& f, const std::vector<Tensor>& inputs) {
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  const TracedGraph traced =
      trace(types, [&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; });
  for (const Node& node : traced.graph.nodes) seen_ops().insert(node.op->name);
}

}  // namespace

const std::set<std::string>& ops_with_checked_gradients() { return seen_ops(); }

void check_gradients(const OpFunction& f, const std::vector<Tensor>& inputs,
                     const GradientCheck& options) {
  note_ops(f, inputs);
  const Tensor weights = random_tensor(f(inputs).shape(), -1, 1, 77);
  const auto first = weighted_gradients(f, inputs, weights);
  const auto expected = differences(
      [&](const std::vector<Tensor>& x) { return ops::sum(f(x) * weights).item<double>(); }, inputs,
      options.step);
  REQUIRE(first.size() == expected.size());
  for (size_t i = 0; i < first.size(); ++i) {
    INFO("gradient of floating-point input " << i);
    check_same(first[i], expected[i], options.tolerance);
  }
  if (!options.second_order) return;

  std::vector<Tensor> directions;
  for (const Tensor& gradient : first) {
    directions.push_back(random_tensor(gradient.shape(), -1, 1, 88 + directions.size()));
  }
  const OpFunction projected = [&](const std::vector<Tensor>& x) {
    const auto gradients = weighted_gradients(f, x, weights);
    Tensor total = Tensor::scalar(0.0);
    for (size_t i = 0; i < gradients.size(); ++i) total += ops::sum(gradients[i] * directions[i]);
    return total;
  };
  note_ops(projected, inputs);
  const auto second = weighted_gradients(projected, inputs, Tensor::scalar(1.0));
  const auto expected_second =
      differences([&](const std::vector<Tensor>& x) { return projected(x).item<double>(); }, inputs,
                  options.step);
  for (size_t i = 0; i < second.size(); ++i) {
    INFO("second-order gradient of floating-point input " << i);
    check_same(second[i], expected_second[i], options.tolerance);
  }
}

Tensor check_compiled(const OpFunction& f, const std::vector<Tensor>& inputs, double tolerance) {
  const Tensor eager = f(inputs);
  for (const bool optimize : {false, true}) {
    const Function compiled([&](const std::vector<Tensor>& x) { return std::vector<Tensor>{f(x)}; },
                            {.name = "tested", .optimize = optimize});
    INFO("compiled, optimize = " << optimize);
    check_same(compiled.call(inputs).front(), eager, tolerance);
  }
  return eager;
}

void check_op(const OpFunction& f, const std::vector<Tensor>& inputs, const Shape& shape,
              const std::vector<double>& expected, const OpCheck& options) {
  {
    INFO("in float64");
    check_values(check_compiled(f, inputs, 1e-12), shape, expected, 1e-10);
  }
  std::vector<Tensor> narrow;
  for (const Tensor& input : inputs) {
    narrow.push_back(is_floating(input.dtype()) ? ops::cast(input, DType::Float32) : input);
  }
  {
    INFO("in float32");
    const Tensor result = check_compiled(f, narrow, options.float32_tolerance);
    check_values(result, shape, expected, options.float32_tolerance);
  }
  if (options.differentiable) check_gradients(f, inputs, options.gradients);
}

}  // namespace cornu::testing
