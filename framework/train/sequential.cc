// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/dispatch.h"
#include "framework/model/call_frame.h"
#include "framework/model/input_dtype.h"
#include "framework/train/body.h"
#include "framework/train/model.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {
namespace {

Tensors with_names(std::vector<Tensor> list, const std::vector<std::string>& names) {
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < list.size(); ++i) named.emplace_back(names.at(i), std::move(list[i]));
  return Tensors::named(std::move(named));
}

}  // namespace

Json SequentialBody::get_config(const Model& model) const {
  Json config = model.Layer::get_config();
  Json::Array list;
  // For several or named inputs, Keras saves only the shapes.
  const bool single = inputs_.size() == 1 && !inputs_.has_names();
  if (single) list.push_back(serialize_part(*keras_node(inputs_[0])->layer()));
  for (const LayerHandle& layer : layers_) list.push_back(serialize_part(layer.get()));
  config.set("layers", std::move(list));
  if (single) config.set("build_input_shape", inputs_[0].shape());
  return config;
}

void SequentialBody::build(const std::vector<Shape>& input_shapes,
                           const std::vector<std::string>& names) {
  if (!inputs_.empty()) return;
  check<FailedPrecondition>(!layers_.empty(), "it has no layers. Add some first.");
  std::vector<Tensor> list;
  for (Shape batch_shape : input_shapes) {
    if (!batch_shape.empty()) batch_shape[0] = kUnknown;
    // Any dtype is accepted as is: the layers cast what they need.
    list.push_back(Input({.dtype = input_dtype(), .batch_shape = batch_shape}));
  }
  const Tensors inputs =
      names.empty() ? Tensors(std::move(list)) : with_names(std::move(list), names);
  std::vector<Tensors> outputs;
  for (const LayerHandle& layer : layers_) {
    outputs.push_back(layer(outputs.empty() ? inputs : outputs.back()));
  }
  inputs_ = inputs;
  outputs_ = std::move(outputs);
}

void SequentialBody::check_build(const Shape& input_shape, const std::string& model_name) const {
  if (inputs_.empty()) return;
  const Shape known = inputs_[0].shape();
  bool fits = inputs_.size() == 1 && known.rank() == input_shape.rank();
  for (int64_t i = 0; fits && i < known.rank(); ++i) {
    fits = known[i] == kUnknown || input_shape[i] == kUnknown || known[i] == input_shape[i];
  }
  check<InvalidArgument>(
      fits,
      "Sequential '{}' is already built for input of shape {}, and can't be built for {}. Another "
      "shape needs another model, of layers that aren't built.",
      model_name, known, input_shape);
}

const FunctionalGraph* SequentialBody::graph() const {
  if (inputs_.empty() || outputs_.empty()) return nullptr;
  const std::lock_guard lock(graph_mutex_);
  if (!graph_) graph_ = std::make_unique<FunctionalGraph>(inputs_, outputs_.back());
  return graph_.get();
}

DType SequentialBody::input_dtype() const {
  if (!inputs_.empty()) return inputs_[0].dtype();
  const Layer* first = layers_.empty() ? nullptr : &layers_.front().get();
  if (const auto* reads = dynamic_cast<const HasInputDType*>(first)) return reads->input_dtype();
  const auto* model = dynamic_cast<const Model*>(first);
  return model && model->body() ? model->body()->input_dtype() : DType::Float32;
}

Tensors SequentialBody::call(const Tensors& inputs) {
  if (const auto* known = inputs.has_names() ? graph() : nullptr;
      known && known->is_without_strings(inputs)) {
    return known->call(inputs);
  }
  // Sizes that differ from the input's are checked by the layers, as in Keras.
  Tensors x = inputs_.empty() ? inputs : fitted(inputs);
  for (const LayerHandle& layer : layers_) x = layer(x);
  return x;
}

