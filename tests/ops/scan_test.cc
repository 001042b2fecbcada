// SPDX-License-Identifier: Apache-2.0
// Loops as nodes: values and gradients of compiled loops compared with the same loops unrolled.
#include <doctest/doctest.h>

#include <thread>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/variable.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;
using Lists = std::pair<Inputs, Inputs>;

// The gradients of the sum of all outputs with respect to all floating-point inputs, and the
// gradient of the sum of their squares, which is of second order.
OpFunction gradients_of(const std::function<Inputs(const Inputs&)>& f) {
  return [f](const Inputs& in) {
    Inputs sources;
    for (const Tensor& x : in) {
      if (is_floating(x.dtype())) sources.push_back(x);
    }
    GradientTape outer;
    for (const Tensor& x : sources) outer.watch(x);
    Inputs first;
    {
      GradientTape inner;
      for (const Tensor& x : sources) inner.watch(x);
      Tensor total = Tensor::scalar(0.0);
      for (const Tensor& y : f(in)) {
        if (is_floating(y.dtype())) total = total + ops::sum(y * ops::sin(y));
      }
      first = inner.gradient(total, sources, {.unconnected_gradients = UnconnectedGradients::Zero});
    }
    Tensor squares = Tensor::scalar(0.0);
    for (const Tensor& gradient : first) squares = squares + ops::sum(gradient * gradient);
    const Inputs second =
        outer.gradient(squares, sources, {.unconnected_gradients = UnconnectedGradients::Zero});
    Inputs flat;
    for (const Inputs& gradients : {first, second}) {
      for (const Tensor& gradient : gradients) flat.push_back(ops::reshape(gradient, {-1}));
    }
    return ops::concatenate(flat);
  };
}

// Checks values, first and second gradients: unrolled (eagerly) and as a node (compiled).
void check_loop(const std::function<Inputs(const Inputs&)>& f, const Inputs& inputs) {
  const Inputs eager = f(inputs);
  for (size_t i = 0; i < eager.size(); ++i) {
    INFO("output " << i);
    check_compiled([&](const Inputs& in) { return f(in)[i]; }, inputs, 1e-12);
  }
  INFO("gradients");
  check_compiled(gradients_of(f), inputs, 1e-9);
}

struct Lstm {
  Tensor w, u, b;
  Inputs operator()(const Tensor& x, const Tensor& h, const Tensor& c) const {
    const Tensor z = ops::matmul(x, w) + ops::matmul(h, u) + b;
    const Inputs parts = ops::split(z, 4, -1);
    const Tensor next_c = ops::sigmoid(parts[1]) * c + ops::sigmoid(parts[0]) * ops::tanh(parts[2]);
    return {ops::sigmoid(parts[3]) * ops::tanh(next_c), next_c};
  }
};

// `in` has xs (time, batch, features), w, u, b.
Inputs lstm(const Inputs& in, const ops::ScanOptions& options = {}) {
  const Lstm cell{in[1], in[2], in[3]};
  const Tensor zeros = ops::zeros({in[0].dim(1), in[2].dim(0)}, in[0].dtype());
  const auto [carries, ys] = ops::scan(
      [&](const Inputs& carry, const Inputs& x) {
        const Inputs next = cell(x[0], carry[0], carry[1]);
        return Lists{next, {next[0]}};
      },
      Inputs{zeros, zeros}, Inputs{in[0]}, options);
  return {carries[0], carries[1], ys[0]};
}

Inputs lstm_inputs(int64_t time, DType dtype = DType::Float64) {
  Inputs inputs = {random_tensor({time, 2, 3}), random_tensor({3, 16}, -0.5, 0.5, 2),
                   random_tensor({4, 16}, -0.5, 0.5, 3), random_tensor({16}, -0.5, 0.5, 4)};
  for (Tensor& input : inputs) input = ops::cast(input, dtype);
  return inputs;
}

TEST_CASE("scan: an LSTM of any length, either way") {
  for (const int64_t time : {0, 1, 2, 7}) {
    for (const bool reverse : {false, true}) {
      CAPTURE(time);
      CAPTURE(reverse);
      check_loop([=](const Inputs& in) { return lstm(in, {.reverse = reverse}); },
                 lstm_inputs(time));
    }
  }
}

TEST_CASE("scan: gradients of first and second order against differences") {
  check_gradients([](const Inputs& in) { return lstm(in)[2]; }, lstm_inputs(2));
}

