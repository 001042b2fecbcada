// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace cornu {

// What an error says, which isn't null.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

}  // namespace cornu
