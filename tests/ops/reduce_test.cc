// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Group = std::vector<double>;

double mean_of(const Group& g) {
  double total = 0;
  for (double value : g) total += value;
  return total / static_cast<double>(g.size());
}
double var_of(const Group& g) {
  double total = 0;
  for (double value : g) total += (value - mean_of(g)) * (value - mean_of(g));
  return total / static_cast<double>(g.size());
}

struct ReduceCase {
  const char* name;
  Tensor (*op)(const Tensor&, const Axes&, bool);
  double (*reference)(const Group&);
};

const ReduceCase kCases[] = {
    {"sum", ops::sum,
     [](const Group& g) {
       double total = 0;
       for (double value : g) total += value;
       return total;
     }},
    {"prod", ops::prod,
     [](const Group& g) {
       double total = 1;
       for (double value : g) total *= value;
       return total;
     }},
    {"max", ops::max, [](const Group& g) { return *std::max_element(g.begin(), g.end()); }},
    {"min", ops::min, [](const Group& g) { return *std::min_element(g.begin(), g.end()); }},
    {"mean", ops::mean, mean_of},
    {"var", ops::var, var_of},
    {"std", ops::std, [](const Group& g) { return std::sqrt(var_of(g)); }},
    {"logsumexp", ops::logsumexp,
     [](const Group& g) {
       double total = 0;
       for (double value : g) total += std::exp(value);
       return std::log(total);
     }},
};

// The elements of x that contribute to each result of a reduction.
std::vector<Group> groups_of(const Tensor& x, const std::vector<int64_t>& axes, const Shape& kept) {
  std::vector<Group> groups(static_cast<size_t>(kept.num_elements()));
  const auto values = to_doubles(x);
  for (auto index : indices_of(x.shape())) {
    const double value = values[offset_of(x.shape(), index)];
    for (int64_t axis : axes) index[static_cast<size_t>(axis)] = 0;
    groups[offset_of(kept, index)].push_back(value);
  }
  return groups;
}

TEST_CASE("reductions: value, gradient, second-order gradient") {
  struct Layout {
    Axes axis;
    std::vector<int64_t> axes;
  };
  const Layout layouts[] = {{{}, {0, 1, 2}}, {-1, {2}},        {0, {0}},
                            {1, {1}},        {{0, 2}, {0, 2}}, {{-2, -3}, {0, 1}}};
  const Tensor x = random_tensor({2, 3, 4}, -2, 2, 11);
  for (const ReduceCase& c : kCases) {
    for (const Layout& layout : layouts) {
      for (const bool keepdims : {false, true}) {
        INFO(c.name << " over " << Shape(layout.axes).to_string() << ", keepdims " << keepdims);
        Shape kept = x.shape();
        Shape shape;
        for (int64_t axis : layout.axes) kept[axis] = 1;
        for (int64_t axis = 0; axis < 3; ++axis) {
          const bool reduced =
              std::find(layout.axes.begin(), layout.axes.end(), axis) != layout.axes.end();
          if (keepdims || !reduced) shape.push_back(kept[axis]);
        }
        std::vector<double> expected;
        for (const Group& group : groups_of(x, layout.axes, kept)) {
          expected.push_back(c.reference(group));
        }
        check_op([&](const std::vector<Tensor>& in) { return c.op(in[0], layout.axis, keepdims); },
                 {x}, shape, expected, {.gradients = {.tolerance = 1e-4}});
      }
    }
  }
}

TEST_CASE("a reduction over no axis changes nothing; a scalar reduces to itself") {
  const Tensor x = random_tensor({2, 2});
  check_same(ops::sum(x, std::vector<int64_t>{}), x);
  check_same(ops::mean(x, std::vector<int64_t>{}), x);
  check_values(ops::sum(Tensor::scalar(3.0)), {}, {3});
  check_values(ops::mean(Tensor::scalar(int32_t{3})), {}, {3});
  check_values(ops::logsumexp(Tensor::scalar(3.0)), {}, {3});
}

TEST_CASE("prod: the gradient where there are zeros") {
  check_gradients([](const std::vector<Tensor>& in) { return ops::prod(in[0], -1); },
                  {Tensor::from(std::vector<double>{0, 2, 3, 1, 0, 0, 5, 1, 2}, {3, 3})});
}

