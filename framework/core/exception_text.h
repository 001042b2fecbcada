// SPDX-License-Identifier: Apache-2.0
// Reading and rethrowing stored exceptions.
#pragma once

#include <exception>
#include <string>

namespace cornu {

// Returns the error's message. `error` must not be null.
inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

// Throws an error that several threads share; `error` must not be null. Each caller throws a copy,
// since places and advice may be added to it. Exceptions that aren't Cornu's are rethrown as they
// are.
[[noreturn]] void rethrow_copy(const std::exception_ptr& error);

}  // namespace cornu
