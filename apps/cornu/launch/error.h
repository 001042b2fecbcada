// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace apps {

// Thrown when a job can't be started; the text says what to do.
struct LaunchError : std::runtime_error {
  explicit LaunchError(const std::string& text, int exit_code = 1)
      : std::runtime_error(text), code(exit_code) {}
  int code;
};

template <class... Args>
[[noreturn]] void fail_launch(fmt::format_string<Args...> format, Args&&... args) {
  throw LaunchError(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace apps
