// SPDX-License-Identifier: Apache-2.0
// Loops whose batch is divided among threads: which bodies allow it, and that the results are those
// of one thread.
#include <cornu/cornu.h>
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "framework/backends/cpu/passes/batch_rows.h"
#include "framework/core/threads.h"
#include "framework/graph/graph.h"
#include "framework/ops/control.h"
#include "framework/ops/loops.h"
#include "tests/backends/loop_counting.h"

namespace cornu::cpu {
namespace {

using Inputs = std::vector<Tensor>;
using Lists = std::pair<Inputs, Inputs>;

// The body for `rows` rows; empty if its rows depend on each other.
std::string divided(const std::string& text, int64_t rows, size_t carries = 1) {
  const auto found = BatchRows::of(parse_graph(text), carries);
  return found ? found->with_rows(rows).to_string() : "";
}

TEST_CASE("a body for fewer rows") {
  CHECK(
      divided(R"(graph(%0: float32[8,4], %1: float32[8,12], %2: float32[4,12], %3: float32[8,12],
      %4: bool[8], %5: float32[12]) {
  %6 = matmul(%0, %2) {transpose_a=false, transpose_b=false} : float32[8,12]
  %7 = multiply(%6, %3) : float32[8,12]
  %8 = add(%7, %5) : float32[8,12]
  %9 = slice(%8) {begin=[0,4], size=[8,4], strides=[1,1]} : float32[8,4]
  %10 = constant() {value=<float32[] 0.0>} : float32[]
  %11 = broadcast_to(%10) {shape=[8,4]} : float32[8,4]
  %12 = reshape(%4) {shape=[8,1]} : bool[8,1]
  %13 = select(%12, %9, %11) : float32[8,4]
  %14 = concatenate(%13, %1) {axis=1} : float32[8,16]
  %15 = reduce_max(%14) {axes=[1], keepdims=false} : float32[8]
  return %13, %14, %15
})",
              3) ==
      R"(graph(%0: float32[3,4], %1: float32[3,12], %2: float32[4,12], %3: float32[3,12], %4: bool[3], %5: float32[12]) {
  %6 = matmul(%0, %2) {transpose_a=false, transpose_b=false} : float32[3,12]
  %7 = multiply(%6, %3) : float32[3,12]
  %8 = add(%7, %5) : float32[3,12]
  %9 = slice(%8) {begin=[0,4], size=[3,4], strides=[1,1]} : float32[3,4]
  %10 = constant() {value=<float32[] 0.0>} : float32[]
  %11 = broadcast_to(%10) {shape=[3,4]} : float32[3,4]
  %12 = reshape(%4) {shape=[3,1]} : bool[3,1]
  %13 = select(%12, %9, %11) : float32[3,4]
  %14 = concatenate(%13, %1) {axis=1} : float32[3,16]
  %15 = reduce_max(%14) {axes=[1], keepdims=false} : float32[3]
  return %13, %14, %15
})");
}

TEST_CASE("a matrix of the batch's size stays whole, and one for each row is divided") {
  CHECK(divided(R"(graph(%0: float32[8,8], %1: float32[8,8]) {
  %2 = matmul(%0, %1) {transpose_a=false, transpose_b=true} : float32[8,8]
  return %2
})",
                4)
            .starts_with("graph(%0: float32[4,8], %1: float32[8,8])"));
  CHECK(divided(R"(graph(%0: float32[8,1,8], %1: float32[8,8,8], %2: float32[1,8,8]) {
  %3 = matmul(%0, %1) {transpose_a=false, transpose_b=false} : float32[8,1,8]
  %4 = matmul(%3, %2) {transpose_a=false, transpose_b=false} : float32[8,1,8]
  %5 = transpose(%4) {permutation=[0,2,1]} : float32[8,8,1]
  %6 = transpose(%5) {permutation=[0,2,1]} : float32[8,1,8]
  return %6
})",
                4)
            .starts_with("graph(%0: float32[4,1,8], %1: float32[4,8,8], %2: float32[1,8,8])"));
}

