// SPDX-License-Identifier: Apache-2.0
// Error messages.
#pragma once

#include <string>

#include "framework/core/error.h"

namespace cornu::test {

// Returns the message of the error of this kind that `body` throws. When it throws another kind, or
// nothing, the returned text says so and matches no expected message.
template <class Kind = InvalidArgument, class F>
std::string message_of(F&& body) {
  try {
    body();
  } catch (const Kind& error) {
    return error.what();
  } catch (const Error& error) {
    return std::string("another kind, ") + to_string(error.code()) + ": " + error.what();
  }
  return "nothing thrown";
}

}  // namespace cornu::test
