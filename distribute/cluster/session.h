// SPDX-License-Identifier: Apache-2.0
// Messages between two tasks of a cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "framework/core/json.h"

namespace cornu::distribute {

inline constexpr size_t kLargestMessage = size_t{4} << 20;  // bytes
// Of workers, which may be strangers yet.
inline constexpr size_t kLargestToCoordinator = size_t{256} << 10;

// One end of a stream of messages, both ways, each an object with a "kind". Thread-safe; nothing
// waits.
class Session {
 public:
  // What it does with messages that come, one at a time, on threads of its own, and once with the
  // reason why no more will. After on_end nothing of the listener is used.
  struct Listener {
    std::function<void(const Json& message)> on_message;
    std::function<void(const std::string& why)> on_end;
  };

  virtual ~Session() = default;
  // Ignored when the session has ended.
  virtual void send(const Json& message) = 0;
  // Ends it, when what was sent has left.
  virtual void close(const std::string& why) = 0;
  virtual std::string peer() const = 0;  // its address, for messages
};

// The message in these bytes. DataLoss where they are none.
Json parse_message(std::string_view bytes);

}  // namespace cornu::distribute