TEST_CASE("scan: unroll, by groups that do and don't divide the length") {
  const Inputs inputs = lstm_inputs(7);
  const Tensor expected = lstm(inputs)[2];
  for (const bool reverse : {false, true}) {
    for (const int64_t unroll : {1, 2, 3, 7, 9}) {
      CAPTURE(reverse);
      CAPTURE(unroll);
      check_loop([=](const Inputs& in) { return lstm(in, {.reverse = reverse, .unroll = unroll}); },
                 inputs);
    }
  }
  check_same(lstm(inputs, {.unroll = true})[2], expected);
  check_same(lstm(inputs, {.length = 7, .unroll = false})[2], expected);
}

size_t node_count(const Graph& graph) {
  size_t count = graph.nodes.size();
  for (const Node& node : graph.nodes) {
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (inner) count += node_count(**inner);
    }
  }
  return count;
}

TEST_CASE(
    "scan: the graph's size doesn't depend on the number of iterations, nor does its gradient's") {
  const auto size_of_graph = [](int64_t time) {
    std::vector<TensorType> types;
    for (const Tensor& input : lstm_inputs(time)) types.push_back(type_of(input));
    return node_count(trace(types, [](const Inputs& in) {
                        return Inputs{gradients_of([](const Inputs& x) { return lstm(x); })(in)};
                      }).graph);
  };
  const size_t of_three = size_of_graph(3);
  CHECK(size_of_graph(200) == of_three);
  CHECK(size_of_graph(20'011) == of_three);
}

TEST_CASE("scan: several carries, xs and ys; integers among them, and some that need no gradient") {
  const std::function<Inputs(const Inputs&)> f = [](const Inputs& in) {
    const Tensor fixed = in[0] * 2;
    const auto [carries, ys] = ops::scan(
        [&](const Inputs& carry, const Inputs& x) {
          const Tensor next = ops::tanh(carry[0] * x[0] + fixed);
          const Tensor count = carry[1] + x[1];
          const Tensor swapped = carry[3] * ops::cast(count, DType::Float64);
          return Lists{{next, count, swapped, ops::stop_gradient(carry[2])},
                       {next * in[2], carry[0], count, x[0], fixed}};
        },
        Inputs{in[0], Tensor::scalar(int32_t{3}), ops::sum(in[0]), Tensor::scalar(1.5)},
        Inputs{in[1], in[3]});
    Inputs all = carries;
    all.insert(all.end(), ys.begin(), ys.end());
    return all;
  };
  check_loop(f, {random_tensor({3}), random_tensor({5, 3}, -1, 1, 2), random_tensor({3}, -1, 1, 3),
                 random_ints({5}, 0, 4)});
}

TEST_CASE("scan: without xs, without carries, without ys") {
  check_loop(
      [](const Inputs& in) {
        return ops::scan(
                   [&](const Inputs& carry, const Inputs& x) {
                     CHECK(x.empty());
                     return Lists{{carry[0] * in[0]}, {}};
                   },
                   Inputs{in[0]}, Inputs{}, {.length = 5})
            .first;
      },
      {random_tensor({3})});
  check_loop(
      [](const Inputs& in) {
        return ops::scan(
                   [&](const Inputs& carry, const Inputs& x) {
                     CHECK(carry.empty());
                     return Lists{{}, {x[0] * in[1], ops::sum(x[0])}};
                   },
                   Inputs{}, Inputs{in[0]})
            .second;
      },
      {random_tensor({4, 3}), random_tensor({3}, -1, 1, 2)});
  const auto none = ops::scan(
      [](const Tensor& carry, const Tensor& x) {
        return std::pair{carry + x, ops::stack({carry, x})};
      },
      1.0F, ops::zeros({0}));
  CHECK(none.first.item<float>() == 1);
  CHECK(none.second.shape() == Shape{0, 2});
}

TEST_CASE("loops in loops, branches in loops, loops in branches") {
  const auto inner = [](const Tensor& begin, const Tensor& row, const Tensor& scale) {
    return ops::scan(
               [&](const Tensor& carry, const Tensor& x) {
                 const Tensor next = ops::sin(carry * x + scale);
                 return std::pair{next, next};
               },
               begin, row)
        .first;
  };
  const Inputs inputs = {random_tensor({3, 5}), random_tensor({}, -1, 1, 2),
                         random_tensor({}, -1, 1, 3)};
  check_loop(
      [=](const Inputs& in) {
        const auto [last, all] = ops::scan(
            [&](const Tensor& carry, const Tensor& row) {
              const Tensor next = inner(carry, row, in[2] * in[2]);
              return std::pair{next * in[2], next};
            },
            in[1], in[0]);
        return Inputs{last, all};
      },
      inputs);
  check_loop(
      [=](const Inputs& in) {
        const auto [last, all] = ops::scan(
            [&](const Tensor& carry, const Tensor& row) {
              const Tensor next = ops::cond(
                  ops::sum(row) > 0, [&] { return carry * ops::sum(row) + in[2]; },
                  [&] { return ops::cos(carry) * in[2]; });
              return std::pair{next, next};
            },
            in[1], in[0]);
        return Inputs{last, all};
      },
      inputs);
  for (const double sign : {1.0, -1.0}) {
    check_loop(
        [=](const Inputs& in) {
          return Inputs{ops::cond(
              in[3] > 0, [&] { return inner(in[1], in[0][0], in[2]); },
              [&] { return in[1] * in[2]; })};
        },
        {inputs[0], inputs[1], inputs[2], Tensor::scalar(static_cast<int32_t>(sign))});
  }
}

TEST_CASE("map and fori_loop are nodes too") {
  check_loop(
      [](const Inputs& in) {
        return ops::map(
            [&](const Inputs& rows) {
              return Inputs{ops::tanh(rows[0]) * in[2], rows[0] * rows[1]};
            },
            Inputs{in[0], in[1]});
      },
      {random_tensor({5, 3}), random_tensor({5, 3}, -1, 1, 2), random_tensor({3}, -1, 1, 3)});
  for (const int32_t upper : {-4, 2, 3, 13}) {
    CAPTURE(upper);
    check_loop(
        [=](const Inputs& in) {
          return ops::fori_loop(
              2, upper,
              [&](const Tensor& i, const Inputs& values) {
                return Inputs{ops::sin(values[0] * ops::cast(i, DType::Float64)),
                              values[1] * in[0]};
              },
              Inputs{in[0], in[1]});
        },
        {random_tensor({3}), random_tensor({3}, -1, 1, 2)});
  }
  const auto traced = trace({{DType::Float32, {1000, 2}}}, [](const Inputs& in) {
    return Inputs{ops::map([](const Tensor& row) { return ops::sum(row); }, in[0])};
  });
  CHECK(traced.graph.nodes.size() == 1);
}

TEST_CASE("while_loop with a bound: gradients of compiled loops") {
  const auto loop = [](std::optional<int64_t> most) -> std::function<Inputs(const Inputs&)> {
    return [most](const Inputs& in) {
      return ops::while_loop(
          [&](const Inputs& v) { return ops::sum(v[0]) < in[2]; },
          [&](const Inputs& v) {
            return Inputs{v[0] + ops::sin(v[0]) * in[1] * v[1], v[1] * 1.5, v[2] + 1};
          },
          {in[0], Tensor::scalar(1.0), Tensor::scalar(int32_t{0})}, most);
    };
  };
  for (const double limit : {-100.0, 3.0, 9.0, 100.0}) {
    for (const int64_t most : {0, 1, 3, 11}) {
      CAPTURE(limit);
      CAPTURE(most);
      check_loop(loop(most), {Tensor::from(std::vector<double>{0.3, 0.5}),
                              Tensor::from(std::vector<double>{0.7, 0.9}), Tensor::scalar(limit)});
    }
  }
  check_gradients([&](const Inputs& in) { return loop(3)(in)[0]; },
                  {Tensor::from(std::vector<double>{0.3, 0.5}),
                   Tensor::from(std::vector<double>{0.7, 0.9}), Tensor::scalar(9.0)});
  // A scan within a scan.
  check_loop(
      [](const Inputs& in) {
        const auto [last, all] = ops::scan(
            [&](const Tensor& carry, const Tensor& x) {
              const Tensor next = ops::while_loop([&](const Inputs& v) { return v[0] < 2; },
                                                  [&](const Inputs& v) {
                                                    const Tensor grown =
                                                        ops::scan(
                                                            [&](const Tensor& c, const Tensor&) {
                                                              return std::pair{c * in[1], Tensor()};
                                                            },
                                                            v[0] + 0.25, Tensor(), {.length = 2})
                                                            .first;
                                                    return Inputs{grown};
                                                  },
                                                  {ops::abs(x) * carry}, 6)
                                      .front();
              return std::pair{ops::tanh(next), next};
            },
            in[2], in[0]);
        return Inputs{last, all};
      },
      {random_tensor({4}, -1, 1), Tensor::scalar(1.1), Tensor::scalar(0.8)});
}

TEST_CASE("variables that a scan reads and assigns, random numbers that it draws") {
  const Variable w(Tensor::from(std::vector<double>{2, 3}), {.name = "w"});
  const Variable turns(Tensor::scalar(int32_t{0}), {.name = "turns", .trainable = false});
  const auto step = [&](const Tensor& xs) {
    GradientTape tape;
    const auto [last, all] = ops::scan(
        [&](const Tensor& carry, const Tensor& x) {
          turns.assign(turns + 1);
          const Tensor next = carry * w + x * ops::cast(turns, DType::Float64);
          return std::pair{next, next};
        },
        ops::ones({2}, DType::Float64), xs);
    return std::pair{ops::sum(all), tape.gradient(ops::sum(all), w)};
  };
  const Tensor xs = random_tensor({5, 2});
  const auto [value, gradient] = step(xs);
  CHECK(turns.item<int>() == 5);
  turns.assign(0);
  const Function compiled = function(step);
  const auto results = compiled.call({xs});
  check_same(results[0], value, 1e-12);
  check_same(results[1], gradient, 1e-12);
  CHECK(turns.item<int>() == 5);
  compiled.call({xs});
  CHECK(turns.item<int>() == 10);

  const Function draws = function([] {
    return ops::map([](const Tensor& x) { return x + random::uniform({3}); }, ops::zeros({4}));
  });
  const Tensor first = draws.call({}).front();
  const std::vector<float> numbers = first.to_vector<float>();
  CHECK(std::set<float>(numbers.begin(), numbers.end()).size() == 12);
  CHECK_FALSE(ops::all(ops::equal(draws.call({}).front(), first)).item<bool>());
  // The gradient uses the same mask as the value.
  const Function dropped = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const auto [last, all] = ops::scan(
        [](const Tensor& carry, const Tensor& row) {
          const Tensor kept = row * ops::cast(random::uniform({8}) < 0.5F, DType::Float32);
          return std::pair{carry + kept, kept};
        },
        ops::zeros({8}), x);
    return std::pair{all, tape.gradient(ops::sum(last), x)};
  });
  const auto masks = dropped.call({ops::ones({6, 8})});
  check_same(masks[0], masks[1]);
}

