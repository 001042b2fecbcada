// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu::distribute {

// Values by local replica (tf.distribute.DistributedValues): for each replica, one structure of
// tensors, or several as the arguments of a step.
//
//   const PerReplica results = strategy.run(step, batch);  // a step that returns named tensors
//   strategy.reduce(ReduceOp::Sum, results.at("loss"));
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<Tensors> values) : values_(std::move(values)) {}
  static PerReplica of_arguments(std::vector<std::vector<Tensors>> by_replica);

  // Values by replica; the tensors of several arguments form one list, without names.
  const std::vector<Tensors>& values() const& { return values_; }
  std::vector<Tensors> values() && { return std::move(values_); }
  size_t size() const { return values_.size(); }
  // Throws OutOfRange for a nonexistent replica.
  const Tensors& operator[](size_t replica) const;
  // The arguments of a replica. Throws as above.
  std::vector<Tensors> arguments(size_t replica) const;

  // Selects one tensor of each replica: one of its outputs, or a component of its part of a batch.
  // By index; throws OutOfRange. By name; throws NotFound, with the nearest known name.
  PerReplica at(size_t place) const;
  PerReplica at(std::string_view name) const;

 private:
  std::vector<Tensors> values_;
  std::vector<std::vector<Tensors>> arguments_;  // if empty, `values_` are the arguments
};

// Information for an input function about the pipeline it creates (tf.distribute.InputContext).
struct InputContext {
  int64_t num_input_pipelines = 1;
  int64_t input_pipeline_id = 0;
  int64_t num_replicas_in_sync = 1;
  // Throws InvalidArgument unless it is divisible by the number of replicas.
  int64_t get_per_replica_batch_size(int64_t global_batch_size) const;
};

// Information for a function that creates per-replica values
// (tf.distribute.experimental.ValueContext).
struct ValueContext {
  int64_t replica_id_in_sync_group = 0;
  int64_t num_replicas_in_sync = 1;
};

}  // namespace cornu::distribute
