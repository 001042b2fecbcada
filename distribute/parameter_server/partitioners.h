// SPDX-License-Identifier: Apache-2.0
// How variables are sharded across parameter servers (tf.distribute.experimental.partitioners).
#pragma once

#include <cstdint>
#include <functional>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"

namespace cornu::distribute {

// Returns the number of shards of a variable along its first axis, at least 1; the number of rows
// is the maximum. Any function can be used.
using Partitioner = std::function<int64_t(const Shape& shape, DType dtype)>;

namespace partitioners {

struct FixedShardsPartitionerOptions {
  int64_t num_shards = 1;
};
// Always `num_shards`. Throws InvalidArgument when it is below 1.
Partitioner FixedShardsPartitioner(const FixedShardsPartitionerOptions& options);

struct MinSizePartitionerOptions {
  int64_t min_shard_bytes = 256 << 10;
  int64_t max_shards = 1;
};
// The largest number of shards of at least `min_shard_bytes` each, up to max_shards. Throws
// InvalidArgument for options below 1.
Partitioner MinSizePartitioner(const MinSizePartitionerOptions& options = {});

struct MaxSizePartitionerOptions {
  int64_t max_shard_bytes = 1;
  int64_t max_shards = 0;  // 0: any
};
// The smallest number of shards of at most `max_shard_bytes` each, up to max_shards. Throws
// InvalidArgument when max_shard_bytes is below 1 or max_shards below 0.
Partitioner MaxSizePartitioner(const MaxSizePartitionerOptions& options);

}  // namespace partitioners
}  // namespace cornu::distribute
