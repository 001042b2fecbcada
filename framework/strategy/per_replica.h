// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "framework/core/tensors.h"

namespace cornu::distribute {

// One structure of tensors for each local replica (tf.distribute.DistributedValues).
class PerReplica {
 public:
  PerReplica() = default;
  explicit PerReplica(std::vector<Tensors> values) : values_(std::move(values)) {}
  const std::vector<Tensors>& values() const& { return values_; }
  std::vector<Tensors> values() && { return std::move(values_); }
  size_t size() const { return values_.size(); }
  // OutOfRange for a replica that there isn't.
  const Tensors& operator[](size_t replica) const {
    check<OutOfRange>(replica < values_.size(),
                      "PerReplica: expected a replica in [0, {}), got {}.", values_.size(),
                      replica);
    return values_[replica];
  }

 private:
  std::vector<Tensors> values_;
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
