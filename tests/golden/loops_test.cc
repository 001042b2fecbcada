// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/golden/golden.h"

using namespace cornu;
using cornu::test::difference;
using cornu::test::golden_tensor;

namespace {

using List = std::vector<Tensor>;

constexpr test::Tolerance kClose = {.relative = 2e-5, .absolute = 2e-6};

// The functions of tests/golden/golden_loops.py: x (length, 3), w (3,), init (3,).
List run(const std::string& name, const Tensor& x, const Tensor& w, const Tensor& init) {
  const bool reverse = name.ends_with("_reverse");
  if (name.starts_with("scan")) {
    ops::ScanOptions options{.reverse = reverse};
    if (name == "scan_unroll") options.unroll = int64_t{3};
    if (name == "scan_length") options.length = 3;
    const auto [last, all] = ops::scan(
        [&](const Tensor& carry, const Tensor& row) {
          const Tensor next = ops::tanh(carry * w + row);
          return std::pair{next, next * row};
        },
        init, x, options);
    return {last, all};
  }
  if (name == "map") {
    return {ops::map([&](const Tensor& row) { return ops::sum(row * w) * row + init; }, x)};
  }
  if (name == "fori_loop") {
    return {ops::fori_loop(
        1, 5,
        [&](const Tensor& i, const Tensor& value) {
          return ops::sin(value * w) + ops::cast(i, DType::Float32);
        },
        init)};
  }
  if (name.starts_with("while_loop")) {
    return ops::while_loop([](const List& v) { return ops::sum(v[0]) < 6; },
                           [&](const List& v) {
                             return List{v[0] + ops::square(w), v[1] + 1};
                           },
                           {init, Tensor::scalar(int32_t{0})}, name.ends_with("_end") ? 50 : 2);
  }
  REQUIRE(name.starts_with("associative_scan"));
  return {ops::associative_scan([&](const Tensor& a, const Tensor& b) { return a + b + a * b * w; },
                                x, reverse)};
}

// The loop's results, then the gradients of the sum of their squares.
List with_gradients(const std::string& name, const List& inputs) {
  GradientTape tape;
  for (const Tensor& input : inputs) tape.watch(input);
  List results = run(name, inputs[0], inputs[1], inputs[2]);
  Tensor total = Tensor::scalar(0.0F);
  for (const Tensor& y : results) {
    if (is_floating(y.dtype())) total = total + ops::sum(ops::square(y));
  }
  for (const Tensor& gradient :
       tape.gradient(total, inputs, {.unconnected_gradients = UnconnectedGradients::Zero})) {
    results.push_back(gradient);
  }
  return results;
}

}  // namespace

TEST_CASE("loops have Keras's values and gradients, eagerly and compiled") {
  for (const Json& item : test::golden_cases("loops").as_array()) {
    const std::string name = item.at("name").as_string();
    CAPTURE(name);
    List inputs;
    for (const Json& input : item.at("inputs").as_array()) inputs.push_back(golden_tensor(input));
    const Function compiled([&](const List& x) { return with_gradients(name, x); }, {});
    const auto& outputs = item.at("outputs").as_array();
    const auto& gradients = item.at("gradients").as_array();
    for (const List& results : {with_gradients(name, inputs), compiled.call(inputs)}) {
      REQUIRE(results.size() == outputs.size() + gradients.size());
      for (size_t i = 0; i < results.size(); ++i) {
        CAPTURE(i);
        const bool is_output = i < outputs.size();
        const Json& expected = is_output ? outputs[i] : gradients[i - outputs.size()];
        if (!expected.is_null()) CHECK(difference(results[i], expected, kClose) == "");
      }
    }
  }
}
