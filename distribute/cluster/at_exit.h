// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace cornu::distribute {

// Calls a function with the exit code if the process exits while this is alive, before the exit
// handlers of libraries that have been used by the time of the first instance; the latest
// instance's comes first. Not in processes forked meanwhile. Destroying it waits for the functions,
// if they are being called.
class [[nodiscard]] AtExit {
 public:
  explicit AtExit(std::function<void(int code)> function);
  ~AtExit();
  AtExit(const AtExit&) = delete;
  AtExit& operator=(const AtExit&) = delete;

 private:
  uint64_t number_;
};

}  // namespace cornu::distribute
