// SPDX-License-Identifier: Apache-2.0
// Turns a callable that takes an element's components into a function from elements to datasets.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "data/map_function.h"

namespace cornu::data {

class Dataset;
using DatasetFunction = std::function<Dataset(const Element&)>;

namespace internal {

// Returns the result of `f` unchanged.
template <class F, class... Args, size_t... kIndex>
auto call_on_host(F& f, const Element& element, Parameters<Args...>,
                  std::index_sequence<kIndex...>) {
  if constexpr (sizeof...(Args) == 1 &&
                (std::is_same_v<std::remove_cvref_t<Args>, Element> && ...)) {
    return f(element);
  } else {
    require_components(element, sizeof...(Args));
    return f(argument<Args>(element, kIndex)...);
  }
}

template <class F, class... Args>
auto call_on_host(F& f, const Element& element, Parameters<Args...> parameters) {
  return call_on_host(f, element, parameters, std::index_sequence_for<Args...>());
}

}  // namespace internal

// `f` has the parameters of a map function (see map_function), called with values, and returns a
// Dataset.
template <class F>
DatasetFunction dataset_function(F f) {
  return [f = std::move(f)](const Element& element) mutable {
    return internal::call_on_host(f, element, internal::parameters<F>());
  };
}

}  // namespace cornu::data
