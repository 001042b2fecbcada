// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <limits>

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

using Results = std::vector<Tensor>;

enum class Cell { Lstm, Gru };
enum class Mask { None, Holes, Dark };

struct Problem {
  int64_t steps, batch, units;
  bool reverse;
  Cell cell = Cell::Lstm;
  Mask mask = Mask::None;
};

// With holes: rows that begin or end masked, or are masked in between, or in every step.
Tensor mask_of(const Problem& p) {
  if (p.mask == Mask::None) return {};
  Tensor mask = ops::zeros({p.steps, p.batch}, DType::Bool);
  if (p.mask == Mask::Dark || p.batch == 0) return mask;
  const Tensor step = ops::expand_dims(ops::arange(p.steps), 1);
  const Tensor row = ops::arange(p.batch);
  const Tensor number = ops::mod(step * 5 + row * 3, 7);
  const Tensor taken = ops::logical_or(number<3, number> 4);
  return ops::logical_and(taken, ops::not_equal(ops::mod(row, 4), 2));
}

// Of lstm: inputs, h, c, recurrent_kernel; of gru: inputs, h, recurrent_kernel, recurrent_bias.
Results inputs_of(const Problem& p) {
  const Tensor h = some_values({p.batch, p.units}, 2);
  const int64_t gates = (p.cell == Cell::Gru ? 3 : 4) * p.units;
  // The products are of the same size for many units, as large ones amplify rounding in each step.
  const Tensor kernel =
      some_values({p.units, gates}, 4) * std::min(1.0, 16.0 / static_cast<double>(p.units));
  const Tensor inputs = some_values({p.steps, p.batch, gates}, 1);
  if (p.cell == Cell::Gru) return {inputs, h, kernel, some_values({gates}, 3)};
  return {inputs, h, some_values({p.batch, p.units}, 3), kernel};
}

// {h of all steps, last h, last c of an LSTM}
Results as_one_op(const Results& in, const Problem& p) {
  const ops::RecurrenceOptions options{.go_backwards = p.reverse, .mask = mask_of(p)};
  if (p.cell == Cell::Gru) {
    const ops::GruResult result = ops::gru(in[0], in[1], in[2], in[3], options);
    return {result.outputs, result.h};
  }
  const ops::LstmResult result = ops::lstm(in[0], in[1], in[2], in[3], options);
  return {result.outputs, result.h, result.c};
}

// The states after a step, {h, c} or {h}.
Results lstm_step(const Tensor& x, const Results& states, const Results& in) {
  const Results z = ops::split(x + ops::matmul(states[0], in[3]), 4, -1);
  const Tensor c = ops::sigmoid(z[1]) * states[1] + ops::sigmoid(z[0]) * ops::tanh(z[2]);
  return {ops::sigmoid(z[3]) * ops::tanh(c), c};
}
Results gru_step(const Tensor& x, const Results& states, const Results& in) {
  const Results inputs = ops::split(x, 3, -1);
  const Results products = ops::split(ops::matmul(states[0], in[2]) + in[3], 3, -1);
  const Tensor z = ops::sigmoid(inputs[0] + products[0]);
  const Tensor r = ops::sigmoid(inputs[1] + products[1]);
  return {z * states[0] + (1 - z) * ops::tanh(inputs[2] + r * products[2])};
}

Results step_by_step(const Results& in, const Problem& p) {
  Results states = {in[1]};
  if (p.cell == Cell::Lstm) states.push_back(in[2]);
  const Tensor mask = mask_of(p);
  Results outputs(static_cast<size_t>(p.steps));
  for (int64_t turn = 0; turn < p.steps; ++turn) {
    const int64_t at = p.reverse ? p.steps - 1 - turn : turn;
    Results next = (p.cell == Cell::Gru ? gru_step : lstm_step)(in[0](at), states, in);
    for (size_t i = 0; i < next.size() && mask.defined(); ++i) {
      next[i] = ops::where(ops::expand_dims(mask(at), -1), next[i], states[i]);
    }
    states = next;
    outputs[static_cast<size_t>(at)] = states[0];
  }
  states.insert(states.begin(), ops::stack(outputs, 0));
  return states;
}

using Recurrence = Results (*)(const Results&, const Problem&);

// The results, followed by the gradients of the inputs.
Results everything(Recurrence run, const Problem& p, bool compiled) {
  const auto both = [&](const Results& in) {
    GradientTape tape;
    for (const Tensor& x : in) tape.watch(x);
    Results results = run(in, p);
    Tensor loss =
        ops::sum(results[0] * ops::cos(results[0] * 3)) + ops::sum(ops::square(results[1]));
    if (results.size() > 2) loss = loss + ops::sum(results[2] * 0.5);
    for (const Tensor& gradient : tape.gradient(loss, in)) results.push_back(gradient);
    return results;
  };
  return compiled ? function(both).call(inputs_of(p)) : both(inputs_of(p));
}

