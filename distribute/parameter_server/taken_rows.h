// SPDX-License-Identifier: Apache-2.0
// Fetches rows of large variables by their numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "distribute/parameter_server/server_links.h"

namespace cornu::distribute {

// A variable kept by servers.
struct RowSource {
  std::vector<ShardPlace> shards;
  std::vector<int64_t> ends;  // by shard: end of its rows (exclusive)
  Shape shape;
  DType dtype = DType::Float32;
};

// The result of ops::take(x, indices, 0) for each request, fetched concurrently. Throws OutOfRange
// like take.
struct RowRequest {
  const RowSource* source = nullptr;
  Tensor indices;  // integers, on the host
};
std::vector<Tensor> take_rows(ServerLinks& servers, const std::vector<RowRequest>& requests);

}  // namespace cornu::distribute
