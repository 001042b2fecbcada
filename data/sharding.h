// SPDX-License-Identifier: Apache-2.0
// What each of several workers gets of a dataset (AutoShardPolicy).
#pragma once

#include <optional>
#include <string>

#include "data/node.h"

namespace cornu::data {

struct WorkerShare {
  NodePtr node;
  std::string plan;  // for people: "worker 0 of 2 reads 3 of 5 files"
};

// The part of worker `index` of `count` of a dataset of batches. Every worker's part has as many
// batches, the last ones with no rows where need be. InvalidArgument unless 0 <= index < count, and
// where the dataset's policy needs files or hints that there aren't.
WorkerShare share_of_worker(const NodePtr& batches, int64_t count, int64_t index);

// Does a link of the chain read files?
bool reads_files(const Node& chain);

// How many there are, each a file's; nullopt where nobody knows, or they never end.
std::optional<int64_t> count_of_names(const Node& names);

// The chain on this part of each file's records. Null where a source of it reads no files, or a
// link gives other examples of parts.
NodePtr part_of_records(const NodePtr& chain, const WorkerPart& part);

}  // namespace cornu::data
