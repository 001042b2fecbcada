// SPDX-License-Identifier: Apache-2.0
// Message streams between two tasks of a cluster.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "framework/core/json.h"

namespace cornu::distribute {

inline constexpr size_t kMaxMessage = size_t{4} << 20;  // bytes
// For messages from workers, which may still be strangers.
inline constexpr size_t kMaxToCoordinator = size_t{256} << 10;

// One end of a bidirectional stream of messages, each an object with a "kind". Thread-safe and
// non-blocking.
class Session {
 public:
  // on_message is called for incoming messages, one at a time, on the session's own threads; on_end
  // is called once, with the reason why no more messages will come. The listener isn't used after
  // on_end.
  struct Listener {
    std::function<void(const Json& message)> on_message;
    std::function<void(const std::string& why)> on_end;
  };

  virtual ~Session() = default;
  // No-op when the session has ended.
  virtual void send(const Json& message) = 0;
  // Ends the session once everything sent so far has gone out.
  virtual void close(const std::string& why) = 0;
  virtual std::string peer() const = 0;  // the peer's address, for error messages
};

// Parses a message. Throws DataLoss for malformed bytes.
Json parse_message(std::string_view bytes);

}  // namespace cornu::distribute
