// SPDX-License-Identifier: Apache-2.0
#include "cornu/model/layer.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "cornu/core/checked.h"
#include "cornu/core/strings.h"
#include "cornu/graph/dispatch.h"
#include "cornu/graph/trace.h"
#include "cornu/model/functional.h"
#include "cornu/model/input.h"
#include "cornu/model/weight_limit.h"
#include "cornu/ops/ops.h"

namespace cornu {
namespace {

// What the layer calls in progress on this thread share.
struct CallContext {
  std::optional<bool> training;
  int depth = 0;
};
thread_local CallContext call_context;

class CallScope {
 public:
  explicit CallScope(const std::optional<bool>& training) : previous_(call_context) {
    if (training) call_context.training = training;
    ++call_context.depth;
  }
  ~CallScope() { call_context = previous_; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  CallContext previous_;
};

std::string demangled(const std::type_info& type) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? text.get() : type.name();
  if (const size_t colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name;
}

bool is_trainable_weight(const Layer& layer, const Variable& variable) {
  return layer.trainable() && variable.trainable();
}
bool is_frozen_weight(const Layer& layer, const Variable& variable) {
  return !is_trainable_weight(layer, variable);
}
bool is_any(const Layer&, const Variable&) { return true; }

std::vector<std::pair<DType, Shape>> types_of(const Tensors& tensors) {
  std::vector<std::pair<DType, Shape>> types;
  for (const Tensor& tensor : tensors) types.emplace_back(tensor.dtype(), tensor.shape());
  return types;
}

// Runs eagerly whatever is being traced or recorded around it.
template <class F>
auto outside_of_traces(F f) {
  TracerScope no_tracer(nullptr);
  VariableHooksScope no_hooks(nullptr);
  StopRecordingScope no_recording;
  return f();
}

}  // namespace

std::optional<bool> current_training() { return call_context.training; }

DTypePolicy DTypePolicy::parse(const std::string& name) {
  if (name.empty()) return {};
  if (name == "mixed_bfloat16") return {DType::BFloat16, DType::Float32};
  if (name == "mixed_float16") return {DType::Float16, DType::Float32};
  const DType dtype = dtype_from_string(name);
  return {dtype, dtype};
}

std::string DTypePolicy::name() const {
  return compute == variable ? to_string(compute) : std::string("mixed_") + to_string(compute);
}

Layer::Layer(const LayerOptions& options)
    : name_(options.name),
      trainable_(options.trainable),
      policy_(DTypePolicy::parse(options.dtype)),
      activity_regularizer_(options.activity_regularizer) {}

Layer::~Layer() = default;

const std::string& Layer::name() const {
  if (name_.empty()) name_ = unique_name(to_snake_case(class_name()));
  return name_;
}

std::string Layer::class_name() const { return demangled(typeid(*this)); }

Json Layer::module() const { return nullptr; }

Json Layer::get_config() const {
  Json config = Json::object({{"name", name()}, {"trainable", trainable_}});
  config.set("dtype", Json::object({{"module", "keras"},
                                    {"class_name", "DTypePolicy"},
                                    {"config", Json::object({{"name", policy_.name()}})},
                                    {"registered_name", nullptr}}));
  if (activity_regularizer_) config.set("activity_regularizer", serialize(activity_regularizer_));
  return config;
}

void Layer::build(const Shape&) {}

void Layer::build_list(const std::vector<Shape>& input_shapes) {
  check<InvalidArgument>(input_shapes.size() == 1,
                         "{} '{}': expected 1 input, got {} of them. Merge them first, for example "
                         "with layers::Concatenate().",
                         class_name(), name(), input_shapes.size());
  build(input_shapes[0]);
}

Tensor Layer::call(const Tensor&, const CallArgs&) {
  raise<Unimplemented>(
      "{} '{}': it has no call(). Override `Tensor call(const Tensor& x, const "
      "CallArgs& args)`.",
      class_name(), name());
}

Tensors Layer::call_list(const Tensors& inputs, const CallArgs& args) {
  check<InvalidArgument>(inputs.size() == 1, "{} '{}': expected 1 input, got {} of them.",
                         class_name(), name(), inputs.size());
  return call(inputs[0], args);
}

Tensor Layer::compute_mask(const Tensors&, const Tensor& mask) const {
  return supports_masking() ? mask : Tensor();
}

Layer::NamedLayers Layer::sublayers() const { return tracked_; }

Tensors Layer::operator()(const Tensors& inputs, const CallArgs& args) {
  try {
    check<InvalidArgument>(!inputs.empty(), "{} '{}': expected an input, got none.", class_name(),
                           name());
    const bool symbolic = std::any_of(inputs.begin(), inputs.end(),
                                      [](const Tensor& x) { return is_placeholder(x); });
    return symbolic ? call_on_placeholders(inputs, args) : call_on_values(inputs, args);
  } catch (Error& error) {
    error.add_place(fmt::format("{} '{}'", class_name(), name()));
    throw;
  }
}

Tensors Layer::call_on_placeholders(const Tensors& inputs, const CallArgs& args) {
  const std::shared_ptr<Layer> self = shared_self();
  check<FailedPrecondition>(self != nullptr,
                            "{} '{}': a layer of a functional model must be shared with it. Make "
                            "it with make_layer<{}>(…) instead of as a plain object.",
                            class_name(), name(), class_name());
  const auto outputs = compute_output_types(types_of(inputs), args);
  return KerasNode::record(self, inputs, args, outputs);
}

Tensors Layer::call_on_values(const Tensors& inputs, const CallArgs& args) {
  if (call_context.depth == 0) clear_losses();
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  ensure_built(shapes);
  const NameScope scope(name());
  std::vector<Tensor> cast;
  for (const Tensor& input : inputs) {
    const bool wrong = autocast() && is_floating(input.dtype()) && input.dtype() != compute_dtype();
    cast.push_back(wrong ? ops::cast(input, compute_dtype()).with_mask(input.mask())
                         : input.strong());
  }
  const CallScope calls(args.training);
  CallArgs resolved = args;
  resolved.training = call_context.training;
  if (!resolved.mask.defined() && cast.size() == 1) resolved.mask = cast[0].mask();
  const Tensors typed = inputs.with(std::move(cast));
  Tensors outputs = call_list(typed, resolved);
  if (activity_regularizer_) {
    for (const Tensor& output : outputs) {
      const Tensor loss = (*activity_regularizer_)(output);
      // As strong for any batch size.
      const int64_t rows = output.rank() > 0 ? output.shape()[0] : 1;
      add_loss(rows > 1 ? ops::divide(loss, rows) : loss);
    }
  }
  if (const Tensor mask = compute_mask(typed, resolved.mask); mask.defined()) {
    std::vector<Tensor> masked;
    for (const Tensor& output : outputs) masked.push_back(output.with_mask(mask));
    outputs = outputs.with(std::move(masked));
  }
  return outputs;
}

void Layer::ensure_built(const std::vector<Shape>& input_shapes) {
  if (built_) return;
  const NameScope scope(name());
  outside_of_traces([&] {
    build_list(input_shapes);
    return 0;
  });
  built_ = true;
  built_shapes_ = input_shapes;
}

std::vector<std::pair<DType, Shape>> Layer::compute_output_types(
    const std::vector<std::pair<DType, Shape>>& inputs, const CallArgs& args) {
  std::vector<Shape> shapes;
  std::vector<TensorType> types;
  for (const auto& [dtype, shape] : inputs) {
    shapes.push_back(shape);
    types.push_back({dtype, shape});
  }
  ensure_built(shapes);
  const auto outputs = infer_types(types, [&](const std::vector<Tensor>& values) {
    return call_on_values(Tensors(values), args).list();
  });
  clear_losses();
  std::vector<std::pair<DType, Shape>> result;
  for (const TensorType& type : outputs) result.emplace_back(type.dtype, type.shape);
  return result;
}

Shape Layer::compute_output_shape(const Shape& input_shape, DType dtype) {
  return compute_output_types({{dtype, input_shape}}).at(0).second;
}

namespace {

// A call may run many times, and under traces.
void require_unbuilt(const Layer& layer, const char* what, const std::string& of) {
  check<FailedPrecondition>(!layer.built(),
                            "{} '{}': {} '{}' was called after it was built. Make weights and "
                            "layers in its constructor or in build(), so that they're made once.",
                            layer.class_name(), layer.name(), what, of);
}

}  // namespace

Variable Layer::add_weight(const WeightOptions& options) {
  require_unbuilt(*this, "add_weight", options.name);
  check<InvalidArgument>(options.shape.is_static(),
                         "{} '{}': weight '{}' needs a known shape, got {}. Give Input the missing "
                         "axes.",
                         class_name(), name(), options.name, options.shape);
  const DType dtype = options.dtype.value_or(variable_dtype());
  const auto bytes_of_one = static_cast<int64_t>(size_of(dtype));
  WeightLimit::add(static_cast<uint64_t>(
      checked_multiply(options.shape.num_elements(), bytes_of_one, options.name)));
  Initializer initializer = options.initializer;
  if (!initializer) initializer = Initializer(is_floating(dtype) ? "glorot_uniform" : "zeros");
  const Tensor value = outside_of_traces([&] { return (*initializer)(options.shape, dtype); });
  Variable variable(
      value,
      {.name = options.name, .trainable = options.trainable, .aggregation = options.aggregation});
  const std::string& scope = NameScope::current();
  variable.set_path((scope.empty() ? name() : scope) + "/" + options.name);
  if (options.constraint) {
    variable.set_constraint(
        [constraint = options.constraint](const Tensor& weight) { return (*constraint)(weight); });
  }
  if (options.regularizer) regularizers_.push_back({variable, options.regularizer});
  own_weights_.push_back(variable);
  return variable;
}

Variable Layer::add_state(const std::string& state_name, const Tensor& initial_value) {
  Variable variable(initial_value, {.name = state_name, .trainable = false});
  variable.set_path(name() + "/" + state_name);
  own_state_.push_back(variable);
  return variable;
}

Variable Layer::track(const std::string& attribute, const Variable& variable) {
  require_unbuilt(*this, "track", attribute);
  variable.set_path(name() + "/" + attribute);
  own_weights_.push_back(variable);
  return variable;
}

void Layer::add_loss(const Tensor& loss) {
  check<InvalidArgument>(loss.shape().empty(),
                         "{} '{}': add_loss expects a scalar, got shape {}. Reduce it, for example "
                         "with ops::mean.",
                         class_name(), name(), loss.shape());
  call_losses_.push_back(loss);
}

void Layer::track_handle(const std::string& attribute, const LayerHandle& layer) {
  std::string key = attribute;
  if (key.empty()) {
    const std::string stem = to_snake_case(layer.get().class_name());
    auto taken = [&](const std::string& candidate) {
      return std::any_of(tracked_.begin(), tracked_.end(),
                         [&](const auto& entry) { return entry.first == candidate; });
    };
    key = stem;
    for (int number = 1; taken(key); ++number) key = stem + "_" + std::to_string(number);
  }
  require_unbuilt(*this, "track", key);
  tracked_.emplace_back(key, layer.pointer());
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (const auto& [key, layer] : sublayers()) layer->set_trainable(trainable);
}

void Layer::clear_losses() {
  call_losses_.clear();
  for (const auto& [key, layer] : sublayers()) layer->clear_losses();
}

std::vector<Tensor> Layer::losses() const {
  std::vector<Tensor> result = call_losses_;
  for (const auto& [variable, regularizer] : regularizers_) {
    if (is_trainable_weight(*this, variable)) result.push_back((*regularizer)(variable.value()));
  }
  for (const auto& [key, layer] : sublayers()) {
    for (const Tensor& loss : layer->losses()) result.push_back(loss);
  }
  return result;
}

void Layer::collect(std::vector<Variable>& out, bool (*wanted)(const Layer&, const Variable&),
                    bool with_state) const {
  auto add = [&](const Variable& variable) {
    const bool known = std::any_of(
        out.begin(), out.end(), [&](const Variable& other) { return other.id() == variable.id(); });
    if (!known && wanted(*this, variable)) out.push_back(variable);
  };
  for (const bool trainable : {true, false}) {
    for (const Variable& variable : own_weights_) {
      if (variable.trainable() == trainable) add(variable);
    }
  }
  if (with_state) std::for_each(own_state_.begin(), own_state_.end(), add);
  for (const auto& [key, layer] : sublayers()) layer->collect(out, wanted, with_state);
}

std::vector<Variable> Layer::weights() const {
  std::vector<Variable> result;
  collect(result, is_any, false);
  return result;
}
std::vector<Variable> Layer::trainable_weights() const {
  std::vector<Variable> result;
  collect(result, is_trainable_weight, false);
  return result;
}
std::vector<Variable> Layer::non_trainable_weights() const {
  std::vector<Variable> result;
  collect(result, is_frozen_weight, false);
  return result;
}
std::vector<Variable> Layer::variables() const {
  std::vector<Variable> result;
  collect(result, is_any, true);
  return result;
}
std::vector<Variable> Layer::non_trainable_variables() const {
  std::vector<Variable> result;
  collect(result, is_frozen_weight, true);
  return result;
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& variable : weights()) {
    Tensor copy = Tensor::empty(variable.shape(), variable.dtype());
    if (copy.bytes() > 0) std::memcpy(copy.mutable_raw(), variable.stored().raw(), copy.bytes());
    values.push_back(std::move(copy));
  }
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) {
  const std::vector<Variable> all = weights();
  check<InvalidArgument>(
      values.size() == all.size(), "{} '{}': set_weights expected {} tensors, got {}.{}",
      class_name(), name(), all.size(), values.size(),
      all.empty() && !built_ ? " The layer isn't built yet: call it first." : "");
  for (size_t i = 0; i < all.size(); ++i) {
    check<InvalidArgument>(values[i].shape() == all[i].shape(),
                           "{} '{}': set_weights expected shape {} for '{}', got {}.", class_name(),
                           name(), all[i].shape(), all[i].path(), values[i].shape());
  }
  for (size_t i = 0; i < all.size(); ++i) {
    all[i].store(values[i].dtype() == all[i].dtype() ? values[i]
                                                     : ops::cast(values[i], all[i].dtype()));
  }
}

int64_t Layer::count_params() const {
  int64_t count = 0;
  for (const Variable& variable : weights()) count += variable.num_elements();
  return count;
}

}  // namespace cornu