void check_close(const Results& found, const Results& expected, double tolerance) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    const double size = ops::max(ops::abs(expected[i]), {}, false, 1.0).item<float>();
    CHECK(distance(found[i], expected[i]) < tolerance * std::max(size, 1.0));
  }
}

// The problem of each cell, without and with masks.
std::vector<Problem> variants(Problem p) {
  std::vector<Problem> all;
  for (const Cell cell : {Cell::Lstm, Cell::Gru}) {
    for (const Mask mask : {Mask::None, Mask::Holes, Mask::Dark}) {
      p.cell = cell;
      p.mask = mask;
      all.push_back(p);
    }
  }
  return all;
}

std::string text_of(const Problem& p) {
  return fmt::format("{} of {} steps, {} rows, {} units{}, mask {}",
                     p.cell == Cell::Gru ? "gru" : "lstm", p.steps, p.batch, p.units,
                     p.reverse ? " backwards" : "", static_cast<int>(p.mask));
}

}  // namespace

TEST_CASE("lstm and gru are the recurrences that their steps are, gradients and all") {
  for (const Problem& sizes :
       {Problem{1, 1, 1, false}, Problem{5, 2, 3, false}, Problem{4, 17, 16, true},
        Problem{3, 64, 20, false}, Problem{6, 9, 33, true}}) {
    for (const Problem& p : variants(sizes)) {
      INFO(text_of(p));
      const Results expected = everything(step_by_step, p, false);
      for (const bool compiled : {false, true}) {
        CAPTURE(compiled);
        check_close(everything(as_one_op, p, compiled), expected, 2e-5);
      }
    }
  }
}

TEST_CASE("lstm and gru of uneven sizes") {
  int64_t turn = 0;
  for (const int64_t units : {1, 3, 17, 64, 65, 130}) {
    for (const int64_t batch : {1, 5, 33}) {
      const int64_t steps = std::array{1, 2, 7}[static_cast<size_t>((units + batch + turn) % 3)];
      for (const Problem& p : variants({steps, batch, units, ++turn % 2 == 0})) {
        if (p.mask == Mask::Dark) continue;
        INFO(text_of(p));
        check_close(everything(as_one_op, p, true), everything(step_by_step, p, true), 2e-5);
      }
    }
  }
}

TEST_CASE("lstm and gru whose gates may take the place of their inputs, or not") {
  for (const bool reverse : {false, true}) {
    for (const Problem& p : variants({5, 19, 6, reverse})) {
      for (const bool needed_later : {false, true}) {
        INFO(text_of(p));
        CAPTURE(needed_later);
        const auto run = [&](Recurrence recurrence) {
          return function([&, recurrence](const Results& in) -> Results {
            GradientTape tape;
            tape.watch(in[0]);
            Results own = in;
            own[0] = in[0] * 1.5;
            const Results results = recurrence(own, p);
            Tensor loss = ops::sum(ops::square(results[0]));
            if (needed_later) loss = loss + ops::sum(ops::sin(own[0]));
            // The gradient is used within the graph, as in a layer.
            const Tensor& kernel = in[p.cell == Cell::Gru ? 2 : 3];
            return {results[0],
                    ops::matmul(tape.gradient(loss, {in[0]})[0], ops::transpose(kernel))};
          });
        };
        const Results in = inputs_of(p);
        check_close(run(as_one_op).call(in), run(step_by_step).call(in), 2e-5);
      }
    }
  }
}

TEST_CASE("lstm and gru on one thread and on many") {
  for (const Problem& p : variants({3, 40, 24, false})) {
    INFO(text_of(p));
    Results alone;
    {
      const ComputeThreadsScope one(1);
      alone = everything(as_one_op, p, true);
    }
    check_close(everything(as_one_op, p, true), alone, 2e-6);
  }
}

TEST_CASE("lstm and gru whose units are divided among threads, as few rows have large kernels") {
  for (const int threads : {2, 7}) {
    const ComputeThreadsScope scope(threads);
    for (const Problem& p : variants({3, 5, 300, threads == 7})) {
      INFO(text_of(p));
      CAPTURE(threads);
      check_close(everything(as_one_op, p, true), everything(step_by_step, p, true), 2e-5);
    }
  }
}