TEST_CASE("prod: the gradient is the product of all other factors, eagerly and in a graph") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from(
      std::vector<double>{2, -1, 0, 4, 0.5, 3, 1e2, 5, 1e-3, 0, 0, 7, kInf, 0, 1, -2, 1, 1},
      {3, 2, 3});
  for (const std::vector<int64_t>& axes :
       {std::vector<int64_t>{0}, {1}, {2}, {0, 2}, {1, 2}, {0, 1}}) {
    for (const bool keepdims : {false, true}) {
      CAPTURE(fmt::format("{} {}", Shape(axes), keepdims));
      const auto gradient = [&](const Tensor& in) {
        GradientTape tape;
        tape.watch(in);
        return tape.gradient(ops::sum(ops::prod(in, axes, keepdims)), in);
      };
      // One factor after the other replaced by 1.
      std::vector<double> expected;
      for (int64_t i = 0; i < x.num_elements(); ++i) {
        const Tensor chosen = ops::reshape(ops::arange(x.num_elements()), x.shape()) == i;
        const Tensor others = ops::prod(ops::where(chosen, 1.0, x), axes, true);
        const Tensor spread = ops::broadcast_to(others, x.shape());
        expected.push_back(spread.to_vector<double>()[static_cast<size_t>(i)]);
      }
      const Tensor eager = gradient(x), compiled = function(gradient)(x).single();
      for (const Tensor& found : {eager, compiled}) {
        const std::vector<double> values = found.to_vector<double>();
        for (size_t i = 0; i < expected.size(); ++i) {
          CAPTURE(i);
          const bool same = std::isnan(expected[i]) ? std::isnan(values[i])
                                                    : values[i] == doctest::Approx(expected[i]);
          CHECK((same || values[i] == expected[i]));
        }
      }
    }
  }
}

TEST_CASE("max: equal elements share the gradient") {
  const Tensor x = Tensor::from(std::vector<double>{1, 5, 5, 2}, {2, 2});
  GradientTape tape;
  tape.watch(x);
  check_values(tape.gradient(ops::max(x), x), {2, 2}, {0, 0.5, 0.5, 0});
}

TEST_CASE("logsumexp: no overflow, infinities") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  check_values(ops::logsumexp(Tensor::from(std::vector<double>{1000, 1000})), {},
               {1000 + std::log(2)});
  check_values(ops::logsumexp(Tensor::from(std::vector<double>{-kInf, -kInf})), {}, {-kInf});
  check_values(ops::logsumexp(Tensor::from(std::vector<double>{kInf, 1})), {}, {kInf});
}

TEST_CASE("reductions of integers and bools follow Keras's dtypes") {
  const Tensor bytes = ops::full({300}, 200, DType::UInt8);
  CHECK(ops::sum(bytes).dtype() == DType::UInt32);
  CHECK(ops::sum(bytes).item<int64_t>() == 60000);
  CHECK(ops::sum(ops::ones({3}, DType::Bool)).dtype() == DType::Int32);
  CHECK(ops::sum(ops::ones({3}, DType::Int8)).dtype() == DType::Int32);
  CHECK(ops::sum(ops::ones({3}, DType::Int32)).dtype() == DType::Int32);
  CHECK(ops::max(bytes).dtype() == DType::UInt8);
  CHECK(ops::mean(bytes).dtype() == DType::Float32);
  CHECK(ops::mean(bytes).item<float>() == 200);
  CHECK(ops::var(ops::arange(4)).item<float>() == 1.25f);
}

TEST_CASE("any, all, count_nonzero") {
  const Tensor x = Tensor::from(std::vector<float>{0, 0, 1, 0, 2, 3}, {3, 2});
  check_values(ops::any(x, 1), {3}, {0, 1, 1});
  check_values(ops::all(x, 1), {3}, {0, 0, 1});
  CHECK(ops::any(x).dtype() == DType::Bool);
  check_values(ops::any(x), {}, {1});
  check_values(ops::all(x), {}, {0});
  check_values(ops::count_nonzero(x), {}, {3});
  check_values(ops::count_nonzero(x, 0), {2}, {2, 1});
}

