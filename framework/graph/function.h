// SPDX-License-Identifier: Apache-2.0
// Compiled functions: C++ code over tensors, traced once for each input signature.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cornu/core/tensors.h"
#include "cornu/graph/backend.h"

namespace cornu {

struct FunctionOptions {
  std::string name = "function";
  bool run_eagerly = false;  // call the body each time instead of compiling it
  bool optimize = true;
};

// One traced and compiled signature of a function.
struct CompiledFunction {
  Graph graph;  // as traced, before the backend's passes
  std::vector<Variable> variables;
  std::unique_ptr<Executable> executable;
  uint64_t runs = 0;
};

// A cheap handle on a traced function. Called under another trace, its body is traced inline.
// Traced on the caller's thread, never concurrently; not thread-safe.
class Function {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

  Function() = default;
  explicit Function(Body body, const FunctionOptions& options = {});

  bool defined() const { return state_ != nullptr; }
  // Runs on CPU:0's backend as a single replica. C++ scalars among the arguments become tensors.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs) const;
  template <class... Args>
  requires(std::is_convertible_v<Args, Tensor>&&...) Tensors operator()(const Args&... args) const {
    return Tensors(call({Tensor(args)...}));
  }

  // The compiled form for these inputs, traced on first use: what strategies run.
  CompiledFunction& compiled(const std::vector<Tensor>& inputs) const;
  // How often the body has been traced.
  int64_t trace_count() const;
  const FunctionOptions& options() const;
  const Body& body() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

namespace internal {

inline void flatten_into(std::vector<Tensor>& out, const Tensor& tensor) { out.push_back(tensor); }
inline void flatten_into(std::vector<Tensor>& out, const std::vector<Tensor>& list) {
  out.insert(out.end(), list.begin(), list.end());
}
inline void flatten_into(std::vector<Tensor>& out, const Tensors& list) {
  flatten_into(out, list.list());
}
template <class... T>
void flatten_into(std::vector<Tensor>& out, const std::tuple<T...>& parts) {
  std::apply([&](const auto&... part) { (flatten_into(out, part), ...); }, parts);
}
template <class A, class B>
void flatten_into(std::vector<Tensor>& out, const std::pair<A, B>& parts) {
  flatten_into(out, parts.first);
  flatten_into(out, parts.second);
}

template <class F, size_t... kIndex>
Function::Body make_body(F f, std::index_sequence<kIndex...>) {
  return [f = std::move(f)](const std::vector<Tensor>& inputs) mutable {
    check<InvalidArgument>(inputs.size() == sizeof...(kIndex),
                           "function: expected {} arguments, got {}.", sizeof...(kIndex),
                           inputs.size());
    std::vector<Tensor> outputs;
    if constexpr (std::is_void_v<decltype(f(inputs[kIndex]...))>) {
      f(inputs[kIndex]...);
    } else {
      flatten_into(outputs, f(inputs[kIndex]...));
    }
    return outputs;
  };
}

// How many tensors a callable takes: the first count from `kLeast` to 8 that it can be called with;
// -1: none.
template <class F, size_t... kIndex>
constexpr bool takes(std::index_sequence<kIndex...>) {  // std::is_invocable has longer errors
  return requires(F & f, const Tensor& x) { f(((void)kIndex, x)...); };
}
template <class F, int kLeast = 0>
constexpr int arity() {
  if constexpr (kLeast > 8) {
    return -1;
  } else if constexpr (takes<F>(std::make_index_sequence<size_t{kLeast}>())) {
    return kLeast;
  } else {
    return arity<F, kLeast + 1>();
  }
}

// Takes and returns a list. Not tried with a generic lambda, whose body has just been found wrong
// with tensors: one error is enough.
template <class F>
concept OfList = (std::is_pointer_v<F> ||
                  requires { typename std::type_identity_t<decltype(&F::operator())>; }) &&
                 requires(F& f, const std::vector<Tensor>& list) {
  std::vector<Tensor>(f(list));
};

// Can flatten_into take it?
template <class T>
struct IsTensors : std::bool_constant<std::is_void_v<T> || std::is_convertible_v<T, Tensor> ||
                                      std::is_convertible_v<T, std::vector<Tensor>> ||
                                      std::is_convertible_v<T, Tensors>> {};
template <class... T>
struct IsTensors<std::tuple<T...>> : std::conjunction<IsTensors<T>...> {};
template <class A, class B>
struct IsTensors<std::pair<A, B>> : std::conjunction<IsTensors<A>, IsTensors<B>> {};

template <class F, size_t... kIndex>
constexpr bool returns_tensors(std::index_sequence<kIndex...>) {
  using Result = decltype(std::declval<F&>()(((void)kIndex, std::declval<const Tensor&>())...));
  return IsTensors<std::remove_cvref_t<Result>>::value;
}

}  // namespace internal

// Wraps a callable of up to eight tensors that returns nothing, a tensor, or a pair, tuple or
// vector of them. C++ scalars it captures are baked in at the first trace; variables are state.
template <class F>
Function function(F f, const FunctionOptions& options = {}) {
  constexpr int kArity = internal::arity<F>();
  if constexpr (kArity >= 0) {
    constexpr auto kIndices = std::make_index_sequence<static_cast<size_t>(kArity)>();
    constexpr bool kReturnsTensors = internal::returns_tensors<F>(kIndices);
    static_assert(kReturnsTensors,
                  "function(f): f must return nothing, a Tensor, Tensors, or a pair, tuple or "
                  "vector of tensors");
    if constexpr (kReturnsTensors) {
      return Function(internal::make_body(std::move(f), kIndices), options);
    } else {
      return Function();
    }
  } else {
    static_assert(internal::OfList<F>,
                  "function(f): f must be callable with up to eight arguments of const Tensor&, or "
                  "take and return a std::vector<Tensor>. What isn't a tensor is captured: "
                  "[rate](const Tensor& x) { ... }");
    if constexpr (internal::OfList<F>) {
      return Function(Function::Body(std::move(f)), options);
    } else {
      return Function();
    }
  }
}

}  // namespace cornu
