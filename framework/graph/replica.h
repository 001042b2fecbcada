// SPDX-License-Identifier: Apache-2.0
// What code knows of the replica that it is traced for.
#pragma once

#include <cstdint>

#include "framework/core/tensor.h"

namespace cornu {

// One of the replicas that run a step together. A step is traced once for all that have equally
// many examples: what tells those apart are inputs of its graph (`replica_value`).
struct Replica {
  int64_t count = 1;          // of all workers
  int64_t examples = 0;       // rows of this replica's part of the batch
  int64_t id = 0;             // its number among all replicas
  int64_t first_example = 0;  // the number that its first row has in the global batch
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

// While it lives, this thread traces a merge_call: what is assigned is the same on all replicas.
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

// What differs between replicas that run the same graph.
enum class ReplicaValue { Id, FirstExample };
// An int64 scalar: an input of the graph that is being traced for one of several replicas; 0
// elsewhere.
Tensor replica_value(ReplicaValue which);

}  // namespace cornu
