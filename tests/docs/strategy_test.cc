// SPDX-License-Identifier: Apache-2.0
// Runs the example of docs/adding/strategy.md.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/docs/mirrored_threads.h"

using namespace cornu;

namespace {

class MirroredThreads : public Strategy {
 public:
  explicit MirroredThreads(int replicas)
      : Strategy(std::make_shared<example::MirroredThreads>(replicas)) {}
};

TEST_CASE("a training step on two replicas") {
  const MirroredThreads strategy(2);
  const auto scope = strategy.scope();
  Variable w(ops::ones({3}), {.name = "w"});
  const Function step = function([&](const Tensor& x, const Tensor& y) {
    const auto replica = distribute::get_replica_context();
    GradientTape tape;
    const Tensor loss = ops::mean(ops::square(ops::sum(x * w, 1) - y));
    const Tensor gradient = replica.all_reduce(ReduceOp::Mean, tape.gradient(loss, w));
    w.assign(w - 0.1 * gradient);
    return replica.all_reduce(ReduceOp::Mean, loss);
  });

  Batch batch;
  batch.x = random::normal({8, 3}, {.seed = 1});
  batch.y = random::normal({8}, {.seed = 2});
  double last = 1e9;
  for (int i = 0; i < 5; ++i) {
    std::vector<Tensors> parts;
    for (const Batch& part : strategy.impl().split(batch)) {
      parts.push_back({part.x.single(), part.y.single()});
    }
    const auto losses = strategy.run(step, distribute::PerReplica(parts));
    const double loss = strategy.reduce(ReduceOp::Max, losses).item<double>();
    CHECK(loss < last);
    last = loss;
  }
}

}  // namespace
