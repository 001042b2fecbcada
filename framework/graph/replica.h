// SPDX-License-Identifier: Apache-2.0
// The replica that code is traced for, as seen by that code.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// One of the replicas that run a step together. A step is traced once for all replicas with the
// same number of examples; anything that differs between them is an input of the graph
// (`replica_value`).
struct Replica {
  int64_t count = 1;              // number of replicas of all workers
  int64_t examples = 0;           // rows of this replica's part of the batch
  int64_t id = 0;                 // its number among all replicas
  int64_t first_example = 0;      // index of its first row in the global batch
  std::vector<double> sums = {};  // sums over all replicas of numbers known at tracing time
  // For each all_gather in order: the sizes of all replicas' tensors along its axis, by replica.
  // Empty if they are equal.
  std::vector<std::vector<int64_t>> gathered = {};
  struct Gather {
    int64_t axis = 0;
    Shape own = {};  // of this replica's tensor
  };
  mutable std::vector<Gather> gathers = {};  // recorded by this trace, in order
};

// The replica that a step is being traced for on this thread; null outside of strategies' steps.
const Replica* current_replica();
// The number of replicas that run the step being traced: 1 outside of strategies' steps.
int64_t replicas_in_sync();

// Makes this thread trace for a replica until the guard is destroyed. Guards nest. The replica must
// outlive the guard.
class [[nodiscard]] ReplicaScope {
 public:
  explicit ReplicaScope(const Replica* replica);
  ~ReplicaScope();
  ReplicaScope(const ReplicaScope&) = delete;
  ReplicaScope& operator=(const ReplicaScope&) = delete;

 private:
  const Replica* previous_;
};

// Marks that this thread traces a merge_call until the guard is destroyed: assigned values are then
// the same on all replicas.
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

// Marks that this thread traces a computation that every replica does with the same numbers (an
// optimizer's update) until the guard is destroyed: a variable that was the same on all replicas
// stays so.
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
// An int64 scalar: an input of the graph while tracing for several replicas; otherwise 0.
Tensor replica_value(ReplicaValue which);
// The sum over all replicas of a number known when each of them is traced, such as a count of
// elements. A float64 scalar: an input of the graph, without a collective, while tracing for
// several replicas; otherwise `own` itself. All replicas must have the same number of sums, in the
// same order.
Tensor sum_of_known(double own);

}  // namespace cornu