TEST_CASE("argmax and argmin: first of equals, axes, keepdims, NaN") {
  const Tensor x = Tensor::from(std::vector<double>{1, 3, 3, 0, -1, 0}, {2, 3});
  CHECK(ops::argmax(x, -1).dtype() == DType::Int32);
  check_values(
      check_compiled([](const std::vector<Tensor>& in) { return ops::argmax(in[0], -1); }, {x}),
      {2}, {1, 0});
  check_values(ops::argmin(x, 1), {2}, {0, 1});
  check_values(ops::argmax(x, 0), {3}, {0, 0, 0});
  check_values(ops::argmin(x, 0, true), {1, 3}, {1, 1, 1});
  check_values(ops::argmax(x), {}, {1});
  check_values(ops::argmax(x, std::nullopt, true), {1, 1}, {1});
  const Tensor nan =
      Tensor::from(std::vector<float>{1, std::numeric_limits<float>::quiet_NaN(), 5});
  check_values(ops::argmax(nan), {}, {1});
}

TEST_CASE("cumsum: directions, value, gradient") {
  const Tensor x = random_tensor({2, 4}, -2, 2, 9);
  const auto values = to_doubles(x);
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      INFO("exclusive " << exclusive << ", reverse " << reverse);
      std::vector<double> expected;
      for (size_t row = 0; row < 2; ++row) {
        for (size_t i = 0; i < 4; ++i) {
          double total = 0;
          for (size_t j = 0; j < 4; ++j) {
            const bool counts =
                reverse ? j > i || (j == i && !exclusive) : j < i || (j == i && !exclusive);
            if (counts) total += values[row * 4 + j];
          }
          expected.push_back(total);
        }
      }
      check_op(
          [&](const std::vector<Tensor>& in) {
            return ops::cumsum(in[0], -1, {.exclusive = exclusive, .reverse = reverse});
          },
          {x}, {2, 4}, expected);
    }
  }
  check_values(ops::cumsum(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2})), {4},
               {1, 3, 6, 10});
  check_values(ops::cumsum(Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2}), 0), {2, 2},
               {1, 2, 4, 6});
}

TEST_CASE("places and counts among 2^31 elements: refused, or int64") {
  const Shape shape = {2, int64_t{1} << 31};
  const auto dtype_of = [&](const std::function<Tensor(const Tensor&)>& f) {
    const auto body = [&](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in[0])}; };
    return infer_types({{DType::Int8, shape}}, body).front().dtype;
  };
  CHECK(message_of<InvalidArgument>(
            [&] { dtype_of([](const Tensor& x) { return ops::argmax(x, 1); }); }) ==
        "argmax: expected less than 2^31 elements along axis 1, as their places are int32, got "
        "shape (2, 2147483648). Divide the axis by ops::reshape.");
  const auto refused = [&](const std::function<Tensor(const Tensor&)>& f) {
    CHECK_THROWS_AS(dtype_of(f), InvalidArgument);
  };
  refused([](const Tensor& x) { return ops::argmin(x); });
  refused([](const Tensor& x) { return ops::argsort(x); });
  refused([](const Tensor& x) { return ops::top_k(x, 1).second; });
  CHECK(dtype_of([](const Tensor& x) { return ops::argmax(x, 0); }) == DType::Int32);
  CHECK(dtype_of([](const Tensor& x) { return ops::count_nonzero(x, 1); }) == DType::Int64);
  CHECK(dtype_of([](const Tensor& x) { return ops::count_nonzero(x, 0); }) == DType::Int32);
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  CHECK(ops::internal::index_dtype(kMost) == DType::Int32);
  CHECK(ops::internal::index_dtype(kMost + 1) == DType::Int64);
}

TEST_CASE("argsort is stable; sort and top_k carry gradients") {
  const Tensor x = Tensor::from(std::vector<double>{3, 1, 2, 1, 5, 4, 4, 0}, {2, 4});
  check_values(ops::argsort(x), {2, 4}, {1, 3, 2, 0, 3, 1, 2, 0});
  check_values(ops::argsort(x, -1, true), {2, 4}, {0, 2, 1, 3, 0, 1, 2, 3});
  check_values(ops::argsort(x, 0), {2, 4}, {0, 0, 0, 1, 1, 1, 1, 0});
  check_op([](const std::vector<Tensor>& in) { return ops::sort(in[0]); }, {x}, {2, 4},
           {1, 1, 2, 3, 0, 4, 4, 5}, {.differentiable = false});
  const Tensor distinct = random_tensor({2, 5}, -2, 2, 3);
  check_gradients([](const std::vector<Tensor>& in) { return ops::sort(in[0], 0, true); },
                  {distinct});
  const auto [values, places] = ops::top_k(x, 2);
  check_values(values, {2, 2}, {3, 2, 5, 4});
  check_values(places, {2, 2}, {0, 2, 0, 1});
}

