// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu::distribute {

// Values by local replica (tf.distribute.DistributedValues): a structure of tensors for each, or
// several, the arguments of a step.
//
//   const PerReplica results = strategy.run(step, batch);  // a step that returns named tensors
//   strategy.reduce(ReduceOp::Sum, results.at("loss"));
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<Tensors> values) : values_(std::move(values)) {}
  static PerReplica of_arguments(std::vector<std::vector<Tensors>> by_replica);

  // By replica; the tensors of several arguments are one list, without names.
  const std::vector<Tensors>& values() const& { return values_; }
  std::vector<Tensors> values() && { return std::move(values_); }
  size_t size() const { return values_.size(); }
  // OutOfRange for a replica that there isn't.
  const Tensors& operator[](size_t replica) const;
  // A replica's arguments. As above.
  std::vector<Tensors> arguments(size_t replica) const;

  // One tensor of each replica's: one of its outputs, or a component of its part of a batch. By its
  // place among all; OutOfRange. By name; NotFound, with the nearest known one.
  PerReplica at(size_t place) const;
  PerReplica at(std::string_view name) const;

 private:
  std::vector<Tensors> values_;
  std::vector<std::vector<Tensors>> arguments_;  // empty: the values are
};

// What an input function is told about the pipeline it makes (tf.distribute.InputContext).
struct InputContext {
  int64_t num_input_pipelines = 1;
  int64_t input_pipeline_id = 0;
  int64_t num_replicas_in_sync = 1;
  // InvalidArgument unless the replicas divide it.
  int64_t get_per_replica_batch_size(int64_t global_batch_size) const;
};

// What a function that makes replicas' values is told (tf.distribute.experimental.ValueContext).
struct ValueContext {
  int64_t replica_id_in_sync_group = 0;
  int64_t num_replicas_in_sync = 1;
};

}  // namespace cornu::distribute
