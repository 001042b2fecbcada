// SPDX-License-Identifier: Apache-2.0
// Variables: state that persists between calls.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// How the per-replica copies of a variable are kept in sync (tf.VariableSynchronization). OnRead:
// each replica writes its own copy, and a read outside of steps combines those of this process (of
// several workers: Strategy::reduce what each of them reads). All others: every replica has the
// same value.
enum class VariableSynchronization { Auto, None, OnWrite, OnRead };
// How the replicas' values are combined (tf.VariableAggregation).
// For variables that aren't OnRead, at the end of a step: Mean averages the values assigned by the
// replicas that had examples. Sum adds up the values that replicas have assigned and then changed
// by assign_add and assign_sub; if no replica has assigned one, it adds their increments to the
// previous value. With the others, every replica must assign the same value.
// For OnRead variables: Sum and Mean apply to reads from outside of steps; with the others, such a
// read returns the first replica's value.
enum class VariableAggregation { None, Sum, Mean, OnlyFirstReplica };

struct VariableOptions {
  std::string name = "variable";
  bool trainable = true;
  // Whether layers with mixed precision read it in the dtype in which they compute, if it is
  // floating (AutocastScope).
  bool autocast = true;
  VariableSynchronization synchronization = VariableSynchronization::Auto;
  VariableAggregation aggregation = VariableAggregation::None;
  // Whether the gradients are zero except for the rows that a batch looks up, like an embedding's:
  // replicas then exchange only those rows when there are few (tf.IndexedSlices). A hint: it
  // doesn't affect results, except for the rounding of sums.
  bool sparse_gradients = false;
};

class Variable;

// While installed, intercepts every read and assignment of variables on this thread: a trace turns
// them into state of its graph.
class VariableHooks {
 public:
  virtual ~VariableHooks() = default;
  virtual Tensor read(const Variable& variable) = 0;
  virtual void assign(const Variable& variable, const Tensor& value) = 0;
  // Called for assign_add and assign_sub: `value` is the current value with something added.
  virtual void assign_sum(const Variable& variable, const Tensor& value) {
    assign(variable, value);
  }
};

// Observes every read of variables on this thread (after the hooks). Used by gradient tapes.
class VariableReadObserver {
 public:
  virtual ~VariableReadObserver() = default;
  virtual void on_read(const Variable& variable, const Tensor& value) = 0;
};

// Access to the values of variables that another process (a parameter server) keeps. Thread-safe.
class VariableHome {
 public:
  struct Value {
    Tensor value;  // on the host
    uint64_t version = 0;
  };
  virtual ~VariableHome() = default;
  // Identifies the keeper; variables with the same keeper are read in one request.
  virtual const void* keeper() const = 0;
  // Reads variables that have this keeper. Throws the keeper's errors, e.g. Unavailable.
  virtual std::vector<Value> read(std::span<const Variable* const> variables) = 0;
  virtual void write(const Variable& variable, const Tensor& value) = 0;
};

// A cheap handle to a named piece of state with a fixed shape. Reading it (it converts to Tensor)
// returns the current value, within an AutocastScope in that scope's dtype. Shape, dtype and device
// never change: a variable is created on the device of the innermost DeviceScope, else on the one
// its initial value is bound to, else with the other variables of the function being traced, else
// on the default device. Reads and writes are thread-safe; while a compiled step that writes the
// variable runs, others wait.
class Variable {
 public:
  Variable() = default;  // undefined until built
  explicit Variable(const Tensor& initial_value, const VariableOptions& options = {});
  template <class T>
  requires(std::is_same_v<T, Tensor> || std::is_arithmetic_v<T>) void operator=(const T&) {
    static_assert(!std::is_same_v<T, T>,
                  "a variable's value is set by assign: write v.assign(x) in place of v = x");
  }

  bool defined() const { return impl_ != nullptr; }
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT: implicit on purpose

  // Casts the value to the variable's dtype, as Keras does (floats to integers by truncation), and
  // copies it to the variable's device. Throws InvalidArgument, naming the variable, when shapes
  // differ.
  void assign(const Tensor& value) const;
  // Assigns f(value()) atomically: no read or write comes in between. `f` must not use this
  // variable itself, only its argument.
  void update(const std::function<Tensor(const Tensor&)>& f) const;
  // Assign value() + value and value() - value by update(); defined in ops. The value is cast to
  // the variable's dtype.
  void assign_add(const Tensor& value) const;
  void assign_sub(const Tensor& value) const;
  const Variable& operator+=(const Tensor& value) const;
  const Variable& operator-=(const Tensor& value) const;

