// SPDX-License-Identifier: Apache-2.0
#include "framework/model/layer.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <typeinfo>

#include "framework/core/at_end.h"
#include "framework/core/demangle.h"
#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/trace.h"
#include "framework/model/call_frame.h"
#include "framework/model/dtype_policy.h"
#include "framework/model/dtype_policy_json.h"
#include "framework/model/functional.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/model/layer_state.h"
#include "framework/model/remat_call.h"
#include "framework/model/serialized.h"
#include "framework/model/title.h"
#include "framework/ops/ops.h"

namespace cornu {
namespace {

std::vector<std::pair<DType, Shape>> types_of(const Tensors& tensors) {
  std::vector<std::pair<DType, Shape>> types;
  for (const Tensor& tensor : tensors) types.emplace_back(tensor.dtype(), tensor.shape());
  return types;
}

MaskTypes mask_types_of(const Tensors& tensors) {
  MaskTypes types;
  for (const Tensor& tensor : tensors) {
    if (is_placeholder(tensor)) {
      types.push_back(keras_node(tensor)->mask_type(static_cast<size_t>(tensor.symbol_id())));
    } else {
      types.emplace_back();
      const Tensor mask = tensor.mask();
      if (mask.defined()) types.back().emplace(mask.dtype(), mask.shape());
    }
  }
  return types;
}

}  // namespace

Layer::Layer(const LayerOptions& options)
    : state_(std::make_shared<internal::LayerState>(options)) {}

Layer::Layer(const Layer& other, Share) : state_(other.state_) {}

void Layer::share(const Layer& other) { state_ = other.state_; }

Layer::~Layer() { internal::CallFrame::take_back(*this); }

const std::string& Layer::name() const {
  internal::LayerState& state = *state_;
  if (!state.named.load(std::memory_order_acquire)) {
    const std::lock_guard lock(state.naming);
    if (!state.named) {
      state.name = unique_name(default_name(class_name()));
      state.named = true;
    }
  }
  return state.name;
}

void Layer::set_name(std::string name) {
  const std::lock_guard lock(state_->naming);
  state_->name = std::move(name);
  state_->named = true;
}

bool Layer::built() const { return state_->built; }
const std::vector<Shape>& Layer::built_shapes() const { return state_->built_shapes; }
const std::vector<std::string>& Layer::built_names() const { return state_->built_names; }
const DTypePolicy& Layer::dtype_policy() const { return state_->policy; }
const Regularizer& Layer::activity_regularizer() const { return state_->activity_regularizer; }

bool Layer::building() const {
  const auto lock = tracing_lock();
  return state_->building;
}

void Layer::set_built(bool built, std::vector<Shape> input_shapes) {
  state_->built_shapes = std::move(input_shapes);
  state_->built = built;
}

std::string Layer::class_name() const {
  const std::string name = demangled(typeid(*this));
  const size_t colon = name.rfind("::");
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

Json Layer::module() const { return nullptr; }

Json Layer::get_config() const {
  Json config = Json::object({{"name", name()}, {"trainable", trainable()}});
  config.set("dtype", serialize_dtype_policy(dtype_policy()));
  if (activity_regularizer()) {
    config.set("activity_regularizer", serialize(activity_regularizer()));
  }
  return config;
}

void Layer::build(const Shape&) {}

void Layer::build_list(const std::vector<Shape>& input_shapes) { build(input_shapes.at(0)); }

Tensor Layer::call(const Tensor&, const CallArgs&) {
  raise<Unimplemented>(
      "{} '{}' has no call(). Override `Tensor call(const Tensor& x, const CallArgs& args)`.",
      class_name(), name());
}

Tensors Layer::call_list(const Tensors& inputs, const CallArgs& args) {
  check<InvalidArgument>(inputs.size() == 1,
                         "{} '{}': expected 1 input, got {} of them. Merge them first, for example "
                         "with layers::Concatenate(); a layer that takes several overrides "
                         "call_list.",
                         class_name(), name(), inputs.size());
  return call(inputs[0], args);
}

Tensor Layer::compute_mask(const Tensors&, const Tensor& mask) const {
  return supports_masking() ? mask : Tensor();
}

const CallSignature& Layer::call_signature() const {
  static const CallSignature none;
  return none;
}

namespace {

// Names for this many inputs that are passed in order.
std::vector<std::string> names_in_order(const CallSignature& signature, size_t inputs) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputs && !signature.inputs.empty(); ++i) {
    names.push_back(signature.inputs[std::min(i, signature.inputs.size() - 1)]);
  }
  return names;
}

void require_inputs(const Layer& layer, size_t inputs) {
  check<InvalidArgument>(inputs > 0, "{}: expected an input, got none.", title_of(layer));
}

// Extends masks that cover only the first arguments (such as a sequence without its states) with
// undefined ones for the rest.
CallOptions with_every_mask(CallOptions options, size_t count) {
  std::vector<Tensor> masks = options.mask.list();
  masks.resize(count);
  options.mask = Tensors(std::move(masks));
  return options;
}

}  // namespace

