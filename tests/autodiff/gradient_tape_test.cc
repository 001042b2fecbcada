// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <thread>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/strings.h"
#include "framework/core/variable.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/function.h"
#include "framework/graph/trace.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;

Variable make_variable(double value, bool trainable = true, const std::string& name = "w") {
  return Variable(Tensor::from(std::vector<double>{value, value + 1}),
                  {.name = name, .trainable = trainable});
}

TEST_CASE("trainable variables are watched when they are read") {
  const Variable w = make_variable(2);
  const Variable b = make_variable(0, true, "b");
  const Variable frozen = make_variable(5, false, "frozen");
  GradientTape tape;
  const Tensor y = ops::sum(w * w * 3 + b + frozen * 2);
  const auto gradients = tape.gradient(y, {w, b, frozen});
  check_values(gradients[0], {2}, {12, 18});
  check_values(gradients[1], {2}, {1, 1});
  CHECK_FALSE(gradients[2].defined());
}

TEST_CASE("a variable that is read several times, or changed between reads, adds up") {
  const Variable w = make_variable(1);
  GradientTape tape;
  Tensor y = ops::sum(w * 2);
  w.assign(w.value() * 10);
  y = y + ops::sum(w * 3);
  check_values(tape.gradient(y, w), {2}, {5, 5});
}

TEST_CASE("variables with one value between them are told apart") {
  const Tensor shared = Tensor::from(std::vector<double>{1, 2});
  const Variable a(shared);
  const Variable b(shared);
  GradientTape tape;
  auto gradients = tape.gradient(ops::sum(a * 2 + b * 5), {a, b});
  check_values(gradients[0], {2}, {2, 2});
  check_values(gradients[1], {2}, {5, 5});
  b.assign(a);
  GradientTape again;
  gradients = again.gradient(ops::sum(a * 2 + b * 5), {a, b});
  check_values(gradients[0], {2}, {2, 2});
  check_values(gradients[1], {2}, {5, 5});
}

TEST_CASE("watch: tensors, C++ scalars, variables") {
  const Tensor x = 3.0f;
  const Variable frozen = make_variable(2, false);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(frozen);
  const Tensor y = x * x + ops::sum(frozen * 1.0);
  CHECK(tape.gradient(y, x).item<float>() == 6);
  check_values(tape.gradient(ops::sum(frozen * x), frozen), {2}, {3, 3});
  REQUIRE(tape.watched_variables().size() == 1);
  CHECK(tape.watched_variables()[0].id() == frozen.id());
}

TEST_CASE("watch_accessed_variables = false watches what is asked for alone") {
  const Variable a = make_variable(1);
  const Variable b = make_variable(2);
  GradientTape tape({.watch_accessed_variables = false});
  tape.watch(b);
  const auto gradients = tape.gradient(ops::sum(a * b), {a, b});
  CHECK_FALSE(gradients[0].defined());
  check_values(gradients[1], {2}, {1, 2});
}

TEST_CASE("targets: several, not scalar, weighted; sources between; unconnected ones") {
  const Tensor x = Tensor::from(std::vector<double>{1, 2});
  const Tensor other = Tensor::from(std::vector<double>{1, 2, 3});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  tape.watch(other);
  const Tensor middle = x * x;
  const Tensor y = middle * 3;
  const Tensor z = ops::sum(x);
  check_values(tape.gradient(y, x), {2}, {6, 12});
  check_values(tape.gradient({y, z}, x), {2}, {7, 13});
  check_values(tape.gradient(y, x, {.output_gradients = Tensor::from(std::vector<float>{1, 0})}),
               {2}, {6, 0});
  const auto both = tape.gradient(y, {x, middle});
  check_values(both[0], {2}, {6, 12});
  check_values(both[1], {2}, {3, 3});
  check_values(tape.gradient(y, y), {2}, {1, 1});
  CHECK_FALSE(tape.gradient(y, other).defined());
  check_values(tape.gradient(y, other, {.unconnected_gradients = UnconnectedGradients::Zero}), {3},
               {0, 0, 0});
  CHECK(tape.gradient(y, x).dtype() == DType::Float64);
}

