// SPDX-License-Identifier: Apache-2.0
// Rows of large variables, asked for by their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/parameter_server/server_links.h"

namespace cornu::distribute {

// A variable that servers keep.
struct RowSource {
  std::vector<ShardPlace> shards;
  std::vector<int64_t> ends;  // by shard: the row behind its last one
  Shape shape;
  DType dtype = DType::Float32;
};

// What ops::take(x, indices, 0) gives of each, all at once. OutOfRange as that.
struct RowRequest {
  const RowSource* source = nullptr;
  Tensor indices;  // integers, on the host
};
std::vector<Tensor> take_rows(ServerLinks& servers, const std::vector<RowRequest>& requests);

}  // namespace cornu::distribute
