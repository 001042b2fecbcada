// SPDX-License-Identifier: Apache-2.0
// Divides a dataset among several workers (AutoShardPolicy).
#pragma once

#include <optional>
#include <string>

#include "data/node.h"

namespace cornu::data {

struct WorkerShare {
  NodePtr node;
  std::string plan;  // human-readable: "worker 0 of 2 reads 3 of 5 files"
};

// The part of a dataset of batches that worker `index` of `count` gets. All workers' parts have the
// same number of batches; the last ones have no rows where necessary. Throws InvalidArgument unless
// 0 <= index < count, and when the dataset's policy needs files or hints that don't exist.
WorkerShare share_of_worker(const NodePtr& batches, int64_t count, int64_t index);

// Whether a link of the chain reads files.
bool reads_files(const Node& chain);

// The number of file names; nullopt if it is unknown or infinite.
std::optional<int64_t> count_of_names(const Node& names);

// The chain applied to the given part of each file's records. Null if one of its sources doesn't
// read files, or if a link yields other examples when applied to parts.
NodePtr part_of_records(const NodePtr& chain, const WorkerPart& part);

}  // namespace cornu::data
