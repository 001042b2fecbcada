// SPDX-License-Identifier: Apache-2.0
// Turns any callable on tensors into a function on elements.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "data/element.h"
#include "framework/graph/function.h"

namespace cornu::data {

class LinkWriter;

// A function on elements, and some of its properties.
class MapFunction {
 public:
  template <class F>
  requires(!std::is_same_v<F, MapFunction> && std::is_invocable_r_v<Element, F&, const Element&>)
      MapFunction(F f, bool works_on_batches = false)  // NOLINT: implicit on purpose
      : f_(std::move(f)), works_on_batches_(works_on_batches) {}

  Element operator()(const Element& element) const { return f_(element); }
  // Whether applying it to a batch is the same as applying it to each row and stacking the results,
  // with no random numbers involved.
  bool works_on_batches() const { return works_on_batches_; }

  // Serializes which function it is and its arguments, for another process that has the function,
  // too (data/serialization/host_functions.h). If empty, the function can't be serialized unless it
  // is traced.
  using Write = std::function<void(LinkWriter&)>;
  const Write& write() const { return write_; }
  void set_write(Write write) { write_ = std::move(write); }

 private:
  std::function<Element(const Element&)> f_;
  bool works_on_batches_;
  Write write_;
};

namespace internal {

// Converts a function's result: pairs, tuples and vectors have one component per member, to any
// depth.
inline Element to_element(const Tensor& tensor) { return tensor; }
inline Element to_element(const Tensors& tensors) { return tensors; }
inline Element to_element(const Element& element) { return element; }
inline Element to_element(const std::vector<Tensor>& tensors) {
  return Element(std::vector<Tensors>(tensors.begin(), tensors.end()));
}
template <class A, class B>
Element to_element(const std::pair<A, B>& parts);
template <class... T>
Element to_element(const std::tuple<T...>& parts) {
  return std::apply([](const auto&... part) { return Element::tuple({to_element(part)...}); },
                    parts);
}
template <class A, class B>
Element to_element(const std::pair<A, B>& parts) {
  return Element::tuple({to_element(parts.first), to_element(parts.second)});
}

// The types of a callable's parameters; for a generic callable (`[](auto x)`), they are tensors.
template <class... Args>
struct Parameters {};
template <class R, class... Args>
Parameters<Args...> parameters_of(R (*)(Args...));
template <class C, class R, class... Args>
Parameters<Args...> parameters_of(R (C::*)(Args...));
template <class C, class R, class... Args>
Parameters<Args...> parameters_of(R (C::*)(Args...) const);
template <class C, class R, class... Args>
Parameters<Args...> parameters_of(R (C::*)(Args...) noexcept);
template <class C, class R, class... Args>
Parameters<Args...> parameters_of(R (C::*)(Args...) const noexcept);

template <size_t... kIndex>
Parameters<decltype((void)kIndex, std::declval<const Tensor&>())...> tensor_parameters(
    std::index_sequence<kIndex...>);

// Without the last parameters that have default values: the fewest with which F can be called.
template <class F, class... Taken>
Parameters<Taken...> required_parameters(Parameters<Taken...>, Parameters<>);
template <class F, class... Taken, class Next, class... Rest>
auto required_parameters(Parameters<Taken...>, Parameters<Next, Rest...>) {
  if constexpr (sizeof...(Taken) > 0 && std::is_invocable_v<F&, Taken...>) {
    return Parameters<Taken...>();
  } else {
    return decltype(required_parameters<F>(Parameters<Taken..., Next>(), Parameters<Rest...>())){};
  }
}

template <class F>
auto parameters() {
  if constexpr (requires { &F::operator(); }) {
    using All = decltype(parameters_of(&F::operator()));
    return decltype(required_parameters<F>(Parameters<>(), All())){};
  } else if constexpr (std::is_pointer_v<F>) {
    return decltype(parameters_of(std::declval<F>())){};
  } else {
    constexpr int kArity = cornu::internal::arity<F, 1>();
    static_assert(kArity > 0, "map(f): f must be callable with up to eight tensors");
    return decltype(tensor_parameters(
        std::make_index_sequence<static_cast<size_t>(kArity > 0 ? kArity : 1)>())){};
  }
}

// Component `index`, converted for a parameter of type Arg.
template <class Arg>
decltype(auto) argument(const Element& element, size_t index) {
  if constexpr (std::is_same_v<std::remove_cvref_t<Arg>, Tensors>) {
    return element[index];
  } else if constexpr (std::is_same_v<std::remove_cvref_t<Arg>, Element>) {
    return element.component(index);
  } else {
    return element.tensor(index);
  }
}

template <class F, class... Args, size_t... kIndex>
Element call_with(F& f, const Element& element, Parameters<Args...>,
                  std::index_sequence<kIndex...>) {
  if constexpr (sizeof...(Args) == 1 &&
                (std::is_same_v<std::remove_cvref_t<Args>, Element> && ...)) {
    return to_element(f(element));
  } else {
    require_components(element, sizeof...(Args));
    return to_element(f(argument<Args>(element, kIndex)...));
  }
}

template <class F, class... Args>
Element call_with(F& f, const Element& element, Parameters<Args...> parameters) {
  return call_with(f, element, parameters, std::index_sequence_for<Args...>());
}

}  // namespace internal

// `f` takes one argument per component: a Tensor, or Tensors or an Element for a component with
// several tensors; or the whole Element as its only argument. Parameters with default values keep
// them, so that layers can be passed: `dataset.map(layers::RandomFlip())`. It returns a Tensor,
// Tensors, an Element, or a pair, tuple or vector of these. Function objects may declare with `bool
// works_on_batches() const` that they can be applied to batches, and define with `void
// write(LinkWriter&) const` how they are serialized.
template <class F>
MapFunction map_function(F f) {
  bool works_on_batches = false;
  if constexpr (requires { bool{f.works_on_batches()}; }) works_on_batches = f.works_on_batches();
  MapFunction::Write write;
  if constexpr (requires(const F& of, LinkWriter& link) { of.write(link); }) {
    write = [f](LinkWriter& link) { f.write(link); };
  }
  const auto call = [f = std::move(f)](const Element& element) mutable {
    return internal::call_with(f, element, internal::parameters<F>());
  };
  MapFunction made(call, works_on_batches);
  made.set_write(std::move(write));
  return made;
}

}  // namespace cornu::data
