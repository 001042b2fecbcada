// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/threads.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

struct Problem {
  int64_t steps, batch, units;
  bool reverse;
};

std::vector<Tensor> inputs_of(const Problem& p) {
  return {some_values({p.steps, p.batch, 4 * p.units}, 1), some_values({p.batch, p.units}, 2),
          some_values({p.batch, p.units}, 3), some_values({p.units, 4 * p.units}, 4)};
}

// {h of all steps, last h, last c}
std::vector<Tensor> as_one_op(const std::vector<Tensor>& in, bool reverse) {
  const ops::LstmResult result = ops::lstm(in[0], in[1], in[2], in[3], {.go_backwards = reverse});
  return {result.outputs, result.h, result.c};
}

std::vector<Tensor> step_by_step(const std::vector<Tensor>& in, bool reverse) {
  Tensor h = in[1];
  Tensor c = in[2];
  const int64_t steps = in[0].dim(0);
  std::vector<Tensor> outputs(static_cast<size_t>(steps));
  for (int64_t turn = 0; turn < steps; ++turn) {
    const int64_t at = reverse ? steps - 1 - turn : turn;
    const std::vector<Tensor> z = ops::split(in[0](at) + ops::matmul(h, in[3]), 4, -1);
    c = ops::sigmoid(z[1]) * c + ops::sigmoid(z[0]) * ops::tanh(z[2]);
    h = ops::sigmoid(z[3]) * ops::tanh(c);
    outputs[static_cast<size_t>(at)] = h;
  }
  return {ops::stack(outputs, 0), h, c};
}

using Recurrence = std::vector<Tensor> (*)(const std::vector<Tensor>&, bool);

// The results, followed by the gradients of the inputs.
std::vector<Tensor> everything(Recurrence run, const Problem& p, bool compiled) {
  const auto both = [&](const std::vector<Tensor>& in) {
    GradientTape tape;
    for (const Tensor& x : in) tape.watch(x);
    std::vector<Tensor> results = run(in, p.reverse);
    const Tensor loss = ops::sum(results[0] * ops::cos(results[0] * 3)) +
                        ops::sum(ops::square(results[1])) + ops::sum(results[2] * 0.5);
    for (const Tensor& gradient : tape.gradient(loss, in)) results.push_back(gradient);
    return results;
  };
  return compiled ? function(both).call(inputs_of(p)) : both(inputs_of(p));
}

}  // namespace

TEST_CASE("lstm is the recurrence that its steps are, gradients and all") {
  for (const Problem& p :
       {Problem{1, 1, 1, false}, Problem{5, 2, 3, false}, Problem{4, 17, 16, true},
        Problem{3, 64, 20, false}, Problem{6, 9, 33, true}}) {
    CAPTURE(p.batch);
    const std::vector<Tensor> expected = everything(step_by_step, p, false);
    for (const bool compiled : {false, true}) {
      CAPTURE(compiled);
      const std::vector<Tensor> found = everything(as_one_op, p, compiled);
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(distance(found[i], expected[i]) < 2e-5);
      }
    }
  }
}

TEST_CASE("lstm whose gates may take the place of its inputs, or not") {
  for (const bool reverse : {false, true}) {
    for (const bool needed_later : {false, true}) {
      CAPTURE(reverse);
      CAPTURE(needed_later);
      const auto run = [&](Recurrence recurrence) {
        return function([&, recurrence](const std::vector<Tensor>& in) -> std::vector<Tensor> {
          GradientTape tape;
          tape.watch(in[0]);
          std::vector<Tensor> own = in;
          own[0] = in[0] * 1.5;
          const std::vector<Tensor> results = recurrence(own, reverse);
          Tensor loss = ops::sum(ops::square(results[0]));
          if (needed_later) loss = loss + ops::sum(ops::sin(own[0]));
          // The gradient is used within the graph, as in a layer.
          return {results[0], ops::matmul(tape.gradient(loss, {in[0]})[0], ops::transpose(in[3]))};
        });
      };
      const std::vector<Tensor> in = inputs_of({5, 19, 6, reverse});
      const std::vector<Tensor> expected = run(step_by_step).call(in);
      const std::vector<Tensor> found = run(as_one_op).call(in);
      for (size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], expected[i]) < 2e-5);
    }
  }
}

