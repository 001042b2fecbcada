// SPDX-License-Identifier: Apache-2.0
// Batches produced by a user-supplied function, as read by fit(generator).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/strategy/batch_source.h"

namespace cornu {
namespace internal {

template <class T>
inline constexpr bool is_tuple = false;
template <class... Parts>
inline constexpr bool is_tuple<std::tuple<Parts...>> = (std::is_convertible_v<Parts, Tensors> &&
                                                        ...);
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = is_tuple<std::tuple<A, B>>;

// Elements of datasets: one Tensors for each component.
template <class T>
concept HasComponents = requires(const T& parts, size_t index) {
  { parts.size() } -> std::convertible_to<size_t>;
  { parts[index] } -> std::same_as<Tensors>;
};

// What a generator may return: a Batch, x, (x, y) or (x, y, sample_weight).
template <class T>
concept BatchLike = std::is_same_v<T, Batch> || std::is_convertible_v<T, Tensors> ||
    HasComponents<T> || is_tuple<T>;

// Throws InvalidArgument unless there are one to three components.
Batch batch_of(const std::vector<Tensors>& components);

template <BatchLike T>
Batch to_batch(const T& parts) {
  if constexpr (std::is_same_v<T, Batch>) {
    return parts;
  } else if constexpr (std::is_convertible_v<T, Tensors>) {
    return batch_of({Tensors(parts)});
  } else if constexpr (HasComponents<T>) {
    std::vector<Tensors> components;
    for (size_t i = 0; i < parts.size(); ++i) components.push_back(parts[i]);
    return batch_of(components);
  } else {
    return std::apply(
        [](const auto&... part) { return batch_of(std::vector<Tensors>{Tensors(part)...}); },
        parts);
  }
}

template <class F>
concept GivesBatches = requires(F& next) {
  { next().has_value() } -> std::convertible_to<bool>;
  { to_batch(*next()) } -> std::same_as<Batch>;
};

// A function that starts a pass: each call returns a function that returns batches.
template <class F>
concept BeginsPasses = requires(F& begin) {
  requires GivesBatches<std::remove_cvref_t<decltype(begin())>>;
};

}  // namespace internal

// A function without arguments that returns a batch in a std::optional with each call, and nullopt
// at the end; or a function that returns such a function for each pass.
template <class F>
concept BatchGenerator = (internal::GivesBatches<F> ||
                          internal::BeginsPasses<F>)&&std::copy_constructible<F>;

using NextBatch = std::function<std::optional<Batch>()>;

// Each pass uses the function returned by `begin`; the number of batches is unknown. Exceptions
// thrown by these functions propagate out of BatchIterator::next, with the batch's number.
// Positions are batch counts and are restored by skipping that many batches: passes must return the
// same batches if runs are to be resumed, or if several workers share them.
std::shared_ptr<BatchSource> make_generator_source(std::function<NextBatch()> begin);

// Overload for a generator. A generator that returns batches itself is copied for each pass, with
// its initial state. One that starts passes is copied once: its changes to its own state, such as a
// pass count, are visible in later calls.
template <BatchGenerator F>
std::shared_ptr<BatchSource> generator_source(const F& generator) {
  const auto batches_of = [](auto next) -> NextBatch {
    return [next = std::move(next)]() mutable -> std::optional<Batch> {
      auto parts = next();
      return parts ? std::optional(internal::to_batch(*parts)) : std::nullopt;
    };
  };
  if constexpr (internal::GivesBatches<F>) {
    return make_generator_source([generator, batches_of] { return batches_of(generator); });
  } else {
    return make_generator_source(
        [begin = std::make_shared<F>(generator), batches_of] { return batches_of((*begin)()); });
  }
}

// What fit, evaluate and predict accept besides arrays: a BatchSource, anything that converts to
// one (a Dataset), or a generator.
template <class T>
concept BatchProvider =
    !std::is_convertible_v<T, Tensors> &&
    (std::is_convertible_v<T, std::shared_ptr<BatchSource>> || BatchGenerator<T>);

template <BatchProvider T>
std::shared_ptr<BatchSource> source_of(const T& batches) {
  if constexpr (std::is_convertible_v<T, std::shared_ptr<BatchSource>>) {
    return static_cast<std::shared_ptr<BatchSource>>(batches);
  } else {
    return generator_source(batches);
  }
}

}  // namespace cornu
