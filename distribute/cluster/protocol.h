// SPDX-License-Identifier: Apache-2.0
// Definitions shared by both ends of a session.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "framework/core/json.h"

namespace cornu::distribute {

inline constexpr int64_t kProtocol = 1;

inline std::string worker_name(int rank, const std::string& address) {
  return fmt::format("worker {} ({})", rank, address);
}

inline Json lost_message(int rank, const std::string& name, const std::string& why) {
  return Json::object({{"kind", "lost"}, {"rank", int64_t{rank}}, {"name", name}, {"why", why}});
}

// From a worker: it knows that another worker has stopped. To the stopped worker: all others know.
inline Json heard_message() { return Json::object({{"kind", "heard"}}); }

}  // namespace cornu::distribute