void Layer::require_argument(const std::string& key, const std::vector<std::string>& known) const {
  check<InvalidArgument>(std::find(known.begin(), known.end(), key) != known.end(),
                         "{} '{}': its call has no argument '{}'.{}", class_name(), name(), key,
                         did_you_mean(key, known));
}

void Layer::check_settings(const CallOptions& options) const {
  if (options.settings.is_null()) return;
  for (const auto& [key, value] : options.settings.as_object()) {
    require_argument(key, call_signature().settings);
  }
}

Tensors Layer::named_by_signature(const Tensors& inputs) const {
  const CallSignature& signature = call_signature();
  for (const std::string& key : inputs.names()) require_argument(key, signature.inputs);
  if (inputs.has_names()) {
    const std::string& first = signature.inputs[0];
    check<InvalidArgument>(signature.built == 0 || inputs.get(first).defined(),
                           "{} '{}': expected its argument '{}', which it needs, got none. Give it "
                           "a tensor.",
                           class_name(), name(), first);
    return inputs;
  }
  const std::vector<std::string> names = names_in_order(signature, inputs.size());
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace_back(names[i], inputs[i]);
  return Tensors::named(std::move(named));
}

// The inputs that are given, and the masks of these.
Tensors Layer::without_undefined(const Tensors& given, CallOptions& options) const {
  const Tensors inputs = call_signature().inputs.empty() ? given : named_by_signature(given);
  check<InvalidArgument>(inputs.has_names(),
                         "{} '{}': expected {} tensors, got undefined ones (None) among them. Only "
                         "inputs with names may be left out: give it all of a list.",
                         class_name(), name(), inputs.size());
  std::vector<Tensors::Named> defined;
  std::vector<Tensor> masks;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    defined.emplace_back(inputs.names()[i], inputs[i]);
    if (i < options.mask.size()) masks.push_back(options.mask[i]);
  }
  options.mask = Tensors(std::move(masks));
  return Tensors::named(std::move(defined));
}

Tensors Layer::operator()(const Tensors& given, const CallOptions& options) {
  if (std::ranges::any_of(given, [](const Tensor& x) { return !x.defined(); })) {
    CallOptions fewer = options;
    const Tensors defined = without_undefined(given, fewer);
    return (*this)(defined, fewer);
  }
  try {
    const internal::CallDepth depth(*this);
    check_settings(options);
    const bool by_name = !call_signature().inputs.empty();
    const Tensors named = by_name ? named_by_signature(given) : Tensors();
    const Tensors& inputs = by_name ? named : given;
    require_inputs(*this, inputs.size());
    CallOptions filled;
    const bool lacks_masks =
        by_name && options.mask.size() < inputs.size() && !options.mask.empty();
    const CallOptions& call =
        lacks_masks ? filled = with_every_mask(options, inputs.size()) : options;
    check<InvalidArgument>(call.mask.empty() || call.mask.size() == inputs.size(),
                           "{} '{}': expected a mask for each of its {} inputs, got {}.",
                           class_name(), name(), inputs.size(), call.mask.size());
    auto symbolic = [](const Tensors& tensors) {
      return std::any_of(tensors.begin(), tensors.end(),
                         [](const Tensor& x) { return is_placeholder(x); });
    };
    return symbolic(inputs) || symbolic(call.mask) ? call_on_placeholders(inputs, call)
                                                   : call_on_values(inputs, call);
  } catch (Error& error) {
    error.add_place(title_of(*this));
    throw;
  } catch (const std::bad_function_call&) {
    raise<InvalidArgument>("{}: it calls a function that is empty. Give it another one.",
                           title_of(*this));
  }
}

Tensors Layer::call_on_placeholders(const Tensors& inputs, const CallOptions& options) {
  const std::shared_ptr<Layer> self = shared_self();
  check<FailedPrecondition>(self != nullptr,
                            "{} '{}': a layer of a functional model must be shared with it. Make "
                            "it with make_layer<{}>(…) instead of as a plain object.",
                            class_name(), name(), class_name());
  const CallTypes outputs =
      infer_call(types_of(inputs), inputs.names(), options, mask_types_of(inputs));
  return KerasNode::record(self, inputs, options, outputs.types, outputs.names, outputs.masks);
}

