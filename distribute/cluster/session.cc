// SPDX-License-Identifier: Apache-2.0
#include "distribute/cluster/session.h"

#include "framework/core/error.h"

namespace cornu::distribute {

Json parse_message(std::string_view bytes) {
  check<DataLoss>(bytes.size() <= kMaxMessage,
                  "Cluster: expected a message of at most {} bytes, got {}.", kMaxMessage,
                  bytes.size());
  Json message;
  try {
    message = Json::parse(bytes);
  } catch (const Error& error) {
    raise<DataLoss>("Cluster: expected a message, an object with a kind: {}", error.what());
  }
  const Json* kind = message.is_object() ? message.find("kind") : nullptr;
  check<DataLoss>(kind && kind->is_string(),
                  "Cluster: expected a message, an object with a kind, got {}.", message.excerpt());
  return message;
}

}  // namespace cornu::distribute
