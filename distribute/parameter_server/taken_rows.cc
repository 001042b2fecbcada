// SPDX-License-Identifier: Apache-2.0
#include "distribute/parameter_server/taken_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/core/dtype.h"
#include "framework/core/error.h"
#include "framework/graph/refusals.h"

namespace cornu::distribute {
namespace {

// Converts to non-negative row numbers and checks them.
std::vector<int64_t> row_numbers(const Tensor& indices, const Shape& shape) {
  std::vector<int64_t> rows(static_cast<size_t>(indices.num_elements()));
  dispatch_dtype(indices.dtype(), [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      const T* values = reinterpret_cast<const T*>(indices.raw());
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto index = static_cast<int64_t>(values[i]);
        rows[i] = std::is_signed_v<T> && index < 0 ? index + shape[0] : index;
        if (static_cast<uint64_t>(rows[i]) >= static_cast<uint64_t>(shape[0])) {
          refuse_index("take", fmt::to_string(values[i]), 0, shape);
        }
      }
    }
  });
  return rows;
}

// The rows of one shard that a request needs, and their places in its result.
struct Share {
  size_t request = 0;
  std::vector<int64_t> places;
};

}  // namespace

std::vector<Tensor> take_rows(ServerLinks& servers, const std::vector<RowRequest>& requests) {
  std::vector<Tensor> results;
  std::vector<Share> shares;
  std::vector<ServerCall> calls;
  for (size_t request = 0; request < requests.size(); ++request) {
    const auto& [source, indices] = requests[request];
    results.push_back(Tensor::empty(indices.shape().concat(source->shape.slice(1)), source->dtype));
    const std::vector<int64_t> rows = row_numbers(indices, source->shape);
    std::vector<std::vector<int64_t>> wanted(source->shards.size());
    std::vector<Share> by_shard(source->shards.size(), Share{request, {}});
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto shard = static_cast<size_t>(std::ranges::upper_bound(source->ends, rows[i]) -
                                             source->ends.begin());
      wanted[shard].push_back(rows[i] - (shard == 0 ? 0 : source->ends[shard - 1]));
      by_shard[shard].places.push_back(static_cast<int64_t>(i));
    }
    for (size_t shard = 0; shard < wanted.size(); ++shard) {
      if (wanted[shard].empty()) continue;
      calls.push_back(
          {source->shards[shard].server,
           {Json::object({{"key", source->shards[shard].key}}), {Tensor::from(wanted[shard])}}});
      shares.push_back(std::move(by_shard[shard]));
    }
  }
  const std::vector<CallMessage> answers = servers.call("rows", std::move(calls));
  for (size_t i = 0; i < answers.size(); ++i) {
    Tensor& result = results[shares[i].request];
    const size_t row =
        requests[shares[i].request].source->shape.slice(1).num_bytes(size_of(result.dtype()));
    check<DataLoss>(answers[i].tensors.size() == 1,
                    "Parameter server: expected rows, got {} tensors.", answers[i].tensors.size());
    const Tensor& rows = answers[i].tensors.front();
    check<DataLoss>(rows.bytes() == row * shares[i].places.size(),
                    "Parameter server: expected {} rows of {} bytes, got {} bytes.",
                    shares[i].places.size(), row, rows.bytes());
    std::byte* to = result.mutable_raw();
    const std::byte* from = rows.raw();
    for (const int64_t place : shares[i].places) {
      std::memcpy(to + static_cast<size_t>(place) * row, from, row);
      from += row;
    }
  }
  return results;
}

}  // namespace cornu::distribute