TEST_CASE("lstm and gru of no rows") {
  for (const Problem& p : variants({2, 0, 3, false})) {
    INFO(text_of(p));
    const Results found = everything(as_one_op, p, true);
    CHECK(found[0].shape() == Shape({2, 0, 3}));
    // Of the recurrent kernel.
    CHECK(distance(found[p.cell == Cell::Gru ? 4 : 6],
                   inputs_of(p)[p.cell == Cell::Gru ? 2 : 3] * 0) == 0);
  }
}

TEST_CASE("a masked step changes no bit of the state, whatever its inputs are") {
  for (const Cell cell : {Cell::Lstm, Cell::Gru}) {
    const Problem p{3, 2, 5, false, cell, Mask::Dark};
    Results in = inputs_of(p);
    in[0] = ops::full_like(in[0], std::numeric_limits<float>::quiet_NaN());
    const Results found = as_one_op(in, p);
    for (int64_t step = 0; step < 3; ++step) CHECK(distance(found[0](step), in[1]) == 0);
    CHECK(distance(found[1], in[1]) == 0);
    if (cell == Cell::Lstm) CHECK(distance(found[2], in[2]) == 0);
  }
}

TEST_CASE("what users are told of lstm and gru") {
  const Results in = inputs_of({2, 3, 4, false});
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
  const auto with_mask = [&](const Tensor& mask) {
    return error_of([&] { ops::lstm(in[0], in[1], in[2], in[3], {.mask = mask}); });
  };
  CHECK(with_mask(ops::ones({2, 3})) ==
        "InvalidArgument: lstm: expected a mask of bool, got float32.");
  const std::string other = with_mask(ops::ones({3, 2}, DType::Bool));
  CHECK(other.starts_with("InvalidArgument: lstm: "));
  CHECK(other.find("mask") != std::string::npos);

  const Results gru = inputs_of({2, 3, 4, false, Cell::Gru});
  CHECK(error_of([&] {
          ops::gru(in[0], gru[1], gru[2], gru[3]);
        }).starts_with("InvalidArgument: gru: "));
  CHECK(error_of([&] {
          ops::gru(some_values({2, 3, 16}), gru[1], gru[2], gru[3]);
        }) ==
        "InvalidArgument: gru: expected inputs (time, batch, 3 units), time >= 1, got (2, 3, 16).");
  CHECK(error_of([&] {
          ops::gru(gru[0], gru[1], gru[2], some_values({2, 12}));
        }).find("recurrent_bias") != std::string::npos);
  CHECK(error_of([&] {
          ops::gru(gru[0], some_values({2, 4}), gru[2], gru[3]);
        }).starts_with("InvalidArgument: gru: "));
}

TEST_CASE("gradients of the gradients of lstm and gru are those of their steps") {
  // The gradients of the squared norms of all input gradients, as in a gradient penalty.
  const auto second = [](Recurrence run, const Problem& p, bool compiled) {
    const auto both = [&](const Results& in) {
      GradientTape outer;
      for (const Tensor& x : in) outer.watch(x);
      Tensor size = 0.0F;
      {
        GradientTape inner;
        for (const Tensor& x : in) inner.watch(x);
        const Results results = run(in, p);
        const Tensor loss =
            ops::sum(ops::sin(results[0])) + ops::sum(results[1] * ops::cos(results.back()));
        for (const Tensor& slope : inner.gradient(loss, in)) {
          size += ops::sum(ops::square(slope));
        }
      }
      return outer.gradient(size, in);
    };
    return compiled ? function(both).call(inputs_of(p)) : both(inputs_of(p));
  };
  for (const Problem& sizes :
       {Problem{1, 2, 1, false}, Problem{5, 2, 3, false}, Problem{4, 3, 4, true}}) {
    for (const Problem& p : variants(sizes)) {
      INFO(text_of(p));
      const Results expected = second(step_by_step, p, false);
      for (const bool compiled : {false, true}) {
        CAPTURE(compiled);
        check_close(second(as_one_op, p, compiled), expected, 1e-4);
      }
    }
  }
}

TEST_CASE("lstm and gru are differentiated three times") {
  for (const Problem& p : variants({3, 2, 2, false})) {
    INFO(text_of(p));
    const Results in = inputs_of(p);
    const auto third = [&](Recurrence run) {
      GradientTape a, b, c;
      for (GradientTape* tape : {&a, &b, &c}) tape->watch(in[0]);
      const Tensor loss = ops::sum(ops::square(run(in, p)[0]));
      const Tensor first = ops::sum(ops::square(c.gradient(loss, in[0])));
      const Tensor second = ops::sum(ops::square(b.gradient(first, in[0])));
      return a.gradient(second, in[0]);
    };
    if (p.mask == Mask::Dark) continue;  // zeros, or undefined
    CHECK(distance(third(as_one_op), third(step_by_step)) < 1e-3);
  }
}