TEST_CASE("reductions of empty tensors") {
  const Tensor x = Tensor::empty({0, 3}, DType::Float32);
  check_values(ops::sum(x), {}, {0});
  check_values(ops::sum(x, 0), {3}, {0, 0, 0});
  check_values(ops::sum(x, 1), {0}, {});
  check_values(ops::prod(x), {}, {1});
  CHECK(message_of<InvalidArgument>([&] { ops::max(x, 0); }) ==
        "max: expected at least one element for each result, got shape (0, 3).");
  CHECK_THROWS_AS(ops::min(x), InvalidArgument);
  check_values(ops::max(x, 1), {0}, {});
  CHECK(std::isnan(ops::nanmax(x).item<float>()));
  CHECK(std::isnan(ops::mean(x).item<float>()));
  check_values(ops::mean(x, 1), {0}, {});
  check_values(ops::argmax(x, 1), {0}, {});
}

TEST_CASE("extremes with a first value, products and running sums of another dtype") {
  const Tensor x = Tensor::from(std::vector<float>{1, -2, 3, 4}, {2, 2});
  check_values(ops::max(x, 1, false, 2), {2}, {2, 4});
  check_values(ops::min(x, 0, true, 0), {1, 2}, {0, -2});
  check_values(ops::max(ops::zeros({0, 2}), 0, false, -1), {2}, {-1, -1});
  const Tensor integers = Tensor::from(std::vector<int32_t>{3, 4});
  CHECK(ops::prod(integers, {}, false, "float32").dtype() == DType::Float32);
  check_values(ops::prod(integers, {}, false, "float32"), {}, {12});
  const Tensor sums = ops::cumsum(Tensor::from({true, true}), 0, {.dtype = DType::Float64});
  CHECK(sums.dtype() == DType::Float64);
  check_values(sums, {2}, {1, 2});
}

TEST_CASE("round to decimals") {
  check_values(ops::round(Tensor::from(std::vector<double>{1.26, -0.04, 2.5}), 1), {3},
               {1.3, 0, 2.5}, 1e-12);
  check_values(ops::round(Tensor::from(std::vector<int32_t>{14, 15, -26}), -1), {3}, {10, 20, -30});
  check_values(ops::round(Tensor::from(std::vector<int32_t>{14, 15}), 2), {2}, {14, 15});
}

TEST_CASE("reductions of empty tensors of every dtype") {
  for (int d = 0; d < kNumDTypes; ++d) {
    const auto dtype = static_cast<DType>(d);
    CAPTURE(dtype);
    const Tensor x = Tensor::empty({2, 0, 3}, dtype);
    const OpFunction sum = [](const auto& in) { return ops::sum(in[0], {1, 2}); };
    const OpFunction prod = [](const auto& in) { return ops::prod(in[0], 1); };
    const OpFunction mean = [](const auto& in) { return ops::mean(in[0]); };
    const OpFunction any = [](const auto& in) { return ops::any(in[0], 1); };
    check_values(check_compiled(sum, {x}), {2}, {0, 0});
    check_values(check_compiled(prod, {x}), {2, 3}, std::vector<double>(6, 1));
    check_values(check_compiled(mean, {x}), {}, {std::numeric_limits<double>::quiet_NaN()});
    check_values(check_compiled(any, {x}), {2, 3}, std::vector<double>(6, 0));
    CHECK(ops::sum(x, 0).shape() == Shape{0, 3});
    CHECK(ops::count_nonzero(x).item<int>() == 0);
  }
}

TEST_CASE("sum_to_shape undoes broadcasting") {
  const Tensor x = ops::ones({2, 3, 4}, DType::Float64);
  CHECK(ops::sum_to_shape(x, {2, 3, 4}).id() == x.id());
  check_values(ops::sum_to_shape(x, {4}), {4}, {6, 6, 6, 6});
  check_values(ops::sum_to_shape(x, {3, 1}), {3, 1}, {8, 8, 8});
  check_values(ops::sum_to_shape(x, {1, 1, 1}), {1, 1, 1}, {24});
  check_values(ops::sum_to_shape(x, {}), {}, {24});
}

}  // namespace
}  // namespace cornu::testing
