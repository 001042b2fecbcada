// SPDX-License-Identifier: Apache-2.0
// The models that the strategies' tests train, and the strategies.
#pragma once

#include <cornu/cornu.h>

#include <functional>
#include <string>
#include <vector>

namespace cornu::test {

// A kind of strategy, for any number of replicas.
struct StrategyKind {
  std::string name;
  std::function<Strategy(int replicas)> make;
};
const std::vector<StrategyKind>& strategy_kinds();
// Numbers of replicas to test; when several processes run the tests together (on_workers.py), the
// number that these have.
const std::vector<int>& replica_counts();
// Whether a single process runs the tests.
bool is_alone();
// The strategy of all processes together.
Strategy workers();
// A strategy of all processes if they have this many replicas in total, otherwise of this process
// alone.
Strategy replicated(int replicas);
// Like replica_counts() when one number suffices: `alone` in a single process, otherwise the
// replicas of all processes together.
int replicas_or_all(int alone);
// When several processes run the tests together, waits for all of them and returns worker 0's text.
// Otherwise returns `own`.
std::string of_first_worker(const std::string& own);
// The rows of x, as the strategy divides them.
distribute::PerReplica divided(const Strategy& strategy, const Tensor& x);
// The values of this process's replicas, out of those of all the strategy's replicas.
distribute::PerReplica own_of(const Strategy& strategy, const std::vector<Tensors>& all);

// CPU:0, CPU:1, …; when tests run on other devices (CORNU_TEST_DEVICE), as many of those.
std::vector<std::string> devices(int count);
distribute::MirroredStrategy mirrored(int replicas);  // on these devices

Tensor floats(std::vector<float> values);

// How the model of make_model normalizes.
enum class Normalization {
  Plain,         // BatchNormalization: each replica by its own part of the batch
  Parts,         // the same on one device, which normalizes each part by itself
  Synchronized,  // by the whole batch
};

// Convolution, batch normalization, dropout, L2 and an activity regularizer, two outputs ("kind", 4
// logits, and "size", one number), all in float64. `parts`: the number of parts of a batch, for
// Normalization::Parts. Call it within the strategy's scope; the initial weights are always the
// same.
Model make_model(Normalization normalization, int64_t parts = 1);

// Examples for the model.
struct Examples {
  Tensor x;       // (count, 6, 6, 2)
  Tensor kind;    // (count,), int32
  Tensor size;    // (count, 1)
  Tensor weight;  // (count,)
};
Examples make_examples(int64_t count);

// The largest difference between the elements of two lists of tensors.
double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b);

}  // namespace cornu::test