TEST_CASE("a tape is used up by its gradient unless it is persistent") {
  const Variable w = make_variable(1);
  GradientTape tape;
  const Tensor y = ops::sum(w * w);
  tape.gradient(y, w);
  CHECK(message_of<FailedPrecondition>([&] {
          tape.gradient(y, w);
        }).find("GradientTape: its gradient was taken already.") == 0);
  tape.reset();
  check_values(tape.gradient(ops::sum(w * 4), w), {2}, {4, 4});
}

TEST_CASE("gradients stop where a value is taken to the host, also if it is there") {
  const Tensor x = Tensor::from(std::vector<double>{1.5, -2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  check_values(tape.gradient(y - y.host(), x), {2}, {3, -4});
  check_values(tape.gradient(x.host() * x, x), {2}, {1.5, -2});
  CHECK_FALSE(tape.gradient(y.host(), x).defined());
  if (y.on_host()) CHECK(y.host().data<double>().data() == y.data<double>().data());
}

TEST_CASE("stop_recording, stop_gradient and ops without a gradient") {
  const Tensor x = Tensor::from(std::vector<double>{1.5, -2});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  Tensor hidden;
  {
    const auto guard = tape.stop_recording();
    hidden = x * 100;
  }
  check_values(tape.gradient(hidden + x, x), {2}, {1, 1});
  check_values(tape.gradient(ops::stop_gradient(x) * x, x), {2}, {1.5, -2});
  CHECK_FALSE(tape.gradient(ops::floor(x), x).defined());
  CHECK_FALSE(tape.gradient(ops::cast(x > 0, DType::Float64), x).defined());
  CHECK_FALSE(tape.gradient(ops::cast(ops::cast(x, DType::Int32), DType::Float64), x).defined());
  check_values(tape.gradient(x * ops::cast(x > 0, DType::Float64), x), {2}, {1, 0});
}

TEST_CASE("an op that should have a gradient but hasn't is named") {
  const OpDef op = {.name = "tests_mystery",
                    .infer = [](std::span<const TensorType> in,
                                const Attributes&) { return std::vector<TensorType>{in[0]}; },
                    .vjp = {},
                    .traits = {}};
  const TracedGraph traced = trace({{DType::Float32, {2}}}, [&](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor y = apply(op, {in[0]}).front();
    CHECK(message_of<Unimplemented>([&] {
            tape.gradient(y, in[0]);
          }).find("GradientTape: the op 'tests_mystery' has no gradient.") == 0);
    return in;
  });
  CHECK(traced.graph.nodes.size() >= 1);
}

TEST_CASE("mistakes") {
  const Tensor counts = Tensor::from(std::vector<int32_t>{1, 2});
  const Tensor x = Tensor::from(std::vector<double>{1, 2});
  GradientTape tape({.persistent = true});
  CHECK(message_of<InvalidArgument>([&] { tape.watch(counts); }) ==
        "GradientTape: expected a floating-point tensor to watch, got int32.");
  CHECK(message_of<InvalidArgument>([&] { tape.gradient(counts, x); }) ==
        "GradientTape: expected a target of a floating-point dtype, got int32.");
  tape.watch(x);
  const Tensor y = x * 2;
  CHECK(message_of<InvalidArgument>([&] {
          tape.gradient(y, x, {.output_gradients = ops::ones({3})});
        }) == "GradientTape: expected an output gradient of its target's shape (2,), got (3,).");
  CHECK(message_of<InvalidArgument>([&] {
          tape.gradient({y, y}, x, {.output_gradients = ops::ones({2})});
        }) == "GradientTape: expected one output gradient for each of 2 targets, got 1.");
}

TEST_CASE("a mask on a tensor doesn't cut its gradient") {
  const Variable w = make_variable(2);
  GradientTape tape;
  const Tensor masked = (w * 3).with_mask(ops::ones({2}, DType::Bool));
  check_values(tape.gradient(ops::sum(masked * 2), w), {2}, {6, 6});
}

TEST_CASE("nested tapes give gradients of higher order") {
  const Tensor x = Tensor::scalar(2.0);
  GradientTape third;
  third.watch(x);
  Tensor d2;
  {
    GradientTape second;
    second.watch(x);
    Tensor d1;
    {
      GradientTape first;
      first.watch(x);
      d1 = first.gradient(ops::power(x, 4), x);
    }
    CHECK(d1.item<double>() == 32);
    d2 = second.gradient(d1, x);
  }
  CHECK(d2.item<double>() == 48);
  CHECK(third.gradient(d2, x).item<double>() == 48);
}

TEST_CASE("a persistent tape that records sees its own gradient") {
  const Tensor x = Tensor::scalar(3.0);
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor d1 = tape.gradient(x * x * x, x);
  CHECK(tape.gradient(d1, x).item<double>() == 18);
  const auto guard = tape.stop_recording();
  const Tensor unseen = tape.gradient(ops::square(x), x);
  CHECK_FALSE(tape.gradient(unseen, x).defined());
}

TEST_CASE("gradients in compiled code are the eager ones") {
  const Variable w(random_tensor({3, 2}, -1, 1, 5), {.name = "w"});
  const OpFunction f = [&](const Inputs& in) {
    GradientTape tape;
    const Tensor loss = ops::mean(ops::square(ops::tanh(ops::matmul(in[0], w)) - in[1]));
    return tape.gradient(loss, w);
  };
  check_compiled(f, {random_tensor({4, 3}), random_tensor({4, 2}, -1, 1, 2)}, 1e-12);
  // A step that changes the variable between two gradients.
  const Function step = function([&](const Tensor& x) {
    for (int i = 0; i < 2; ++i) {
      GradientTape tape;
      const Tensor loss = ops::sum(ops::square(ops::matmul(x, w)));
      w.assign(w.value() - tape.gradient(loss, w) * 0.1);
    }
  });
  const Tensor start = w.value();
  const Tensor x = random_tensor({4, 3}, -0.3, 0.3, 9);
  step(x);
  const Tensor compiled = w.value();
  w.assign(start);
  step.call_body({x});
  check_same(w.value(), compiled, 1e-12);
}

TEST_CASE("cond: gradients of the branch that was taken") {
  const OpFunction f = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[1]);
    tape.watch(in[2]);
    const Tensor y = ops::cond(
        in[0] > 0, [&] { return ops::sum(in[1] * in[1] * in[2]); },
        [&] { return ops::sum(ops::sin(in[1])); });
    const auto gradients =
        tape.gradient(y, {in[1], in[2]}, {.unconnected_gradients = UnconnectedGradients::Zero});
    return ops::concatenate(gradients);
  };
  const Tensor x = Tensor::from(std::vector<double>{1, 2});
  const Tensor scale = Tensor::from(std::vector<double>{3, 4});
  check_values(check_compiled(f, {Tensor::scalar(1.0), x, scale}, 1e-12), {4}, {6, 16, 1, 4});
  check_values(check_compiled(f, {Tensor::scalar(-1.0), x, scale}, 1e-12), {4},
               {std::cos(1.0), std::cos(2.0), 0, 0});
}

