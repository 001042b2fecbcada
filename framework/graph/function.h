// SPDX-License-Identifier: Apache-2.0
// Compiled functions: C++ code on tensors, traced once per input signature.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensors.h"
#include "framework/graph/backend.h"
#include "framework/graph/replica.h"

namespace cornu {

struct FunctionOptions {
  std::string name = "function";
  // Call the body each time instead of compiling it. With several replicas, trace it each time and
  // run the graph op by op.
  bool run_eagerly = false;
  bool optimize = true;
  // Maximum number of compiled signatures that are kept (>= 1). Beyond it, the least recently used
  // one is dropped together with its memory, and traced again when needed.
  int64_t max_signatures = 64;
};

// Costs and sizes of one traced and compiled signature of a function.
struct CompileReport {
  std::string name;              // of the function
  std::string signature;         // "argument 0: float32 (32, 784), argument 1: int32 (32,)"
  int64_t traced_nodes = 0;      // of the graph as traced
  int64_t compiled_nodes = 0;    // after the backend's passes
  double tracing_seconds = 0;    // time in the body, including everything it calls
  double compiling_seconds = 0;  // time in the backend: passes, memory plan, kernels
  size_t workspace_bytes = 0;    // for intermediate values; one block per concurrent run
};

// One traced and compiled signature of a function. Callers keep it alive while they run it; several
// threads may run it concurrently.
struct CompiledFunction {
  Graph graph;  // as traced, before the backend's passes
  std::vector<Variable> variables;
  std::unique_ptr<Executable> executable;
  Device device;              // the device it was compiled for
  bool optimized = true;      // with the backend's passes
  Tensors structure;          // of the results, with undefined tensors
  bool has_key = false;       // has an input uint32[2], the key that unseeded random ops draw from
  bool communicates = false;  // whether it takes part in collectives
  std::vector<ReplicaValue> replica_values;  // inputs after the key
  std::vector<double> replica_sums;          // the inputs after those; here this replica's parts
  std::string name;                          // of the function
  std::string signature;                     // readable text of its arguments
  double tracing_seconds = 0;
  double compiling_seconds = 0;

  CompileReport report() const;
  // The inputs of a run, on `device`: the tensors of all arguments, the key if has_key (`key`, or
  // the next one of this thread's sequence), the replica_values, and the sums of `replica`.
  std::vector<Tensor> inputs(const std::vector<Tensors>& arguments,
                             std::optional<uint64_t> key = {}, const Replica& replica = {}) const;
};

// A cheap handle to a traced function, whose body takes tensors or structures of tensors. When
// called during another trace, its body is traced inline. When called while a GradientTape watches
// an argument, or a variable or constant that it uses, its body runs op by op so that the tape sees
// it. A body may call functions, including itself if C++ values end the recursion; throws
// FailedPrecondition when calls nest too deeply.
//
// A signature is everything a trace depends on: dtypes, shapes, structure and names of the
// arguments, the device, and the replica (how many there are, how many examples it has). Each
// signature is traced once, on the caller's thread; a process runs one trace at a time. Many
// retraces cause one warning, which says what changed.
//
// Thread-safe, unless run_eagerly: several threads may call one function concurrently. Runs that
// write the same variables exclude each other.
class Function {
 public:
  using Body = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
  using StructuredBody = std::function<Tensors(const std::vector<Tensors>& arguments)>;

  Function() = default;
  explicit Function(Body body, const FunctionOptions& options = {});
  // `by_argument`: pass each argument of a call to the body separately, instead of all as one.
  static Function structured(StructuredBody body, const FunctionOptions& options = {},
                             bool by_argument = false);

  bool defined() const { return state_ != nullptr; }
  // Runs as a single replica on the device of the innermost DeviceScope, else on that of the
  // variables it uses, else on the default device; arguments that are elsewhere are copied there.
  // Throws InvalidArgument when a variable is on another device. C++ scalars among the arguments
  // become tensors. `key`: the key that unseeded random ops draw from, instead of the next key of
  // this thread's sequence.
  std::vector<Tensor> call(const std::vector<Tensor>& inputs,
                           std::optional<uint64_t> key = {}) const;
  Tensors run(const std::vector<Tensors>& arguments, std::optional<uint64_t> key = {}) const;
  template <class... Args>
  requires(std::is_convertible_v<Args, Tensor>&&...) Tensors operator()(const Args&... args) const {
    return call_with({argument(args)...});
  }

  // All functions below, and calls, throw FailedPrecondition for a Function() that was never
  // assigned.

  // The compiled form for these inputs, traced on first use; used by strategies.
  std::shared_ptr<const CompiledFunction> compiled(const std::vector<Tensor>& inputs) const;
  std::shared_ptr<const CompiledFunction> compiled_for(const std::vector<Tensors>& arguments) const;
  // How often the body has been traced, and how many signatures are kept.
  int64_t trace_count() const;
  int64_t signature_count() const;
  // Reports of the kept signatures, most recently used first.
  std::vector<CompileReport> compile_reports() const;
  // The variables written by the kept signatures, in order of their creation.
  std::vector<Variable> written_variables() const;
  const FunctionOptions& options() const;
  // Unique within the process; copies of a handle have the same number.
  uint64_t number() const;
  // Calls the body directly, uncompiled.
  Tensors call_body(const std::vector<Tensors>& arguments) const;

