// SPDX-License-Identifier: Apache-2.0
// Requests and responses of calls between tasks.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"

namespace cornu::distribute {

// A JSON object plus numeric tensors.
struct CallMessage {
  Json json = Json::object();
  std::vector<Tensor> tensors = {};
};

// Serializes the message: the length of the header (4 bytes, little-endian), the header (a JSON
// array of the object and the tensors' dtypes and shapes), then the elements of the tensors one
// after another. Tensors of 64 KiB and more are referenced, not copied.
grpc::ByteBuffer to_bytes(const CallMessage& message);
// Throws DataLoss, stating what was expected, for malformed bytes. Memory use is bounded by the
// size of the input.
CallMessage parse_call(const grpc::ByteBuffer& bytes);

}  // namespace cornu::distribute