TEST_CASE("cond: variables, and gradients of the second order, compiled") {
  const Variable w = make_variable(2);
  const OpFunction f = [&](const Inputs& in) {
    GradientTape outer;
    Tensor first;
    {
      GradientTape inner;
      const Tensor y = ops::cond(
          in[0] > 0, [&] { return ops::sum(w * w * w); }, [&] { return ops::sum(w * w); });
      first = inner.gradient(y, w);
    }
    return ops::stack({first, outer.gradient(ops::sum(first), w)});
  };
  check_values(check_compiled(f, {Tensor::scalar(1.0)}, 1e-12), {2, 2}, {12, 27, 12, 18});
  check_values(check_compiled(f, {Tensor::scalar(-1.0)}, 1e-12), {2, 2}, {4, 6, 2, 2});
}

TEST_CASE("while_loop: gradients eagerly; Unimplemented when compiled") {
  const OpFunction f = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const auto results = ops::while_loop([](const Inputs& vars) { return vars[1] < 3; },
                                         [](const Inputs& vars) {
                                           return Inputs{vars[0] * vars[0], vars[1] + 1};
                                         },
                                         {in[0], Tensor::scalar(int32_t{0})});
    return tape.gradient(results[0], in[0]);
  };
  CHECK(f({Tensor::scalar(2.0)}).item<double>() == 8 * std::pow(2.0, 7));
  const Function compiled([&](const Inputs& in) { return Inputs{f(in)}; });
  CHECK(message_of<Unimplemented>([&] { compiled.call({Tensor::scalar(2.0)}); }) ==
        "while_loop: a traced loop has no gradient unless its number of iterations is bounded. "
        "Give it "
        "maximum_iterations (a fori_loop: bounds with values).");
}

