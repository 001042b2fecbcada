// SPDX-License-Identifier: Apache-2.0
// What tasks ask each other for, and answer.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensor.h"

namespace cornu::distribute {

// A JSON object, and tensors of numbers.
struct CallMessage {
  Json json = Json::object();
  std::vector<Tensor> tensors = {};
};

// As bytes: the length of the head (4 bytes, little-endian), the head, a JSON array of the object
// and the tensors' dtypes and shapes, then their elements, one tensor behind the other. Tensors of
// 64 KiB and more are referred to, not copied.
grpc::ByteBuffer to_bytes(const CallMessage& message);
// DataLoss, saying what was expected, for bytes that are none. Memory is bounded by the bytes.
CallMessage parse_call(const grpc::ByteBuffer& bytes);

}  // namespace cornu::distribute
