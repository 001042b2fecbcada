// SPDX-License-Identifier: Apache-2.0
// Where an op goes when it is called: to the backend now, into the graph being traced, or into a
// functional model; and who gets to see it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/core/threads.h"
#include "framework/core/variable.h"
#include "framework/graph/op.h"

namespace cornu {

// Gives meaning to ops whose inputs are its symbols.
class Tracer : public SymbolOwner {
 public:
  // Where variables that are made meanwhile shall live, if it matters.
  virtual std::optional<Device> variable_device() const { return std::nullopt; }
  virtual std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes) = 0;
};

// Sees each op after it was applied on this thread: what a gradient tape is.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void on_apply(const OpDef& op, const std::vector<Tensor>& inputs,
                        const Attributes& attributes, const std::vector<Tensor>& outputs) = 0;
  // Whether it must see the ops of code that uses these tensors and variables.
  virtual bool follows(std::span<const Tensor> tensors,
                       std::span<const Variable> variables) const = 0;
};

// Applies `op`. In this order: a functional model's placeholder among the inputs records a layer;
// a trace active on this thread records a node; else the device that the inputs are bound to
// (Tensor::is_bound) runs it now, and the other inputs are brought there; when none is bound, the
// device that one of them lies on besides the host; else the default device. InvalidArgument, which
// names the devices, when there are several. Errors of inference name the op.
std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes = {});

// The tracer that ops of this thread are recorded by, or null.
Tracer* current_tracer();
class [[nodiscard]] TracerScope {
 public:
  explicit TracerScope(Tracer* tracer);
  ~TracerScope();
  TracerScope(const TracerScope&) = delete;
  TracerScope& operator=(const TracerScope&) = delete;

 private:
  Tracer* previous_;
};

void add_op_observer(OpObserver* observer);
void remove_op_observer(OpObserver* observer);
// Whether there are any on this thread, and whether one of them follows these.
bool has_op_observers();
bool is_followed(std::span<const Tensor> tensors, std::span<const Variable> variables);
// No observer sees ops on this thread until the guard ends.
class [[nodiscard]] StopRecordingScope {
 public:
  StopRecordingScope();
  ~StopRecordingScope();
  StopRecordingScope(const StopRecordingScope&) = delete;
  StopRecordingScope& operator=(const StopRecordingScope&) = delete;

 private:
  bool previous_;
};

// Names the nodes made until the guard ends (nested scopes join with '/').
class [[nodiscard]] NameScope {
 public:
  explicit NameScope(const std::string& name);
  ~NameScope();
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;
  static const std::string& current();

 private:
  size_t previous_length_;
};

// Where ops run whose inputs are bound to no device, and where variables are made: the device of
// this thread's innermost DeviceScope; without one, the process's, CPU:0 unless it was set.
Device default_device();
// Sets the process's. Unimplemented and InvalidArgument as backend_for(). Thread-safe.
void set_default_device(const Device& device);
inline void set_default_device(std::string_view name) { set_default_device(Device::parse(name)); }
bool has_device_scope();  // on this thread

// tf.device. Guards nest. Of a CPU that was split (devices.h), the thread gets that share of the
// cores. Errors as of set_default_device.
//   DeviceScope scope("GPU:1");
class [[nodiscard]] DeviceScope {
 public:
  explicit DeviceScope(const Device& device);
  explicit DeviceScope(std::string_view name) : DeviceScope(Device::parse(name)) {}
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  std::optional<Device> previous_;
  int previous_whole_;
  std::optional<ComputeThreadsScope> share_;
};

// The tensors on `device`, those that lie elsewhere copied (Tensor::to); undefined and symbolic
// ones as they are. A list that is there already isn't changed.
void bring_to(const Device& device, std::vector<Tensor>& tensors);

}  // namespace cornu
