// SPDX-License-Identifier: Apache-2.0
// Where an op goes when it is called: to the backend now, into the graph being traced, or into a
// functional model; and who gets to see it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/core/variable.h"
#include "framework/graph/op.h"

namespace cornu {

// Gives meaning to ops whose inputs are its symbols.
class Tracer : public SymbolOwner {
 public:
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
// a trace active on this thread records a node; else the device of the inputs runs it now (on the
// default device when there are none). Errors of inference name the op.
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

// The device that eager ops without inputs run on, CPU:0 by default; scoped by strategies.
Device default_device();
class [[nodiscard]] DeviceScope {
 public:
  explicit DeviceScope(const Device& device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device previous_;
};

}  // namespace cornu
