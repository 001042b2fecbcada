// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/dispatch.h"

#include <algorithm>

#include "framework/graph/backend.h"

namespace cornu {
namespace {

struct Context {
  Tracer* tracer = nullptr;
  std::vector<OpObserver*> observers;
  bool recording_stopped = false;
  std::string scope;
  Device device;
};

thread_local Context context;

std::vector<Tensor> execute(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  if (op.name == "constant") return {attributes.get_tensor("value")};
  const auto outputs = op.infer(types, attributes);
  const Device device = inputs.empty() ? context.device : inputs.front().device();
  return backend_for(device).execute(op, inputs, attributes, outputs);
}

}  // namespace

std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes) {
  Tracer* tracer = context.tracer;
  for (const Tensor& input : inputs) {
    check<FailedPrecondition>(input.defined(), "{}: expected a tensor, got an undefined one.",
                              op.name);
    if (!input.is_symbolic() || input.symbol_owner().get() == tracer) continue;
    // A placeholder's owner takes the op itself; symbols of an outer trace go to the current one.
    auto* owner = dynamic_cast<Tracer*>(input.symbol_owner().get());
    if (!tracer) tracer = owner;
    check<FailedPrecondition>(tracer != nullptr,
                              "{}: got {}, which doesn't exist any more: its trace has ended.",
                              op.name, input.to_string());
  }
  // Only a functional model's placeholder keeps an op of several others whole.
  if (op.expand && (context.tracer || !tracer)) return op.expand(inputs, attributes);
  std::vector<Tensor> outputs =
      tracer ? tracer->apply(op, inputs, attributes) : execute(op, inputs, attributes);
  if (!context.recording_stopped) {
    for (OpObserver* observer : context.observers) {
      observer->on_apply(op, inputs, attributes, outputs);
    }
  }
  return outputs;
}

Tracer* current_tracer() { return context.tracer; }

TracerScope::TracerScope(Tracer* tracer) : previous_(context.tracer) { context.tracer = tracer; }
TracerScope::~TracerScope() { context.tracer = previous_; }

void add_op_observer(OpObserver* observer) { context.observers.push_back(observer); }
void remove_op_observer(OpObserver* observer) { std::erase(context.observers, observer); }

bool has_op_observers() { return !context.recording_stopped && !context.observers.empty(); }

bool is_followed(std::span<const Tensor> tensors, std::span<const Variable> variables) {
  return has_op_observers() &&
         std::any_of(context.observers.begin(), context.observers.end(),
                     [&](const OpObserver* one) { return one->follows(tensors, variables); });
}

StopRecordingScope::StopRecordingScope() : previous_(context.recording_stopped) {
  context.recording_stopped = true;
}
StopRecordingScope::~StopRecordingScope() { context.recording_stopped = previous_; }

NameScope::NameScope(const std::string& name) : previous_length_(context.scope.size()) {
  if (!context.scope.empty()) context.scope += '/';
  context.scope += name;
}
NameScope::~NameScope() { context.scope.resize(previous_length_); }
const std::string& NameScope::current() { return context.scope; }

Device default_device() { return context.device; }
DeviceScope::DeviceScope(const Device& device) : previous_(context.device) {
  context.device = device;
}
DeviceScope::~DeviceScope() { context.device = previous_; }

Backend& backend_for(const Device& device) {
  check<Unimplemented>(device.type == DeviceType::Cpu,
                       "Device {}: this build of Cornu has no backend for it; it has CPU.", device);
  return cpu_backend();
}

}  // namespace cornu
