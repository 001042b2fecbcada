// SPDX-License-Identifier: Apache-2.0
// Errors that are kept: what they say, and throwing them.
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

// Throws an error that several threads have, which isn't null: to each a copy, since places and
// advice are added to what is thrown. What Cornu has no class for is thrown itself.
[[noreturn]] void rethrow_copy(const std::exception_ptr& error);

}  // namespace cornu
