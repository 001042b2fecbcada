// SPDX-License-Identifier: Apache-2.0
// How variables are divided among parameter servers (tf.distribute.experimental.partitioners).
#pragma once

#include <cstdint>
#include <functional>

#include "framework/core/dtype.h"
#include "framework/core/shape.h"

namespace cornu::distribute {

// Into how many parts along the first axis a variable is divided, at least 1; more than it has rows
// count as that many. A program's own is any function.
using Partitioner = std::function<int64_t(const Shape& shape, DType dtype)>;

namespace partitioners {

struct FixedShardsPartitionerOptions {
  int64_t num_shards = 1;
};
// As many as that. InvalidArgument below 1.
Partitioner FixedShardsPartitioner(const FixedShardsPartitionerOptions& options);

struct MinSizePartitionerOptions {
  int64_t min_shard_bytes = 256 << 10;
  int64_t max_shards = 1;
};
// As many as have so many bytes each, at most max_shards. InvalidArgument for numbers below 1.
Partitioner MinSizePartitioner(const MinSizePartitionerOptions& options = {});

struct MaxSizePartitionerOptions {
  int64_t max_shard_bytes = 1;
  int64_t max_shards = 0;  // 0: any
};
// As few as have at most so many bytes each, at most max_shards. InvalidArgument where
// max_shard_bytes is below 1, or max_shards below 0.
Partitioner MaxSizePartitioner(const MaxSizePartitionerOptions& options);

}  // namespace partitioners
}  // namespace cornu::distribute
