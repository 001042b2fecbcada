// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/dispatch.h"

#include <algorithm>
#include <atomic>

#include "framework/core/per_thread.h"
#include "framework/graph/backend.h"
#include "framework/graph/devices.h"
#include "framework/graph/observers.h"
#include "framework/graph/string_ops.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

struct Context {
  Tracer* tracer = nullptr;
  struct Observer {
    OpObserver* observer;
    int stops;  // number of stops when it was added: later ones hide ops from it
  };
  std::vector<Observer> observers;
  int stops = 0;  // number of active StopRecordingScopes
  std::string scope;
  std::optional<Device> device;
  int whole = 0;  // compute threads outside of all scopes of a split CPU; 0: not in one

  bool sees(const Observer& one) const { return one.stops >= stops; }
};

Context& context() {
  return per_thread([] { return Context(); });
}

// The process's default device, packed into one word: clang has no atomics for a Device.
class ProcessDevice {
 public:
  Device load() const {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    return {static_cast<DeviceType>(word >> 32), static_cast<int>(word & 0xffffffff)};
  }
  void store(const Device& device) {
    word_ = static_cast<uint64_t>(device.type) << 32 | static_cast<uint32_t>(device.index);
  }

 private:
  std::atomic<uint64_t> word_ = 0;  // CPU:0
};

ProcessDevice process_device;

[[noreturn]] void refuse_devices(const OpDef& op, const std::vector<Tensor>& inputs,
                                 const Device& first, const Device& second) {
  std::string places;
  for (const Tensor& input : inputs) {
    places += fmt::format("{}{} {} on {}", places.empty() ? "" : ", ", input.dtype(), input.shape(),
                          input.device());
  }
  raise<InvalidArgument>(
      "{}: expected tensors on one device, got {} and {} ({}). Copy one of them, for example with "
      "x.to(\"{}\").",
      op.name, first, second, places, first);
}

struct Place {
  Device device;
  bool bound = false;  // whether an input is bound to it
};

// The device that inputs are bound to; else a device other than the host and the default device
// that a DeviceScope put an unbound input on; else the default device.
Place place_of(const OpDef& op, const std::vector<Tensor>& inputs) {
  const Tensor* first = nullptr;
  bool bound = false;
  for (const Tensor& input : inputs) {
    const bool is_bound = input.is_bound();
    if (!is_bound && (input.on_host() || input.device() == default_device())) continue;
    bound = bound || is_bound;
    if (!first) {
      first = &input;
    } else if (!is_there(input, first->device())) {
      refuse_devices(op, inputs, first->device(), input.device());
    }
  }
  return {first ? first->device() : default_device(), bound};
}

std::vector<Tensor> execute_on(const Device& device, const OpDef& op,
                               const std::vector<Tensor>& inputs, const Attributes& attributes,
                               std::span<const TensorType> outputs) {
  Backend& backend = backend_for(device);
  const bool all_there = std::all_of(inputs.begin(), inputs.end(),
                                     [&](const Tensor& input) { return is_there(input, device); });
  if (all_there) return backend.execute(op, inputs, attributes, outputs, device);
  std::vector<Tensor> copied;
  for (const Tensor& input : inputs) {
    copied.push_back(is_there(input, device) ? input : backend.copy(input, device));
  }
  return backend.execute(op, copied, attributes, outputs, device);
}

std::vector<Tensor> execute(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  if (op.name == "constant") return {attributes.get_tensor("value")};
  const auto outputs = op.infer(types, attributes);
  // The common case, checked first: everything is on the host and stays there.
  bool on_host = true;
  Place place;
  for (const Tensor& input : inputs) {
    on_host = on_host && input.on_host();
    place.bound = place.bound || input.is_bound();
  }
  const bool stays = on_host && (place.bound || default_device().type == DeviceType::Cpu);
  if (!stays) place = place_of(op, inputs);
  std::vector<Tensor> results =
      stays ? backend_for(place.device).execute(op, inputs, attributes, outputs, place.device)
            : execute_on(place.device, op, inputs, attributes, outputs);
  if (place.bound) {
    for (Tensor& result : results) result.bind();
  }
  return results;
}

// A copy to another device, visible only to tapes: the gradient is copied back to the input's
// device.
const OpDef& copy_op() {
  static const auto* op =
      new OpDef{.name = "to_device",
                .infer = [](std::span<const TensorType> inputs,
                            const Attributes&) { return std::vector<TensorType>{inputs[0]}; },
                .vjp = [](const VjpContext& ctx) -> std::vector<Tensor> {
                  return {ctx.gradient().to(ctx.in(0).device())};
                },
                .traits = {}};
  return *op;
}

}  // namespace

void observe(const OpDef& op, const std::vector<Tensor>& inputs, const Attributes& attributes,
             const std::vector<Tensor>& outputs) {
  for (const Context::Observer& one : context().observers) {
    if (context().sees(one)) one.observer->on_apply(op, inputs, attributes, outputs);
  }
}

