// SPDX-License-Identifier: Apache-2.0
// Variables: state that lives between calls.
#pragma once

#include <atomic>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu {

// How a variable that each replica has a copy of is kept (tf.VariableSynchronization). OnRead: each
// replica writes its own, and a read outside of steps gives all of them as one. All
// others: every replica has the same value.
enum class VariableSynchronization { Auto, None, OnWrite, OnRead };
// How replicas' values become one (tf.VariableAggregation). Of variables that aren't OnRead: at the
// end of a step, Mean makes what replicas with examples have assigned their mean; Sum adds up what
// replicas have assigned and then added by assign_add and assign_sub, or adds the latter to the
// value before it where none has assigned one; with the others every replica must assign the same.
// Of OnRead ones: Sum and Mean when read from outside; with the others the first replica's value is
// read.
enum class VariableAggregation { None, Sum, Mean, OnlyFirstReplica };

struct VariableOptions {
  std::string name = "variable";
  bool trainable = true;
  VariableSynchronization synchronization = VariableSynchronization::Auto;
  VariableAggregation aggregation = VariableAggregation::None;
  // Whether its gradients are zero but for the rows that a batch looks up, as an embedding's are:
  // replicas exchange those, where they are few (tf.IndexedSlices). A hint: results don't depend on
  // it, but for how sums are rounded.
  bool sparse_gradients = false;
};

class Variable;

// Sees every read and assignment of variables on this thread while it is installed: a trace turns
// them into state of its graph.
class VariableHooks {
 public:
  virtual ~VariableHooks() = default;
  virtual Tensor read(const Variable& variable) = 0;
  virtual void assign(const Variable& variable, const Tensor& value) = 0;
  // What assign_add and assign_sub assign: the value of that moment with something added.
  virtual void assign_sum(const Variable& variable, const Tensor& value) {
    assign(variable, value);
  }
};

// Sees every read of variables on this thread (after the hooks): what a gradient tape listens to.
class VariableReadObserver {
 public:
  virtual ~VariableReadObserver() = default;
  virtual void on_read(const Variable& variable, const Tensor& value) = 0;
};

// Where the values of variables are that another process keeps (a parameter server). Thread-safe.
class VariableHome {
 public:
  struct Value {
    Tensor value;  // on the host
    uint64_t version = 0;
  };
  virtual ~VariableHome() = default;
  // Tells those apart that keep variables: of one, several are read at once.
  virtual const void* keeper() const = 0;
  // Of variables with this keeper. Errors of whoever it is: Unavailable, say.
  virtual std::vector<Value> read(std::span<const Variable* const> variables) = 0;
  virtual void write(const Variable& variable, const Tensor& value) = 0;
};

// A cheap handle on a named, shaped piece of state. Reading it (it converts to Tensor) gives the
// value of that moment. Shape, dtype and device never change: it lives where it was made, on the
// device of the innermost DeviceScope, else where its initial value is bound to, else with the
// other variables of the function being traced, else on the default device. Reads and writes are
// thread-safe; while a compiled step runs that writes it, others wait.
class Variable {
 public:
  Variable() = default;  // undefined, until built
  explicit Variable(const Tensor& initial_value, const VariableOptions& options = {});
  template <class T>
  requires(std::is_same_v<T, Tensor> || std::is_arithmetic_v<T>) void operator=(const T&) {
    static_assert(!std::is_same_v<T, T>,
                  "a variable's value is set by assign: write v.assign(x) in place of v = x");
  }

  bool defined() const { return impl_ != nullptr; }
  Tensor value() const;
  operator Tensor() const { return value(); }  // NOLINT: implicit on purpose

  // The value is cast to the variable's dtype, as Keras does (floats to integers towards 0), and
  // copied to its device.
  // InvalidArgument, naming the variable, when shapes differ.
  void assign(const Tensor& value) const;
  // Assigns f(value()) with no read or write in between; f itself must not use this
  // variable, but what it is given.
  void update(const std::function<Tensor(const Tensor&)>& f) const;
  // value() + value and value() - value by update(), written in ops; the value is cast to the
  // variable's dtype.
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
  // Of value().
  template <class T>
  T item() const {
    return value().item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return value().to_vector<T>();
  }
  // NumPy's indexing of value(), as Tensor has it.
  Tensor operator[](const Index& index) const { return value()[index]; }
  template <class... Indices>
  requires(sizeof...(Indices) > 0) Tensor operator()(const Indices&... indices) const {
    return value()(indices...);
  }
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

