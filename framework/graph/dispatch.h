// SPDX-License-Identifier: Apache-2.0
// Dispatches op calls: eagerly to a backend, to the graph being traced, or to a functional model.
// Also notifies observers (gradient tapes).
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

// Records ops whose inputs are its symbols.
class Tracer : public SymbolOwner {
 public:
  // The device for variables created while tracing; nullopt: no preference.
  virtual std::optional<Device> variable_device() const { return std::nullopt; }
  virtual std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes) = 0;
};

// Notified of each op on this thread after it was applied; implemented by gradient tapes.
class OpObserver {
 public:
  virtual ~OpObserver() = default;
  virtual void on_apply(const OpDef& op, const std::vector<Tensor>& inputs,
                        const Attributes& attributes, const std::vector<Tensor>& outputs) = 0;
  // Whether it must see the ops of code that uses these tensors and variables.
  virtual bool follows(std::span<const Tensor> tensors,
                       std::span<const Variable> variables) const = 0;
};

// Applies `op`. If this thread has an active trace, it records a node; else if an input is a
// placeholder, its functional model records a layer. Otherwise the op runs eagerly: on the device
// that inputs are bound to (Tensor::is_bound), else on a device other than the host that holds an
// input, else on the default device. Inputs that are elsewhere are copied there. Throws
// InvalidArgument, naming the devices, when there are several candidates. Inference errors name the
// op.
std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes = {});

// The active tracer of this thread, or null.
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
// Whether this thread has any observers, and whether one of them follows these.
bool has_op_observers();
bool is_followed(std::span<const Tensor> tensors, std::span<const Variable> variables);
// Hides ops on this thread from the current observers until the guard is destroyed; observers added
// in the meantime see them.
class [[nodiscard]] StopRecordingScope {
 public:
  StopRecordingScope();
  ~StopRecordingScope();
  StopRecordingScope(const StopRecordingScope&) = delete;
  StopRecordingScope& operator=(const StopRecordingScope&) = delete;
};

// The scope name of nodes created until the guard is destroyed (nested names are joined with '/').
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

// The device for new variables and for ops with no bound inputs: that of this thread's innermost
// DeviceScope, else the process's default device (CPU:0 unless set).
Device default_device();
// Sets the process's default device. Throws like backend_for(). Thread-safe.
void set_default_device(const Device& device);
inline void set_default_device(std::string_view name) { set_default_device(Device::parse(name)); }
bool has_device_scope();  // on this thread

// tf.device. Guards nest. On a split CPU (devices.h) the thread gets the logical device's share of
// the cores. Throws like set_default_device().
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

// Copies the tensors that aren't on `device` there (Tensor::to); leaves undefined and symbolic ones
// unchanged.
void bring_to(const Device& device, std::vector<Tensor>& tensors);

}  // namespace cornu
