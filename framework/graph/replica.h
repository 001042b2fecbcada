// SPDX-License-Identifier: Apache-2.0
// The replica that code is traced for, as seen by that code.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// One of the replicas that run a step together. A step is traced once for all replicas with the
// same number of examples: what differs between these is an input of the graph (`replica_value`).
struct Replica {
  int64_t count = 1;              // of all workers
  int64_t examples = 0;           // rows of this replica's part of the batch
  int64_t id = 0;                 // its number among all replicas
  int64_t first_example = 0;      // the number that its first row has in the global batch
  std::vector<double> sums = {};  // over all replicas, of the numbers that their traces know
  // Of each all_gather in turn: the sizes that all replicas' tensors have along its axis, by
  // replica. Empty where they are alike.
  std::vector<std::vector<int64_t>> gathered = {};
  struct Gather {
    int64_t axis = 0;
    Shape own = {};  // of this replica's tensor
  };
  mutable std::vector<Gather> gathers = {};  // of this trace, in order
};

// The replica that a step is being traced for on this thread; null outside of strategies' steps.
const Replica* current_replica();
// How many replicas run the step that is being traced: 1 outside of strategies' steps.
int64_t replicas_in_sync();

// Makes this thread trace for a replica until the guard ends. Guards nest. The replica must outlive
// it.
class [[nodiscard]] ReplicaScope {
 public:
  explicit ReplicaScope(const Replica* replica);
  ~ReplicaScope();
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

 private:
  const Replica* previous_;
};

// Marks that this thread traces a merge_call until the guard ends: values that are assigned are the
// same on all replicas.
class [[nodiscard]] MergeScope {
 public:
  MergeScope();
  ~MergeScope();
  MergeScope(const MergeScope&) = delete;
  MergeScope& operator=(const MergeScope&) = delete;

 private:
  bool previous_;
};
bool merging_replicas();

// Marks that this thread traces what every replica computes from the same numbers (an optimizer's
// update) until the guard ends: a variable that was the same on all replicas stays so.
class [[nodiscard]] UpdateScope {
 public:
  UpdateScope();
  ~UpdateScope();
  UpdateScope(const UpdateScope&) = delete;
  UpdateScope& operator=(const UpdateScope&) = delete;

 private:
  bool previous_;
};
bool updating_replicas();

// A value that differs between replicas that run the same graph.
enum class ReplicaValue { Id, FirstExample };
// An int64 scalar: an input of the graph while one is traced for several replicas; else 0.
Tensor replica_value(ReplicaValue which);
// The sum over all replicas of a number that this one's trace knows, such as a count of elements: a
// float64 scalar, and an input of the graph while one is traced for several replicas, which costs
// no collective; else the number. All replicas must have as many sums, in one order.
Tensor sum_of_known(double own);

}  // namespace cornu
