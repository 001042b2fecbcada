// SPDX-License-Identifier: Apache-2.0
// The texts of errors.
#pragma once

#include <string>

#include "framework/core/error.h"

namespace cornu::test {

// The text of the error of this kind that `body` throws. Where it throws another kind, or nothing,
// the text says so, and is none that a test expects.
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
