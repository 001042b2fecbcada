// SPDX-License-Identifier: Apache-2.0
// What the strategies' tests train, and the strategies.
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
// Numbers of replicas to test: where several processes run the tests together (on_workers.py), what
// these have.
const std::vector<int>& replica_counts();
// Does one process run the tests?
bool is_alone();
// What the processes have together.
Strategy workers();
// Of these where they have as many replicas, else of this process.
Strategy replicated(int replicas);
// The same as replica_counts(), where one number will do: `alone`, or what the processes have
// together.
int replicas_or_all(int alone);
// Where several processes run the tests together: waits for all of them, and gives worker 0's text.
// Else `own`.
std::string of_first_worker(const std::string& own);
// The rows of x, as the strategy divides them.
distribute::PerReplica divided(const Strategy& strategy, const Tensor& x);
// What this process's replicas have of what all of the strategy's have.
distribute::PerReplica own_of(const Strategy& strategy, const std::vector<Tensors>& all);

// CPU:0, CPU:1, …; where tests run on other devices (CORNU_TEST_DEVICE), as many of these.
std::vector<std::string> devices(int count);
distribute::MirroredStrategy mirrored(int replicas);  // over these

Tensor floats(std::vector<float> values);

// How the model below normalizes.
enum class Normalization {
  Plain,         // BatchNormalization: each replica by its own part of the batch
  Parts,         // the same on one device, which normalizes each part by itself
  Synchronized,  // by the whole batch
};

// Convolution, batch normalization, dropout, L2 and an activity regularizer, two outputs ("kind",
// 4 logits, and "size", one number), all in float64. `parts`: of a batch, for
// Normalization::Parts. Call it where the strategy's scope is open; its first weights are always
// the same.
Model make_model(Normalization normalization, int64_t parts = 1);

// Examples for it.
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
