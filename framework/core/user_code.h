// SPDX-License-Identifier: Apache-2.0
// Taking and calling user-supplied functions, which may be empty and throw anything.
#pragma once

#include <exception>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "framework/core/error.h"

namespace cornu {

// Returns the function that `who` was given. Throws InvalidArgument when it is empty.
template <class R, class... Args>
std::function<R(Args...)> given_function(std::function<R(Args...)> f, std::string_view who) {
  check<InvalidArgument>(f != nullptr, "{}: expected a function, got an empty one.", who);
  return f;
}

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
  } catch (const std::bad_function_call&) {
    InvalidArgument empty("expected a function, got an empty one.");
    empty.add_place(place());
    throw empty;
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