TEST_CASE("a tape follows tensors with values into a traced loop") {
  const Tensor scale = Tensor::scalar(3.0);
  const Function f = function([=](const Tensor& x) {
    GradientTape tape;
    tape.watch(scale);
    const Tensor y = ops::fori_loop(
        0, 3, [&](const Tensor&, const Tensor& value) { return value * scale; }, x);
    return tape.gradient(y, scale);
  });
  CHECK(f(Tensor::scalar(2.0)).single().item<double>() == doctest::Approx(54));
}

TEST_CASE("several threads run one function with loops") {
  const Function f([](const Inputs& in) {
    return Inputs{gradients_of([](const Inputs& x) { return lstm(x); })(in)};
  });
  const Inputs inputs = lstm_inputs(5);
  const Tensor expected = f.call(inputs).front();
  std::vector<std::thread> threads;
  std::vector<Tensor> results(4);
  for (Tensor& result : results) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) result = f.call(inputs).front();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& result : results) check_same(result, expected);
}

TEST_CASE("mistakes of scans") {
  const Tensor x = ops::ones({3, 2});
  const auto body = [](const Tensor& carry, const Tensor& row) {
    return std::pair{carry + ops::sum(row), row};
  };
  CHECK(message_of<InvalidArgument>([&] { ops::scan(body, 0.0F, Tensor()); }) ==
        "scan: expected xs or a length, got neither.");
  CHECK(message_of<InvalidArgument>([&] { ops::scan(body, 0.0F, x, {.length = 4}); }) ==
        "scan: expected a length of 3, the number of slices along axis 0 of xs (shape (3, 2)), got "
        "4. Omit the length, or take as many slices first.");
  CHECK(message_of<InvalidArgument>([&] { ops::scan(body, 0.0F, Tensor(), {.length = -1}); }) ==
        "scan: expected a length of at least 0, got -1.");
  CHECK(message_of<InvalidArgument>([&] { ops::scan(body, 0.0F, x, {.unroll = 0}); }) ==
        "scan: expected unroll to be a bool or a number of iterations from 1 on, got 0.");
  const auto grows = [](const Tensor& carry, const Tensor& row) {
    return std::pair{ops::concatenate({carry, row}), row};
  };
  const std::string text =
      "scan: expected a body that keeps types, but carry 0 was float32 (2,) and became float32 "
      "(4,).";
  CHECK(message_of<InvalidArgument>([&] { ops::scan(grows, ops::zeros({2}), x); }) == text);
  const Function compiled =
      function([&](const Tensor& y) { return ops::scan(grows, ops::zeros({2}), y).first; });
  CHECK(message_of<InvalidArgument>([&] { compiled(x); }).find(text) != std::string::npos);
  Tensor kept;
  const Function leaks = function([&](const Tensor& y) {
    ops::map(
        [&](const Tensor& row) {
          kept = row * 2;
          return kept;
        },
        y);
    return kept + 1;
  });
  CHECK(message_of<FailedPrecondition>([&] { leaks(x); }) ==
        "function: got a value of 'map', whose trace has ended. Return it from the traced function "
        "instead of keeping it.");
}

}  // namespace
}  // namespace cornu::testing