// ---- the graphs that gradients create ----

std::string ops_of(const std::function<Inputs(const Inputs&)>& f,
                   const std::vector<TensorType>& types) {
  std::vector<std::string> names;
  for (const Node& node : trace(types, f).graph.nodes) {
    if (!node.is("constant")) names.push_back(node.op->name);
  }
  return join(names, " ");
}

TEST_CASE("the gradient of a dense layer has no needless nodes") {
  const auto names = ops_of(
      [](const Inputs& in) {
        GradientTape tape;
        tape.watch(in[1]);
        tape.watch(in[2]);
        const Tensor y = ops::relu(ops::matmul(in[0], in[1]) + in[2]);
        return tape.gradient(y, {in[1], in[2]}, {.output_gradients = in[3]});
      },
      {{DType::Float32, {8, 4}},
       {DType::Float32, {4, 3}},
       {DType::Float32, {3}},
       {DType::Float32, {8, 3}}});
  CHECK(names == "matmul add relu greater select reduce_sum matmul");
}

TEST_CASE("gradients that nobody asked for aren't computed") {
  const auto names = ops_of(
      [](const Inputs& in) {
        GradientTape tape;
        tape.watch(in[0]);
        tape.watch(in[1]);
        const Tensor a = ops::exp(in[0]);
        const Tensor y = a * ops::sin(in[1]);
        return Inputs{tape.gradient(y, in[0], {.output_gradients = in[2]})};
      },
      {{DType::Float32, {2}}, {DType::Float32, {2}}, {DType::Float32, {2}}});
  CHECK(names == "exp sin multiply multiply multiply");
}

TEST_CASE("the gradient of a mean is a scaled broadcast") {
  const auto names = ops_of(
      [](const Inputs& in) {
        GradientTape tape;
        tape.watch(in[0]);
        return Inputs{tape.gradient(ops::mean(in[0], 0), in[0], {.output_gradients = in[1]})};
      },
      {{DType::Float32, {5, 2}}, {DType::Float32, {2}}});
  CHECK(names == "reduce_sum divide divide broadcast_to");
}