TEST_CASE("rows may be along a later axis, behind axes of size 1") {
  CHECK(divided(R"(graph(%0: float32[8,4], %1: float32[4,4], %2: float32[8,1], %3: float32[4]) {
  %4 = reshape(%0) {shape=[1,8,4]} : float32[1,8,4]
  %5 = matmul(%4, %1) {transpose_a=false, transpose_b=false} : float32[1,8,4]
  %6 = add(%5, %3) : float32[1,8,4]
  %7 = multiply(%6, %2) : float32[1,8,4]
  %8 = slice(%7) {begin=[0,0,1], size=[1,8,2], strides=[1,1,1]} : float32[1,8,2]
  %9 = reshape(%8) {shape=[8,2]} : float32[8,2]
  return %0, %9
})",
                3) ==
        R"(graph(%0: float32[3,4], %1: float32[4,4], %2: float32[3,1], %3: float32[4]) {
  %4 = reshape(%0) {shape=[1,3,4]} : float32[1,3,4]
  %5 = matmul(%4, %1) {transpose_a=false, transpose_b=false} : float32[1,3,4]
  %6 = add(%5, %3) : float32[1,3,4]
  %7 = multiply(%6, %2) : float32[1,3,4]
  %8 = slice(%7) {begin=[0,0,1], size=[1,3,2], strides=[1,1,1]} : float32[1,3,2]
  %9 = reshape(%8) {shape=[3,2]} : float32[3,2]
  return %0, %9
})");
  // Two rows that are stacked aren't the rows of two.
  CHECK(divided(R"(graph(%0: float32[1,2,4]) {
  %1 = concatenate(%0, %0) {axis=0} : float32[2,2,4]
  %2 = slice(%1) {begin=[0,0,0], size=[2,1,4], strides=[1,1,1]} : float32[2,1,4]
  %3 = reshape(%2) {shape=[1,2,4]} : float32[1,2,4]
  return %3
})",
                1)
            .empty());
}

TEST_CASE("rows that depend on each other aren't divided") {
  for (const std::string nodes : {
           "%2 = matmul(%1, %0) {transpose_a=false, transpose_b=false}",
           "%2 = matmul(%0, %1) {transpose_a=true, transpose_b=false}",
           "%2 = matmul(%0, %0) {transpose_a=false, transpose_b=false}",
           "%2 = transpose(%0) {permutation=[1,0]}",
           "%2 = cumsum(%0) {axis=0, exclusive=false, reverse=false}",
           "%2 = softmax(%0) {axis=0}",
           "%2 = reverse(%0) {axes=[0]}",
           "%2 = iota() {axis=0, dtype=float32, shape=[8,8]}",
           "%3 = reduce_sum(%0) {axes=[0], keepdims=true} : float32[1,8]\n"
           "  %2 = add(%0, %3)",
           "%3 = reshape(%0) {shape=[64]} : float32[64]\n"
           "  %4 = reverse(%3) {axes=[0]} : float32[64]\n"
           "  %2 = reshape(%4) {shape=[8,8]}",
           "%3 = slice(%0) {begin=[0,0], size=[4,8], strides=[1,1]} : float32[4,8]\n"
           "  %2 = concatenate(%3, %3) {axis=0}",
           "%3 = slice(%0) {begin=[0,0], size=[8,1], strides=[1,1]} : float32[8,1]\n"
           "  %4 = reshape(%3) {shape=[8]} : float32[8]\n"
           "  %2 = add(%0, %4)",
       }) {
    CAPTURE(nodes);
    CHECK(divided(fmt::format("graph(%0: float32[8,8], %1: float32[8,8]) {{\n"
                              "  {} : float32[8,8]\n  return %2\n}}",
                              nodes),
                  4)
              .empty());
  }
}

TEST_CASE("carries and results without rows aren't divided") {
  CHECK(divided("graph(%0: float32[8,8], %1: int64[]) {\n"
                "  %2 = add(%1, %1) : int64[]\n  return %0, %2\n}",
                4, 2)
            .empty());
  CHECK(divided("graph(%0: float32[8,8]) {\n  return %0, %0\n}", 4, 1) ==
        "graph(%0: float32[4,8]) {\n  return %0, %0\n}");
  CHECK(divided("graph(%0: float32[1,1]) {\n  return %0\n}", 1).empty());
  CHECK(divided("graph(%0: float32[]) {\n  return %0\n}", 1).empty());
}

// A loop over (time, batch, units) with a mask (time, batch), weights, a factor for each row, and a
// number for each turn.
struct Loop {
  bool reverse = false;
  bool masked = true;
};

Inputs run_loop(const Loop& loop, const Inputs& in) {
  const Tensor &xs = in[0], &mask = in[1], &w = in[2], &factors = in[3], &turns = in[4];
  const Tensor zeros = ops::zeros({xs.dim(1), xs.dim(2)});
  const auto [last, stacked] = ops::scan(
      [&](const Inputs& carry, const Inputs& x) {
        Tensor h = ops::tanh(ops::matmul(carry[0] * factors, w) + x[0] * x[2]);
        if (loop.masked) h = ops::where(ops::expand_dims(x[1], -1), h, carry[0]);
        return Lists{{h, carry[1] + h, carry[2]}, {h, carry[1], ops::sum(h, -1)}};
      },
      Inputs{zeros, zeros, factors}, Inputs{xs, mask, turns}, {.reverse = loop.reverse});
  Inputs all = last;
  all.insert(all.end(), stacked.begin(), stacked.end());
  return all;
}