 private:
  template <class T>
  static Tensors argument(const T& value) {
    if constexpr (std::is_same_v<T, Tensors>) {
      return value;
    } else {
      return Tensor(value);
    }
  }
  Tensors call_with(std::vector<Tensors> arguments) const;

  struct State;
  State& state() const;
  std::shared_ptr<State> state_;
};

namespace internal {

// Thrown during the trace of a function that can't be traced because it starts its own runs
// (Strategy::run on several replicas); its body is then called each time instead.
class StartsOwnRuns : public FailedPrecondition {
 public:
  using FailedPrecondition::FailedPrecondition;
};

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

// The number of tensors that a callable takes: the smallest count from `kMin` to 8 that it can be
// called with; -1 if there is none.
template <class F, size_t... kIndex>
constexpr bool takes(std::index_sequence<kIndex...>) {  // std::is_invocable has longer errors
  return requires(F & f, const Tensor& x) { f(((void)kIndex, x)...); };
}
template <class F, int kMin = 0>
constexpr int arity() {
  if constexpr (kMin > 8) {
    return -1;
  } else if constexpr (takes<F>(std::make_index_sequence<size_t{kMin}>())) {
    return kMin;
  } else {
    return arity<F, kMin + 1>();
  }
}

// Takes and returns a list. Not tried with a generic lambda, whose body has just failed to compile
// with tensors: one error is enough.
template <class F>
concept IsNotGeneric = std::is_pointer_v<F> || requires {
  typename std::type_identity_t<decltype(&F::operator())>;
};
template <class F>
concept OfList = IsNotGeneric<F> && requires(F& f, const std::vector<Tensor>& list) {
  std::vector<Tensor>(f(list));
};

// Converts to const Tensor&, but not to const Tensors&.
struct TensorArgument {
  operator const Tensor&() const;  // NOLINT: implicit on purpose
};
// Converts to both.
struct Argument {
  const Tensors& structure;
  operator const Tensors&() const { return structure; }          // NOLINT
  operator const Tensor&() const { return structure.single(); }  // NOLINT
};

// Whether a parameter is a structure of tensors. (The parameters of a generic lambda are tensors.)
template <class F, size_t... kIndex>
constexpr bool takes_structures(std::index_sequence<kIndex...>) {
  if constexpr (!IsNotGeneric<F>) {
    return false;
  } else {
    constexpr bool kTensors = requires(F & f, const TensorArgument& x) { f(((void)kIndex, x)...); };
    return !kTensors && requires(F & f, const Argument& x) { f(((void)kIndex, x)...); };
  }
}

// The arguments of a call as `count` tensors or structures. Throws InvalidArgument for another
// count.
std::vector<Tensor> tensors_of(const std::vector<Tensors>& arguments, size_t count);
std::vector<Tensors> structures_of(const std::vector<Tensors>& arguments, size_t count);

template <class F, class... Args>
Tensors results_of(F& f, const Args&... args) {
  using Result = decltype(f(args...));
  if constexpr (std::is_void_v<Result>) {
    f(args...);
    return {};
  } else if constexpr (std::is_same_v<std::remove_cvref_t<Result>, Tensors>) {
    return f(args...);
  } else {
    std::vector<Tensor> outputs;
    flatten_into(outputs, f(args...));
    return outputs;
  }
}

template <class F, size_t... kIndex>
Function::StructuredBody make_body(F f, std::index_sequence<kIndex...> indices) {
  constexpr size_t kCount = sizeof...(kIndex);
  if constexpr (takes_structures<F>(indices)) {
    return [f = std::move(f)](const std::vector<Tensors>& arguments) mutable {
      const std::vector<Tensors> given = structures_of(arguments, kCount);
      return results_of(f, Argument{given[kIndex]}...);
    };
  } else {
    return [f = std::move(f)](const std::vector<Tensors>& arguments) mutable {
      const std::vector<Tensor> given = tensors_of(arguments, kCount);
      return results_of(f, given[kIndex]...);
    };
  }
}

// Whether flatten_into accepts T.
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

// Wraps a callable that takes up to eight tensors or structures (const Tensors&), which keep their
// names, and returns nothing, a tensor, a structure, or a pair, tuple or vector of tensors. C++
// scalars that it captures are baked in at the first trace; variables are state.
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
      constexpr bool kStructures = internal::takes_structures<F>(kIndices);
      return Function::structured(internal::make_body(std::move(f), kIndices), options,
                                  kStructures);
    } else {
      return Function();
    }
  } else {
    constexpr bool kOfList = internal::OfList<F>;  // a concept in an assertion has longer errors
    static_assert(kOfList,
                  "function(f): f must be callable with up to eight arguments of const Tensor&, or "
                  "take and return a std::vector<Tensor>. What isn't a tensor is captured: "
                  "[rate](const Tensor& x) { ... }");
    if constexpr (kOfList) {
      return Function(Function::Body(std::move(f)), options);
    } else {
      return Function();
    }
  }
}

}  // namespace cornu
