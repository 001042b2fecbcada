// SPDX-License-Identifier: Apache-2.0
// Calling user-supplied functions, which may throw anything.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "framework/core/error.h"

namespace cornu {

// Calls `f` and returns its result. Adds place() to its errors: an Error gets one more place; any
// other exception becomes an InvalidArgument that nests it (std::rethrow_if_nested).
template <class Place, class F>
auto with_place(const Place& place, F&& f) {
  try {
    return f();
  } catch (Error& error) {
    error.add_place(place());
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    InvalidArgument typed(error.what());
    typed.add_place(place());
    std::throw_with_nested(typed);
  }
}

}  // namespace cornu
