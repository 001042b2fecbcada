// SPDX-License-Identifier: Apache-2.0
// Calls user-supplied functions, which may throw anything.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "framework/core/error.h"

namespace cornu::data {

// Returns the result of `f`. An exception that isn't an Error is converted to an InvalidArgument
// whose message begins with `place()`; the original exception is nested in it
// (std::rethrow_if_nested).
template <class Place, class F>
auto call_user(const Place& place, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(InvalidArgument(place() + ": " + error.what()));
  }
}

}  // namespace cornu::data