  const std::string& name() const { return impl().name; }
  // Keras's path: layer names and variable name joined by '/'.
  const std::string& path() const { return impl().path.empty() ? impl().name : impl().path; }
  void set_path(std::string path) const { impl().path = std::move(path); }
  const Shape& shape() const { return impl().shape; }
  DType dtype() const { return impl().dtype; }
  const Device& device() const { return impl().device; }
  int64_t rank() const { return shape().rank(); }
  int64_t dim(int64_t axis) const { return shape()[axis]; }
  int64_t num_elements() const { return shape().num_elements(); }
  int64_t size() const { return num_elements(); }
  // These convert value().
  template <class T>
  T item() const {
    return value().item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return value().to_vector<T>();
  }
  // NumPy's indexing of value(), as for Tensor.
  Tensor operator[](const Index& index) const { return value()[index]; }
  template <class... Indices>
  requires(sizeof...(Indices) > 0) Tensor operator()(const Indices&... indices) const {
    return value()(indices...);
  }
  bool autocast() const { return impl().autocast; }
  bool trainable() const { return impl().trainable; }
  void set_trainable(bool trainable) const { impl().trainable = trainable; }
  VariableSynchronization synchronization() const { return impl().synchronization; }
  VariableAggregation aggregation() const { return impl().aggregation; }
  bool sparse_gradients() const { return impl().sparse_gradients; }

  // Projects a new value onto the allowed set after each optimizer update; may be empty.
  const std::function<Tensor(const Tensor&)>& constraint() const { return impl().constraint; }
  void set_constraint(std::function<Tensor(const Tensor&)> f) const {
    impl().constraint = std::move(f);
  }

  // ---- for backends, traces and checkpoints ----

  // Returns the variable whose value() returned this tensor outside of traces; undefined for
  // computed values, and when the variable no longer exists.
  static Variable of_value(const Tensor& value);
  // The stored value, bypassing hooks and observers. Throws FailedPrecondition when poisoned.
  Tensor stored() const;
  // Replaces the stored value, bypassing the hooks; clears poisoning.
  void store(const Tensor& value) const;
  // The memory of the stored value on device(), to be written in place; copied first when another
  // handle shares it. For callers with exclusive access (VariableAccess).
  std::byte* writable() const;
  // The number of writes; equal versions mean equal values.
  uint64_t version() const { return impl().version; }
  // Returns each replica's variables, indexed by replica: the first replica has the variables
  // themselves, the others have copies, which are created and brought up to date here. A run that
  // acquires all of them sees a single version, even if someone assigns the variable before the run
  // begins. Thread-safe.
  static std::vector<std::vector<Variable>> of_replicas(std::span<const Variable> variables,
                                                        size_t count);
  // Overload for replicas on these devices; the variables reside on the first one.
  static std::vector<std::vector<Variable>> of_replicas(std::span<const Variable> variables,
                                                        std::span<const Device> devices);
  // Combines the replica copies of an OnRead variable into one value; leaves all other variables
  // unchanged. Runs outside of strategies call this on the variables they use.
  void gather() const;
  // Gets and sets the value of each replica: a single value when the variable isn't divided.
  std::vector<Tensor> replica_values() const;
  void store_replicas(const std::vector<Tensor>& values) const;
  // Where the value is kept; null when it is in this process. Every read fetches the value from
  // there, and every assignment is sent there. Steps compiled in this process read the value as of
  // the beginning of the step, and can't write it.
  const std::shared_ptr<VariableHome>& home() const { return impl().home; }
  // The number of the strategy in whose scope the variable was created; 0 outside of scopes.
  uint64_t owner() const { return impl().owner; }
  // Marks the value as half-written by a failed step: reads throw until a new value is stored.
  void poison(const std::string& why) const;
  const void* id() const { return impl_.get(); }
  // Unique within the process, and never reused.
  uint64_t number() const { return impl().number; }

  // "Variable(path=dense/kernel, shape=(2, 3), dtype=float32, value=\n…)", with elements printed as
  // for Tensor; "MirroredVariable(…, replicas=\n0: …\n1: …)" once several replicas have copies.
  std::string to_string() const;