TEST_CASE("lstm on one thread and on many") {
  const Problem p{3, 40, 24, false};
  std::vector<Tensor> alone;
  {
    const ComputeThreadsScope one(1);
    alone = everything(as_one_op, p, true);
  }
  const std::vector<Tensor> found = everything(as_one_op, p, true);
  for (size_t i = 0; i < found.size(); ++i) CHECK(distance(found[i], alone[i]) < 2e-6);
}

TEST_CASE("lstm of no rows") {
  const std::vector<Tensor> found = everything(as_one_op, {2, 0, 3, false}, true);
  CHECK(found[0].shape() == Shape({2, 0, 3}));
  CHECK(distance(found[6], ops::zeros({3, 12})) == 0);
}

TEST_CASE("what users are told of lstm") {
  const std::vector<Tensor> in = inputs_of({2, 3, 4, false});
  CHECK(error_of([&] {
          ops::lstm(in[0], in[1], in[2], some_values({4, 8}));
        }).starts_with("InvalidArgument: lstm: "));
  CHECK(
      error_of([&] {
        ops::lstm(some_values({2, 3, 15}), in[1], in[2], in[3]);
      }) ==
      "InvalidArgument: lstm: expected inputs (time, batch, 4 units), time >= 1, got (2, 3, 15).");
  CHECK(error_of([&] { ops::lstm(ops::cast(in[0], DType::Float64), in[1], in[2], in[3]); }) ==
        "InvalidArgument: lstm: expected float32, got float64.");
}

TEST_CASE("gradients of lstm's gradients are those of its steps") {
  // The gradients of the squared norms of all input gradients, as in a gradient penalty.
  const auto second = [](Recurrence run, const Problem& p, bool compiled) {
    const auto both = [&](const std::vector<Tensor>& in) {
      GradientTape outer;
      for (const Tensor& x : in) outer.watch(x);
      Tensor size = 0.0F;
      {
        GradientTape inner;
        for (const Tensor& x : in) inner.watch(x);
        const std::vector<Tensor> results = run(in, p.reverse);
        const Tensor loss = ops::sum(ops::sin(results[0])) + ops::sum(results[1] * results[2]);
        for (const Tensor& slope : inner.gradient(loss, in)) {
          size += ops::sum(ops::square(slope));
        }
      }
      return outer.gradient(size, in);
    };
    return compiled ? function(both).call(inputs_of(p)) : both(inputs_of(p));
  };
  for (const Problem& p :
       {Problem{1, 2, 1, false}, Problem{5, 2, 3, false}, Problem{4, 3, 4, true}}) {
    CAPTURE(p.reverse);
    const std::vector<Tensor> expected = second(step_by_step, p, false);
    for (const bool compiled : {false, true}) {
      CAPTURE(compiled);
      const std::vector<Tensor> found = second(as_one_op, p, compiled);
      REQUIRE(found.size() == expected.size());
      for (size_t i = 0; i < found.size(); ++i) {
        CAPTURE(i);
        CHECK(distance(found[i], expected[i]) < 1e-4);
      }
    }
  }
}

TEST_CASE("lstm is differentiated three times") {
  const std::vector<Tensor> in = inputs_of({3, 2, 2, false});
  const auto third = [&](Recurrence run) {
    GradientTape a, b, c;
    for (GradientTape* tape : {&a, &b, &c}) tape->watch(in[0]);
    const Tensor loss = ops::sum(ops::square(run(in, false)[0]));
    const Tensor first = ops::sum(ops::square(c.gradient(loss, in[0])));
    const Tensor second = ops::sum(ops::square(b.gradient(first, in[0])));
    return a.gradient(second, in[0]);
  };
  CHECK(distance(third(as_one_op), third(step_by_step)) < 1e-3);
}
