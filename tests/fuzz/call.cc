// SPDX-License-Identifier: Apache-2.0
// Messages of calls between tasks: everything that parses reads back the same after being written.
#include <grpcpp/support/slice.h>

#include <cstring>

#include "distribute/cluster/call_message.h"
#include "tests/fuzz/support.h"

namespace {

using namespace cornu;

grpc::ByteBuffer buffer_of(std::span<const uint8_t> bytes) {
  // In two slices, like received messages.
  const size_t half = bytes.size() / 2;
  const grpc::Slice slices[] = {grpc::Slice(bytes.data(), half),
                                grpc::Slice(bytes.data() + half, bytes.size() - half)};
  return grpc::ByteBuffer(slices, 2);
}

bool alike(const distribute::CallMessage& a, const distribute::CallMessage& b) {
  if (a.json.dump() != b.json.dump() || a.tensors.size() != b.tensors.size()) return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const Tensor& x = a.tensors[i];
    const Tensor& y = b.tensors[i];
    if (x.shape() != y.shape() || x.dtype() != y.dtype()) return false;
    if (x.bytes() > 0 && std::memcmp(x.raw(), y.raw(), x.bytes()) != 0) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::attempt([&] {
    const distribute::CallMessage message = distribute::parse_call(buffer_of({data, size}));
    fuzz::require(alike(message, distribute::parse_call(distribute::to_bytes(message))),
                  "messages read back");
  });
}