Tensors SequentialBody::fitted(const Tensors& given) const {
  check<InvalidArgument>(given.size() == inputs_.size(), "expected {} input{}, got {} of them.",
                         inputs_.size(), inputs_.size() == 1 ? "" : "s", given.size());
  const bool by_name = inputs_.has_names() && given.has_names();
  std::vector<Tensor> list;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Tensor& x = by_name ? given.at(inputs_.names()[i]) : given[i];
    const DType dtype = input_given_ ? inputs_[i].dtype() : x.dtype();
    const std::string& name = keras_node(inputs_[i])->layer()->name();
    list.push_back(fit_to_input(x, inputs_[i].shape(), dtype, name, false));
  }
  return inputs_.with(std::move(list));
}

std::vector<std::shared_ptr<Layer>> SequentialBody::layers() const {
  std::vector<std::shared_ptr<Layer>> result;
  for (const LayerHandle& layer : layers_) result.push_back(layer.shared());
  return result;
}

void SequentialBody::add(const LayerHandle& layer, const std::string& model_name) {
  check<InvalidArgument>(
      names_.count(layer.name()) == 0,
      "Sequential '{}': it already has a layer named '{}'. Give this one another "
      "name.",
      model_name, layer.name());
  if (!inputs_.empty()) {
    const NameScope scope(model_name);
    outputs_.push_back(layer(outputs_.empty() ? inputs_ : outputs_.back()));
    graph_.reset();
  }
  layers_.push_back(layer);
  names_.insert(layer.name());
}

void SequentialBody::add_input(const Tensor& input) {
  check<InvalidArgument>(layers_.empty(),
                         "Sequential: an Input goes before all layers; it has {} already.",
                         layers_.size());
  check<InvalidArgument>(inputs_.empty(),
                         "Sequential: there is an Input already, '{}'. Omit the second one, or "
                         "make a functional model of several.",
                         inputs_.empty() ? "" : keras_node(inputs_[0])->layer()->name());
  names_.insert(keras_node(input)->layer()->name());
  inputs_ = input;
  input_given_ = true;
}

void SequentialBody::pop() {
  check<FailedPrecondition>(!layers_.empty(), "Sequential: there is no layer to remove.");
  names_.erase(layers_.back().name());
  layers_.pop_back();
  if (!inputs_.empty()) outputs_.pop_back();
  graph_.reset();
}

namespace {

SequentialBody& sequential(const Model& model) {
  return *static_cast<SequentialBody*>(model.body());
}

}  // namespace

Sequential::Sequential(const ModelOptions& options)
    : Model(std::make_shared<SequentialBody>(), options) {}

Sequential::Sequential(std::initializer_list<SequentialPart> parts, const ModelOptions& options)
    : Sequential(options) {
  for (const SequentialPart& part : parts) {
    if (part.input().defined()) {
      add(part.input());
    } else {
      add(part.layer());
    }
  }
}

Sequential::Sequential(const std::vector<LayerHandle>& layers, const ModelOptions& options)
    : Sequential(options) {
  for (const LayerHandle& layer : layers) add(layer);
}

Sequential::Sequential(const Tensor& input, std::initializer_list<LayerHandle> layers,
                       const ModelOptions& options)
    : Sequential(options) {
  add(input);
  for (const LayerHandle& layer : layers) add(layer);
}

void Sequential::add(const LayerHandle& layer) {
  check<InvalidArgument>(static_cast<bool>(layer), "Sequential '{}': expected a layer, got none.",
                         name());
  // An Input passed as a layer represents its placeholder.
  if (const auto* input = dynamic_cast<InputLayer*>(layer.shared().get())) {
    add(Input(
        {.dtype = input->dtype(), .batch_shape = input->batch_shape(), .name = input->name()}));
    return;
  }
  internal::require_outside(layer.get(), *this, "add");
  SequentialBody& body = sequential(*this);
  body.add(layer, name());
  trainer().forget_steps();
  if (body.inputs().empty()) return;
  std::vector<Shape> shapes;
  for (const Tensor& input : body.inputs()) shapes.push_back(input.shape());
  set_built(true, std::move(shapes));
}

void Sequential::add(const Tensor& input) {
  keras_node(input);  // throws InvalidArgument if it isn't a placeholder
  sequential(*this).add_input(input);
}

void Sequential::pop() {
  SequentialBody& body = sequential(*this);
  body.pop();
  trainer().forget_steps();
  if (layers().empty()) set_built(false);
}

}  // namespace cornu