TEST_CASE("a tape around a compiled function sees what it does") {
  const Variable w(Tensor::scalar(3.0f), {.name = "w"});
  const Variable frozen(Tensor::scalar(5.0f), {.name = "frozen", .trainable = false});
  const Tensor captured = Tensor::scalar(7.0f);
  const Tensor x = Tensor::scalar(2.0f);
  const Function f =
      function([&](const Tensor& in) { return in * in * w * frozen + captured * in; });
  {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = f(x).single();
    CHECK(y.item<float>() == 74);
    CHECK(tape.gradient(y, x).item<float>() == 67);
    CHECK(tape.gradient(y, w).item<float>() == 20);
    CHECK(!tape.gradient(y, frozen).defined());
  }
  {
    GradientTape tape;  // records a variable only
    CHECK(tape.gradient(f(x).single(), w).item<float>() == 20);
  }
  {
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(frozen);
    CHECK(tape.gradient(f(x).single(), frozen).item<float>() == 12);
  }
  {
    GradientTape tape({.watch_accessed_variables = false});
    tape.watch(captured);
    CHECK(tape.gradient(f(x).single(), captured).item<float>() == 2);
  }
  {
    GradientTape tape;
    Tensor second;
    {
      GradientTape inner;
      inner.watch(x);
      tape.watch(x);
      const Tensor first = inner.gradient(f(x).single(), x);
      second = tape.gradient(first, x);
    }
    CHECK(second.item<float>() == 30);
  }
  const Function with_tape = function([&](const Tensor& in) {
    GradientTape tape;
    return tape.gradient(in * in * w, w);
  });
  {
    GradientTape tape;
    tape.watch(x);
    CHECK(tape.gradient(with_tape(x).single(), x).item<float>() == 4);
  }
  CHECK(f.trace_count() == 1);
}

TEST_CASE("a tape that watches nothing of a compiled function leaves it compiled") {
  int calls = 0;
  const Function f = function([&](const Tensor& in) {
    ++calls;
    return in * 2;
  });
  const Tensor x = Tensor::scalar(2.0f);
  f(x);
  GradientTape tape;
  f(x);
  CHECK(calls == 1);
  tape.watch(x);
  f(x);
  CHECK(calls == 2);
  const GradientTape::StopRecording stopped = tape.stop_recording();
  f(x);
  CHECK(calls == 2);
}

// y = w + v with v = w x assigned before: the variable's value isn't a function of w.
TEST_CASE("no gradient flows through what was assigned, in branches and loops neither") {
  const Variable w(Tensor(3.0f), {.name = "w"});
  const Variable v(Tensor(0.0f), {.name = "v", .trainable = false});
  const auto gradient = [&](const std::function<Tensor(const Tensor& yes, const Tensor& x)>& y) {
    const auto body = [&](const Tensor& yes, const Tensor& x) {
      GradientTape tape;
      return tape.gradient(y(yes, x), {w})[0];
    };
    const float eager = body(Tensor::scalar(true), Tensor(5.0f)).item<float>();
    const Function traced = function(body);
    CHECK(traced(Tensor::scalar(true), Tensor::scalar(5.0f)).item<float>() == eager);
    return eager;
  };
  CHECK(gradient([&](const Tensor&, const Tensor& x) {
          v.assign(w * x);
          return w + v.value();
        }) == 1);
  CHECK(gradient([&](const Tensor& yes, const Tensor& x) {
          return ops::cond(
              yes,
              [&] {
                v.assign(w * x);
                return w + v.value();
              },
              [&] { return w.value(); });
        }) == 1);
  CHECK(gradient([&](const Tensor&, const Tensor& x) {
          return ops::fori_loop(
              0, 2,
              [&](const Tensor&, const Tensor& sum) {
                v.assign(w * x);
                return sum + v.value();
              },
              w.value());
        }) == 1);
  CHECK(gradient([&](const Tensor&, const Tensor&) {
          return ops::fori_loop(
              0, 2,
              [&](const Tensor&, const Tensor& sum) {
                v.assign_add(sum);
                return sum + v.value();
              },
              w.value());
        }) == 1);
}

TEST_CASE("a tape refuses another thread") {
  const Variable w = make_variable(2);
  GradientTape tape;
  const Tensor y = ops::sum(w * w);
  std::string text;
  std::thread([&] { text = message_of<FailedPrecondition>([&] { tape.gradient(y, w); }); }).join();
  CHECK(text ==
        "GradientTape: expected its gradient to be taken on the thread that made it, got another "
        "thread. Make a tape on each thread.");
  check_values(tape.gradient(y, w), {2}, {4, 6});
}

}  // namespace
}  // namespace cornu::testing
