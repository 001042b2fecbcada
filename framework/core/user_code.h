// SPDX-License-Identifier: Apache-2.0
// Calling user-supplied functions, which may throw anything.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "framework/core/error.h"

namespace cornu {

// Calls `f` and returns its result. An exception that isn't an Error becomes an InvalidArgument
// whose message begins with place(), and which nests it (std::rethrow_if_nested).
template <class Place, class F>
auto call_user(const Place& place, F&& f) {
  try {
    return f();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    InvalidArgument typed(error.what());
    typed.add_place(place());
    std::throw_with_nested(typed);
  }
}

// The same, and an Error gets place() as one more place.
template <class Place, class F>
auto with_place(const Place& place, F&& f) {
  try {
    return call_user(place, std::forward<F>(f));
  } catch (Error& error) {
    error.add_place(place());
    throw;
  }
}

}  // namespace cornu