Tensors Layer::call_on_values(const Tensors& inputs, const CallOptions& options) {
  const bool stray = internal::CallFrame::note_call(*this);
  if (internal::CallScope::outermost()) clear_losses();
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  build_once(shapes, inputs.names());
  if (stray) internal::CallFrame::require_nothing_lost(*this);
  const NameScope scope(name());
  const internal::CallScope calls(options.training);
  internal::CallFrame frame(*this, internal::CallFrame::Phase::Call);
  internal::RematCall remat(*this, state_->remat);
  Tensors outputs = call_built(inputs, options);
  remat.finish(outputs);
  frame.finish();
  if (stray) internal::CallFrame::require_nothing_lost(*this);
  return outputs;
}

// The call itself, with inputs already prepared for the layer.
Tensors Layer::call_built(const Tensors& inputs, const CallOptions& options) {
  const Tensors& masks = options.mask;
  std::vector<Tensor> cast;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& input = inputs[i];
    const Tensor& mask = !masks.empty() && masks[i].defined() ? masks[i] : input.mask();
    const bool wrong = autocast() && is_floating(input.dtype()) && input.dtype() != compute_dtype();
    const Tensor typed = wrong ? ops::cast(input, compute_dtype()) : input.strong();
    cast.push_back(mask.defined() ? typed.with_mask(mask) : typed);
  }
  CallArgs args{.training = current_training().value_or(training_by_default()),
                .mask_given = !masks.empty(),
                .settings = options.settings};
  if (cast.size() == 1) args.mask = cast[0].mask();
  const Tensors typed = inputs.with(std::move(cast));
  Tensors outputs = [&] {
    const AutocastScope dtype_of_variables(autocasts_variables() ? std::optional(compute_dtype())
                                                                 : std::nullopt);
    return call_list(typed, args);
  }();
  if (activity_regularizer()) {
    for (const Tensor& output : outputs) {
      const Tensor loss = (*activity_regularizer())(output);
      // The penalty's strength is independent of the batch size.
      const int64_t rows = output.rank() > 0 ? output.shape()[0] : 1;
      add_loss(rows > 1 ? ops::divide(loss, rows) : loss);
    }
  }
  return with_masks(outputs, typed);
}

// Adds masks to the outputs that don't have one yet.
Tensors Layer::with_masks(const Tensors& outputs, const Tensors& inputs) const {
  const Tensor previous = inputs.empty() ? Tensor() : inputs[0].mask();
  const Tensor mask = compute_mask(inputs, previous);
  if (!mask.defined()) return outputs;
  const bool by_place = inputs.size() > 1 && previous.defined() && mask.id() == previous.id();
  std::vector<Tensor> masked;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool has_input = i < inputs.size();
    const Tensor own = !by_place ? mask : has_input ? inputs[i].mask() : Tensor();
    const bool takes = own.defined() && !outputs[i].mask().defined();
    masked.push_back(takes ? outputs[i].with_mask(own) : outputs[i]);
  }
  return outputs.with(std::move(masked));
}

void Layer::ensure_built(const std::vector<Shape>& input_shapes, std::vector<std::string> names) {
  const bool stray = internal::CallFrame::note_call(*this);
  if (names.empty()) names = names_in_order(call_signature(), input_shapes.size());
  build_once(input_shapes, std::move(names));
  if (stray) internal::CallFrame::require_nothing_lost(*this);
}

void Layer::build_once(const std::vector<Shape>& input_shapes, std::vector<std::string> names) {
  if (built()) return;
  const NameScope scope(name());
  internal::CallFrame frame(*this, internal::CallFrame::Phase::Call);
  const auto lock = tracing_lock();
  if (built()) return;
  require_inputs(*this, input_shapes.size());
  check<Unimplemented>(
      dtype_policy().quantization_mode.empty() || dynamic_cast<Quantizable*>(this),
      "{} '{}': its dtype policy {} is for layers with weights that can be quantized: Dense, "
      "EinsumDense, Embedding and ReversibleEmbedding.",
      class_name(), name(), dtype_policy().name());
  const size_t made_before = own_weights().size();
  internal::BuildUndo undo(*state_);
  state_->building = true;
  state_->built_names = std::move(names);
  const AtEnd ended([&] { state_->building = false; });
  const AutocastScope whole({});
  internal::outside_of_traces([&] {
    build_list(input_shapes);
    return 0;
  });
  internal::require_made_once(*this, made_before);
  undo.keep();
  set_built(true, input_shapes);
}