std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                          const Attributes& attributes) {
  Tracer* tracer = context().tracer;
  bool has_strings = false;
  for (const Tensor& input : inputs) {
    check<FailedPrecondition>(input.defined(), "{}: expected a tensor, got an undefined one.",
                              op.name);
    const bool is_text = input.dtype() == DType::String;
    has_strings = has_strings || is_text;
    const bool takes_strings = op.traits.strings != OpTraits::Strings::Refused &&
                               (!context().tracer || is_inferring_types());
    check<InvalidArgument>(!is_text || takes_strings,
                           "{}: expected a tensor of numbers, got one of strings and shape {}. "
                           "Strings are for input pipelines: make numbers of them there.",
                           op.name, input.shape());
    if (!input.is_symbolic() || input.symbol_owner().get() == tracer) continue;
    // Without an active trace, a placeholder's owner records the op; an active trace captures
    // symbols of outer traces.
    auto* owner = dynamic_cast<Tracer*>(input.symbol_owner().get());
    if (!tracer) tracer = owner;
    check<FailedPrecondition>(tracer != nullptr,
                              "{}: got {}, which doesn't exist any more: its trace has ended.",
                              op.name, input);
  }
  if (has_strings && !tracer) return apply_to_strings(op, inputs, attributes);
  // A composite op stays a single node only in functional models.
  if (op.expand && (context().tracer || !tracer)) return op.expand(inputs, attributes);
  std::vector<Tensor> outputs =
      tracer ? tracer->apply(op, inputs, attributes) : execute(op, inputs, attributes);
  observe(op, inputs, attributes, outputs);
  return outputs;
}

Tensor Tensor::to(const Device& device) const {
  if (is_symbolic()) return *this;
  if (is_there(*this, device)) {
    Tensor same = strong();
    same.bind();
    return same;
  }
  check<InvalidArgument>(dtype() != DType::String,
                         "Tensor::to: strings stay on the host, {} was asked for.", device);
  Backend& backend = backend_for(device);
  Tensor copy = device.type == DeviceType::Cpu ? host() : backend.copy(*this, device);
  copy = copy.strong();
  copy.bind();
  if (const Tensor own_mask = mask(); own_mask.defined()) {
    copy = copy.with_mask(own_mask.to(device));
  }
  observe(copy_op(), {*this}, {}, {copy});
  return copy;
}

Device Variable::home_of(const Tensor& initial_value) {
  if (context().device) return *context().device;
  if (initial_value.is_bound()) return initial_value.device();
  const auto device = context().tracer ? context().tracer->variable_device() : std::nullopt;
  return device.value_or(default_device());
}

void bring_to(const Device& device, std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) {
    if (tensor.defined() && !tensor.is_symbolic() && !is_there(tensor, device)) {
      tensor = tensor.to(device);
    }
  }
}

Tracer* current_tracer() { return context().tracer; }

TracerScope::TracerScope(Tracer* tracer) : previous_(context().tracer) {
  context().tracer = tracer;
}
TracerScope::~TracerScope() { context().tracer = previous_; }

void add_op_observer(OpObserver* observer) {
  context().observers.push_back({observer, context().stops});
}
void remove_op_observer(OpObserver* observer) {
  std::erase_if(context().observers, [&](const auto& one) { return one.observer == observer; });
}

bool has_op_observers() {
  return std::ranges::any_of(context().observers,
                             [](const auto& one) { return context().sees(one); });
}

bool is_followed(std::span<const Tensor> tensors, std::span<const Variable> variables) {
  return std::ranges::any_of(context().observers, [&](const auto& one) {
    return context().sees(one) && one.observer->follows(tensors, variables);
  });
}

StopRecordingScope::StopRecordingScope() { ++context().stops; }
StopRecordingScope::~StopRecordingScope() { --context().stops; }

NameScope::NameScope(const std::string& name) : previous_length_(context().scope.size()) {
  if (!context().scope.empty()) context().scope += '/';
  context().scope += name;
}
NameScope::~NameScope() { context().scope.resize(previous_length_); }
const std::string& NameScope::current() { return context().scope; }

Device default_device() { return context().device ? *context().device : process_device.load(); }

void set_default_device(const Device& device) {
  backend_for(device);
  process_device.store(device);
}

bool has_device_scope() { return context().device.has_value(); }

DeviceScope::DeviceScope(const Device& device)
    : previous_(context().device), previous_whole_(context().whole) {
  backend_for(device);
  if (const int parts = logical_cpus(); device.type == DeviceType::Cpu && parts > 1) {
    if (context().whole == 0) context().whole = compute_threads();
    share_.emplace(std::max(1, context().whole / parts));
  }
  context().device = device;
}
DeviceScope::~DeviceScope() {
  context().device = previous_;
  context().whole = previous_whole_;
}

}  // namespace cornu
