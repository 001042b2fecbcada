// SPDX-License-Identifier: Apache-2.0
// The bytes that loops copy: counted, and thus the same on every machine.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/ops/control.h"
#include "framework/ops/loops.h"
#include "tests/backends/loop_counting.h"

namespace cornu::cpu {
namespace {

using Inputs = std::vector<Tensor>;
using Lists = std::pair<Inputs, Inputs>;

constexpr int64_t kBatch = 4;
constexpr int64_t kUnits = 64;
constexpr int64_t kCarryBytes = kBatch * kUnits * 4;

// Two carries that both change, one of which is stacked; a matrix and a vector from outside.
Tensor recurrent(const Tensor& xs, const Tensor& w, const Tensor& b) {
  const Tensor zeros = ops::zeros({kBatch, kUnits});
  return ops::scan(
             [&](const Inputs& carry, const Inputs& x) {
               const Tensor h = ops::tanh(ops::matmul(carry[0], w) + x[0] + b);
               return Lists{{h, carry[1] * 0.5F + h}, {h}};
             },
             Inputs{zeros, zeros}, Inputs{xs})
      .second[0];
}

TEST_CASE("a scan copies what the loop ends with, and nothing in its iterations") {
  const Function f = function(recurrent);
  const Tensor w = random::normal({kUnits, kUnits}, {.stddev = 0.1F, .seed = 1});
  for (const int64_t turns : {2, 10, 101}) {
    const Tensor xs = random::normal({turns, kBatch, kUnits}, {.seed = 2});
    const LoopCounts counts = counts_of(f, {xs, w, ops::ones({kUnits})});
    CHECK(counts.iterations == turns);
    CHECK(counts.copied_bytes == kCarryBytes);  // h, whose last value is in the stack
  }
}

TEST_CASE("a scan's gradient copies no more than one stacked carry, and no weights") {
  const Function f = function([](const Tensor& xs, const Tensor& w, const Tensor& b) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(xs);
    const Tensor loss = ops::sum(ops::square(recurrent(xs, w, b)));
    return Tensors(tape.gradient(loss, {w, xs}));
  });
  const Tensor w = random::normal({kUnits, kUnits}, {.stddev = 0.1F, .seed = 1});
  const int64_t turns = 50;
  const Tensor xs = random::normal({turns, kBatch, kUnits}, {.seed = 2});
  const LoopCounts counts = counts_of(f, {xs, w, ops::ones({kUnits})});
  CHECK(counts.iterations == 2 * turns);
  // The values of h are stacked twice: as the loop's result, and at the beginning of each
  // iteration.
  CHECK(counts.copied_bytes <= (turns + 4) * kCarryBytes);
}

TEST_CASE("a while_loop copies its variables once at most") {
  const Function f = function([](const Tensor& w, const Tensor& most) {
    return ops::while_loop([&](const Inputs& v) { return v[0] < most; },
                           [&](const Inputs& v) {
                             return Inputs{v[0] + 1, ops::tanh(ops::matmul(v[1], w)), v[2]};
                           },
                           {Tensor::scalar(int32_t{0}), ops::ones({kBatch, kUnits}), w})[1];
  });
  const Tensor w = random::normal({kUnits, kUnits}, {.stddev = 0.1F, .seed = 1});
  for (const int32_t turns : {0, 1, 2, 1000}) {
    const LoopCounts counts = counts_of(f, {w, Tensor::scalar(turns)});
    CHECK(counts.iterations == turns);
    CHECK(counts.copied_bytes <= kCarryBytes + 4);
  }
}

}  // namespace
}  // namespace cornu::cpu