// Infers dtypes and shapes of the outputs (with unknown axes) and of their masks, and the outputs'
// names if they have any.
Layer::CallTypes Layer::infer_call(const std::vector<std::pair<DType, Shape>>& inputs,
                                   const std::vector<std::string>& input_names,
                                   const CallOptions& options, const MaskTypes& input_masks) {
  const internal::CallFrame nobody;
  std::vector<Shape> shapes;
  std::vector<TensorType> types;
  for (const auto& [dtype, shape] : inputs) {
    shapes.push_back(shape);
    types.push_back({dtype, shape});
  }
  for (const auto& mask : input_masks) {
    if (mask) types.push_back({mask->first, mask->second});
  }
  for (const Tensor& mask : options.mask) {
    if (mask.defined()) types.push_back(type_of(mask));
  }
  build_once(shapes, input_names);
  CallTypes result;
  std::vector<bool> masked;
  const auto called_with = [&](const std::vector<Tensor>& values) {
    auto next = values.begin() + static_cast<int64_t>(inputs.size());
    std::vector<Tensor> list(values.begin(), next);
    for (size_t i = 0; i < input_masks.size(); ++i) {
      if (input_masks[i]) list[i] = list[i].with_mask(*next++);
    }
    std::vector<Tensors::Named> named;
    for (size_t i = 0; i < input_names.size(); ++i) named.emplace_back(input_names[i], list[i]);
    std::vector<Tensor> masks;
    for (const Tensor& mask : options.mask) masks.push_back(mask.defined() ? *next++ : mask);
    const Tensors called = (*this)(
        named.empty() ? Tensors(std::move(list)) : Tensors::named(std::move(named)),
        {.training = options.training, .mask = std::move(masks), .settings = options.settings});
    result.names = called.names();
    std::vector<Tensor> given = called.list();
    masked.clear();
    for (const Tensor& output : called) {
      masked.push_back(output.mask().defined());
      if (masked.back()) given.push_back(output.mask());
    }
    return given;
  };
  const auto shapes_within = [&] {
    std::vector<Shape> own;
    if (const auto* op = dynamic_cast<const GraphOp*>(this)) {
      for (const Tensor& constant : op->constants()) {
        if (constant.defined()) own.push_back(constant.shape());
      }
    }
    for (const Variable& weight : weights()) own.push_back(weight.shape());
    return own;
  };
  const auto outputs = infer_types(types, called_with, shapes_within);
  clear_losses();
  check<InvalidArgument>(
      outputs.size() == masked.size() + static_cast<size_t>(std::ranges::count(masked, true)),
      "{}: expected as many outputs and masks from each call, got different numbers of them. A "
      "layer's outputs may not depend on anything but its inputs.",
      title_of(*this));
  auto mask = outputs.begin() + static_cast<int64_t>(masked.size());
  for (size_t i = 0; i < masked.size(); ++i) {
    result.types.emplace_back(outputs[i].dtype, outputs[i].shape);
    result.masks.emplace_back();
    if (!masked[i]) continue;
    result.masks.back().emplace(mask->dtype, mask->shape);
    ++mask;
  }
  return result;
}

std::vector<std::pair<DType, Shape>> Layer::compute_output_types(
    const std::vector<std::pair<DType, Shape>>& inputs, const CallOptions& options,
    const std::vector<std::string>& names) {
  const auto given = names.empty() ? names_in_order(call_signature(), inputs.size()) : names;
  check<InvalidArgument>(given.empty() || given.size() == inputs.size(),
                         "{}: expected a name for each of {} inputs, got {}.", title_of(*this),
                         inputs.size(), given.size());
  return infer_call(inputs, given, options).types;
}

Shape Layer::compute_output_shape(const Shape& input_shape, DTypeLike dtype) {
  const auto outputs = compute_output_types({{dtype, input_shape}});
  check<InvalidArgument>(!outputs.empty(), "{}: expected a layer with an output, got none.",
                         title_of(*this));
  return outputs[0].second;
}

int64_t Layer::add_node(const std::shared_ptr<KerasNode>& node) {
  auto& nodes = state_->nodes;
  std::erase_if(nodes, [](const auto& other) { return other.expired(); });
  nodes.push_back(node);
  return state_->nodes_made++;
}

namespace {

// The layer's first call on placeholders among those that a model or placeholder still keeps alive.
std::shared_ptr<KerasNode> first_node(const Layer& layer,
                                      const std::vector<std::weak_ptr<KerasNode>>& nodes,
                                      const char* what) {
  for (const auto& node : nodes) {
    if (auto found = node.lock()) return found;
  }
  raise<FailedPrecondition>(
      "{} '{}' has no {}: it was never called on placeholders. Make it part of a functional model, "
      "or of a Sequential one that knows its input.",
      layer.class_name(), layer.name(), what);
}

}  // namespace

Tensors Layer::input() const {
  const auto node = first_node(*this, state_->nodes, "input");
  return node->inputs().empty() ? node->outputs() : node->inputs();
}

Tensors Layer::output() const { return first_node(*this, state_->nodes, "output")->outputs(); }

}  // namespace cornu
