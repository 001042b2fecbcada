// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/replica.h"

#include <utility>

#include "framework/graph/trace.h"

namespace cornu {
namespace {

thread_local const Replica* current = nullptr;
thread_local bool merging = false;
thread_local bool updating = false;

}  // namespace

const Replica* current_replica() { return current; }

int64_t replicas_in_sync() { return current ? current->count : 1; }

ReplicaScope::ReplicaScope(const Replica* replica) : previous_(current) { current = replica; }
ReplicaScope::~ReplicaScope() { current = previous_; }

MergeScope::MergeScope() : previous_(std::exchange(merging, true)) {}
MergeScope::~MergeScope() { merging = previous_; }
bool merging_replicas() { return merging; }

UpdateScope::UpdateScope() : previous_(std::exchange(updating, true)) {}
UpdateScope::~UpdateScope() { updating = previous_; }
bool updating_replicas() { return updating; }

Tensor replica_value(ReplicaValue which) {
  const auto traced = replicas_in_sync() > 1 ? traced_replica_value(which) : std::nullopt;
  return traced ? *traced : Tensor::scalar(int64_t{0});
}

Tensor sum_of_known(double own) {
  const auto traced = replicas_in_sync() > 1 ? traced_sum_of_known(own) : std::nullopt;
  return traced ? *traced : Tensor::scalar(own);
}

}  // namespace cornu
