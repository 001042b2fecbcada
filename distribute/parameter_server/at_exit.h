// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace cornu::distribute {

// Calls a function if the process exits while this is alive, before the exit handlers of libraries
// that have been used by the time of the first instance. Not in forked processes. Destroying it
// waits for the function, if it is being called.
class [[nodiscard]] AtExit {
 public:
  explicit AtExit(std::function<void()> function);
  ~AtExit();
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;

 private:
  uint64_t number_;
};

}  // namespace cornu::distribute