Inputs inputs_of(int64_t turns, int64_t batch, int64_t units) {
  const Tensor numbers = random::normal({turns, batch, units}, {.seed = 1});
  return {numbers, numbers(Slice(), Slice(), 0) > -0.5F,
          random::normal({units, units}, {.stddev = 0.5 / std::sqrt(units), .seed = 2}),
          random::uniform({batch, units}, {.seed = 3}), ops::arange(turns) * 0.1F};
}

// The results of the second call of a compiled function.
Inputs results_with(int threads, const Function::Body& body, const Inputs& inputs) {
  const ComputeThreadsScope scope(threads);
  const Function compiled(body);
  compiled.call(inputs);
  return compiled.call(inputs);
}

void check_divided(const Function::Body& body, const Inputs& inputs) {
  const Inputs expected = results_with(1, body, inputs);
  for (const int threads : {2, 3, 5}) {
    CAPTURE(threads);
    const Inputs results = results_with(threads, body, inputs);
    REQUIRE(results.size() == expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      CAPTURE(i);
      CHECK(results[i].shape() == expected[i].shape());
      // Products of fewer rows may be rounded differently.
      const Tensor distance = ops::max(ops::abs(results[i] - expected[i]));
      const Tensor largest = ops::max(ops::abs(expected[i]));
      CHECK(distance.item<float>() <= 1e-5F * largest.item<float>());
    }
  }
}

Tensor sum_of_squares(const Inputs& results) {
  Tensor sum = 0.0F;
  for (const Tensor& result : results) sum = sum + ops::sum(ops::square(result));
  return sum;
}

TEST_CASE("a divided batch has the results and gradients of one thread") {
  for (const Loop loop : {Loop{}, Loop{.reverse = true}, Loop{.masked = false}}) {
    const auto body = [&](const Inputs& in) {
      GradientTape tape;
      for (const size_t i : {0, 2, 3}) tape.watch(in[i]);
      Inputs all = run_loop(loop, in);
      const Tensor loss = sum_of_squares(all);
      for (const Tensor& of : tape.gradient(loss, {in[0], in[2], in[3]})) all.push_back(of);
      return all;
    };
    for (const int64_t batch : {15, 16, 17, 33, 64}) {
      CAPTURE(batch);
      check_divided(body, inputs_of(6, batch, 128));
    }
  }
}

TEST_CASE("a divided batch whose loop ends early") {
  const auto body = [](const Inputs& in) {
    GradientTape tape;
    tape.watch(in[0]);
    tape.watch(in[1]);
    const Tensor last =
        ops::while_loop([](const Inputs& v) { return v[0] < 3; },
                        [&](const Inputs& v) {
                          return Inputs{v[0] + 1, ops::tanh(ops::matmul(v[1], in[1]))};
                        },
                        {Tensor::scalar(int32_t{0}), in[0]}, 6)[1];
    Inputs all = {last};
    for (const Tensor& of : tape.gradient(ops::sum(ops::square(last)), {in[0], in[1]})) {
      all.push_back(of);
    }
    return all;
  };
  for (const int64_t batch : {16, 31}) {
    CAPTURE(batch);
    const Inputs inputs = inputs_of(1, batch, 128);
    check_divided(body, {inputs[0](0), inputs[2]});
  }
}

LoopCounts counts_with(int threads, const Inputs& inputs) {
  const ComputeThreadsScope scope(threads);
  return counts_of(Function([](const Inputs& in) { return run_loop({}, in); }), inputs);
}

TEST_CASE("each thread takes its rows through all iterations") {
  const Inputs inputs = inputs_of(20, 32, 128);
  const auto copied = [&](int threads) {
    const LoopCounts counts = counts_with(threads, inputs);
    CHECK(counts.iterations == 20);
    return counts.copied_bytes;
  };
  const int64_t whole = copied(1);
  CHECK(whole > 0);
  CHECK(copied(4) == whole / 4);
  CHECK(copied(8) == whole / 4);  // eight rows each
}

TEST_CASE("loops that threads wouldn't run faster in parts stay whole") {
  const auto is_divided = [](int64_t turns, int64_t batch, int64_t units) {
    const Inputs inputs = inputs_of(turns, batch, units);
    return counts_with(2, inputs).copied_bytes < counts_with(1, inputs).copied_bytes;
  };
  CHECK(is_divided(6, 16, 128));
  CHECK(!is_divided(6, 15, 128));    // fewer than eight rows for each
  CHECK(!is_divided(1, 16, 128));    // a short loop
  CHECK(!is_divided(1000, 16, 16));  // short iterations
  CHECK(!is_divided(4, 16, 1100));   // weights of 4.6 MiB
}

}  // namespace
}  // namespace cornu::cpu