 private:
  struct Impl {
    const uint64_t number = next_number();
    std::string name;
    std::string path;
    Shape shape;
    DType dtype = DType::Float32;
    Device device;
    bool trainable = true;
    bool autocast = true;
    VariableSynchronization synchronization = VariableSynchronization::Auto;
    VariableAggregation aggregation = VariableAggregation::None;
    bool sparse_gradients = false;
    std::function<Tensor(const Tensor&)> constraint;
    std::shared_ptr<VariableHome> home;
    Tensor value;  // undefined when another process keeps it
    std::atomic<uint64_t> version = 0;
    std::string poisoned;  // why there is no valid value; guarded by VariableAccess
    // The copies of all replicas but the first. A copy is up to date when its version equals this
    // one: steps increment all versions, while assignments between steps increment only this one.
    std::vector<Variable> copies;
    std::weak_ptr<Impl> original;                       // the variable that this is a copy of
    static constexpr uint64_t kNoValue = ~uint64_t{0};  // the version of a copy without a value
    uint64_t owner = 0;
    // The queue of readers and writers: the next ticket to hand out, and the ticket being served.
    // Guarded, like the value, by VariableAccess.
    uint32_t tickets = 0;
    uint32_t served = 0;
    void* use = nullptr;  // of the request being queued
  };
  friend class VariableAccess;
  static uint64_t next_number();
  bool is_on_read() const { return impl().synchronization == VariableSynchronization::OnRead; }
  // Whether a copy has the value that a run must start with.
  static bool is_settled(const Impl& original, const Impl& copy);
  bool is_settled(const std::vector<Variable>& copies) const;
  void settle(const std::vector<Variable>& copies) const;
  std::vector<Variable> copies() const;
  // The copies for these devices, created where missing.
  std::vector<Variable> copies(std::span<const Device> devices) const;
  Tensor combined(const std::vector<Tensor>& values) const;
  void update(const std::function<Tensor(const Tensor&)>& f, bool adds) const;
  void require_healthy(const std::string& poisoned) const;   // `poisoned`: the reason, if any
  Tensor read() const;                                       // in the variable's dtype
  static Tensor as_dtype(const Tensor& value, DType dtype);  // defined in ops
  Tensor fitted(const Tensor& value) const;  // in the variable's dtype; defined in ops
  void require_storable(const Tensor& value) const;
  static Device home_of(const Tensor& initial_value);  // in graph/dispatch.cc
  Tensor own_handle(const Tensor& value) const;
  Impl& impl() const {
    check<FailedPrecondition>(impl_ != nullptr,
                              "Variable: expected a variable, got an undefined one. Was its layer "
                              "built?");
    return *impl_;
  }
  std::shared_ptr<Impl> impl_;
};

std::ostream& operator<<(std::ostream& out, const Variable& variable);

// Until the guard is destroyed, this thread reads floating variables in this dtype, unless they opt
// out (VariableOptions::autocast); nullopt: in their own. Guards nest: the innermost one counts. A
// layer opens one for its call. As in Keras.
class [[nodiscard]] AutocastScope {
 public:
  explicit AutocastScope(std::optional<DType> dtype);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<DType> previous_;
};

// Installs hooks on this thread until the guard is destroyed. Guards nest.
class [[nodiscard]] VariableHooksScope {
 public:
  explicit VariableHooksScope(VariableHooks* hooks);
  ~VariableHooksScope();
  VariableHooksScope(const VariableHooksScope&) = delete;
  VariableHooksScope& operator=(const VariableHooksScope&) = delete;

 private:
  VariableHooks* previous_;
};

// The hooks installed on this thread, or null.
VariableHooks* current_variable_hooks();

// Assigns homes to variables.
class VariableOwner {
 public:
  virtual ~VariableOwner() = default;
  // The home of a new variable with this value; null when it stays in this process.
  virtual std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) = 0;
};

// Until the guard is destroyed, variables created on this thread belong to the owner with this
// number; `owner`, if given, assigns their homes. Guards nest.
class [[nodiscard]] VariableOwnerScope {
 public:
  explicit VariableOwnerScope(uint64_t number, VariableOwner* owner = nullptr);
  ~VariableOwnerScope();
  VariableOwnerScope(const VariableOwnerScope&) = delete;
  VariableOwnerScope& operator=(const VariableOwnerScope&) = delete;
  // The values of the innermost guard; 0 and null outside of guards.
  static uint64_t current();
  static VariableOwner* owner();

 private:
  uint64_t previous_number_;
  VariableOwner* previous_;
};

// This thread's observers, called in the order of their registration.
void add_read_observer(VariableReadObserver* observer);
void remove_read_observer(VariableReadObserver* observer);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Variable> : fmt::formatter<std::string_view> {
  auto format(const cornu::Variable& variable, format_context& context) const {
    return fmt::formatter<std::string_view>::format(variable.to_string(), context);
  }
};
