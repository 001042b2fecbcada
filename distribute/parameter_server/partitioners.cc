// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/partitioners.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::distribute::partitioners {
namespace {

void require_least(const char* who, const char* option, int64_t value, int64_t least) {
  check<InvalidArgument>(value >= least, "{}: expected {} of at least {}, got {}.", who, option,
                         least, value);
}

}  // namespace

Partitioner FixedShardsPartitioner(const FixedShardsPartitionerOptions& options) {
  require_least("FixedShardsPartitioner", "num_shards", options.num_shards, 1);
  return [shards = options.num_shards](const Shape&, DType) { return shards; };
}

Partitioner MinSizePartitioner(const MinSizePartitionerOptions& options) {
  require_least("MinSizePartitioner", "min_shard_bytes", options.min_shard_bytes, 1);
  require_least("MinSizePartitioner", "max_shards", options.max_shards, 1);
  return [options](const Shape& shape, DType dtype) {
    const auto bytes = static_cast<int64_t>(shape.num_bytes(size_of(dtype)));
    return std::clamp<int64_t>(bytes / options.min_shard_bytes, 1, options.max_shards);
  };
}

Partitioner MaxSizePartitioner(const MaxSizePartitionerOptions& options) {
  require_least("MaxSizePartitioner", "max_shard_bytes", options.max_shard_bytes, 1);
  require_least("MaxSizePartitioner", "max_shards", options.max_shards, 0);
  return [options](const Shape& shape, DType dtype) {
    const int64_t rows = shape.empty() ? 1 : std::max<int64_t>(1, shape[0]);
    const auto row = static_cast<int64_t>(shape.num_bytes(size_of(dtype))) / rows;
    const int64_t fit = std::max<int64_t>(1, options.max_shard_bytes / std::max<int64_t>(1, row));
    const int64_t shards = (rows + fit - 1) / fit;
    return options.max_shards == 0 ? shards : std::min(shards, options.max_shards);
  };
}

}  // namespace cornu::distribute::partitioners