  // The variable that this is a value of, as value() gave it outside of traces; undefined for what
  // was computed, and where the variable is gone.
  static Variable of_value(const Tensor& value);
  // The stored value, past hooks and observers. FailedPrecondition when poisoned.
  Tensor stored() const;
  // Replaces the stored value, past the hooks; unpoisons.
  void store(const Tensor& value) const;
  // The stored value's memory on device(), to be written in place: copied there first when another
  // handle holds it. For callers with exclusive access (VariableAccess).
  std::byte* writable() const;
  // Counts writes; equal versions mean equal values.
  uint64_t version() const { return impl().version; }
  // What each of `count` replicas has of these variables, by replica: the first one the variables
  // themselves, the others copies, which are made and brought up to date here. A run that has all
  // of them finds one version, also where somebody assigns the variable before it begins.
  // Thread-safe.
  static std::vector<std::vector<Variable>> of_replicas(std::span<const Variable> variables,
                                                        size_t count);
  // The same of replicas on these devices: the variables live on the first one.
  static std::vector<std::vector<Variable>> of_replicas(std::span<const Variable> variables,
                                                        std::span<const Device> devices);
  // Makes an OnRead variable's replicas one again; all others are left as they are. Runs outside of
  // strategies do it with what they use.
  void gather() const;
  // What each replica has of it, and back: a single value where it isn't divided.
  std::vector<Tensor> replica_values() const;
  void store_replicas(const std::vector<Tensor>& values) const;
  // Where its value is kept; null: here. Each read asks there, and each assignment tells it. Steps
  // that are compiled here read the value as of their beginning, and don't write it.
  const std::shared_ptr<VariableHome>& home() const { return impl().home; }
  // The number of the strategy in whose scope it was made; 0 outside of scopes.
  uint64_t owner() const { return impl().owner; }
  // Marks the value as half-written by a step that failed: reads throw until it is stored anew.
  void poison(const std::string& why) const;
  const void* id() const { return impl_.get(); }
  // No other variable of the process has it, nor has had.
  uint64_t number() const { return impl().number; }

  // "Variable(path=dense/kernel, shape=(2, 3), dtype=float32, value=\n…)", elements as Tensor's;
  // "MirroredVariable(…, replicas=\n0: …\n1: …)" once several replicas have it.
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
    VariableSynchronization synchronization = VariableSynchronization::Auto;
    VariableAggregation aggregation = VariableAggregation::None;
    bool sparse_gradients = false;
    std::function<Tensor(const Tensor&)> constraint;
    std::shared_ptr<VariableHome> home;
    Tensor value;  // none where another process has it
    std::atomic<uint64_t> version = 0;
    std::string poisoned;  // why it has no value; guarded by VariableAccess
    // Of the replicas after the first. One is up to date where its version is this one's: steps
    // count all of them up, and assignments between steps this one alone.
    std::vector<Variable> copies;
    std::weak_ptr<Impl> original;                       // what this is a copy of
    static constexpr uint64_t kNoValue = ~uint64_t{0};  // the version of a copy without a value
    uint64_t owner = 0;
    // The queue of its readers and writers: the ticket of the next to come, and of the one
    // served. Guarded, as the value is, by VariableAccess.
    uint32_t tickets = 0;
    uint32_t served = 0;
    void* use = nullptr;  // by who asks for it just now
  };
  friend class VariableAccess;
  static uint64_t next_number();
  bool is_on_read() const { return impl().synchronization == VariableSynchronization::OnRead; }
  // Whether a copy has the value that it must begin a run with.
  static bool is_settled(const Impl& original, const Impl& copy);
  bool is_settled(const std::vector<Variable>& copies) const;
  void settle(const std::vector<Variable>& copies) const;
  std::vector<Variable> copies() const;
  // The first ones on these devices, made where there are none.
  std::vector<Variable> copies(std::span<const Device> devices) const;
  Tensor combined(const std::vector<Tensor>& values) const;
  void update(const std::function<Tensor(const Tensor&)>& f, bool adds) const;
  void require_healthy(const std::string& poisoned) const;  // the reason, where there is one
  Tensor fitted(const Tensor& value) const;  // in the variable's dtype; written in ops
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

// Installs hooks for this thread until the guard ends. Guards nest.
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

// Who gives variables their homes.
class VariableOwner {
 public:
  virtual ~VariableOwner() = default;
  // Of a new one with this value; null: it stays here.
  virtual std::shared_ptr<VariableHome> home_of(const Variable& variable, const Tensor& value) = 0;
};

// Variables made on this thread until the guard ends belong to the owner of this number, which is
// asked for their homes where there is one. Guards nest.
class [[nodiscard]] VariableOwnerScope {
 public:
  explicit VariableOwnerScope(uint64_t number, VariableOwner* owner = nullptr);
  ~VariableOwnerScope();
  VariableOwnerScope(const VariableOwnerScope&) = delete;
  VariableOwnerScope& operator=(const VariableOwnerScope&) = delete;
  // The innermost one's; 0 outside.
  static uint64_t current();
  static VariableOwner* owner();

 private:
  uint64_t previous_number_;
  VariableOwner* previous_;
};

// Observers of this thread, called in order of their registration.
void add_read_observer(VariableReadObserver* observer);
void remove_read_observer(VariableReadObserver* observer);

}  // namespace cornu

template <>
struct fmt::formatter<cornu::Variable> : fmt::formatter<std::string_view> {
  auto format(const cornu::Variable& variable, format_context& context) const {
    return fmt::formatter<std::string_view>::format(variable.to_string(), context);
  }
};
