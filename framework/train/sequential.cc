// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/dispatch.h"
#include "framework/model/call_frame.h"
#include "framework/model/input_dtype.h"
#include "framework/train/body.h"
#include "framework/train/model.h"
#include "framework/train/model_config.h"
#include "framework/train/trainer.h"

namespace cornu {

Json SequentialBody::get_config(const Model& model) const {
  Json config = model.Layer::get_config();
  Json::Array list;
  if (input_.defined()) list.push_back(serialize_part(*keras_node(input_)->layer()));
  for (const LayerHandle& layer : layers_) list.push_back(serialize_part(layer.get()));
  config.set("layers", std::move(list));
  if (input_.defined()) config.set("build_input_shape", input_.shape());
  return config;
}

void SequentialBody::build(const std::vector<Shape>& input_shapes) {
  if (input_.defined()) return;
  check<InvalidArgument>(input_shapes.size() == 1,
                         "expected 1 input, got {} of them. Make a functional model of them, or "
                         "concatenate them.",
                         input_shapes.size());
  check<FailedPrecondition>(!layers_.empty(), "it has no layers. Add some first.");
  Shape batch_shape = input_shapes[0];
  if (!batch_shape.empty()) batch_shape[0] = kUnknown;
  // Any dtype is taken as it comes: the layers cast what they need.
  const Tensor input = Input({.dtype = input_dtype(), .batch_shape = batch_shape});
  std::vector<Tensors> outputs;
  for (const LayerHandle& layer : layers_) {
    outputs.push_back(layer(outputs.empty() ? Tensors(input) : outputs.back()));
  }
  input_ = input;
  outputs_ = std::move(outputs);
}

const FunctionalGraph* SequentialBody::graph() const {
  if (!input_.defined() || outputs_.empty()) return nullptr;
  const std::lock_guard lock(graph_mutex_);
  if (!graph_) graph_ = std::make_unique<FunctionalGraph>(Tensors(input_), outputs_.back());
  return graph_.get();
}

DType SequentialBody::input_dtype() const {
  if (input_.defined()) return input_.dtype();
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
  check<InvalidArgument>(inputs.size() == 1, "expected 1 input, got {} of them.", inputs.size());
  // Other sizes than the input's are for the layers to judge, as in Keras.
  Tensors x = input_.defined() ? Tensors(fitted(inputs[0])) : inputs;
  for (const LayerHandle& layer : layers_) x = layer(x);
  return x;
}

Tensor SequentialBody::fitted(const Tensor& x) const {
  const DType dtype = input_given_ ? input_.dtype() : x.dtype();
  return fit_to_input(x, input_.shape(), dtype, keras_node(input_)->layer()->name(), false);
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
  if (input_.defined()) {
    const NameScope scope(model_name);
    outputs_.push_back(layer(outputs_.empty() ? Tensors(input_) : outputs_.back()));
    graph_.reset();
  }
  layers_.push_back(layer);
  names_.insert(layer.name());
}

void SequentialBody::add_input(const Tensor& input) {
  check<InvalidArgument>(layers_.empty() && !input_.defined(),
                         "Sequential: an Input goes before all layers; it has {} already.",
                         layers_.size());
  names_.insert(keras_node(input)->layer()->name());
  input_ = input;
  input_given_ = true;
}

void SequentialBody::pop() {
  check<FailedPrecondition>(!layers_.empty(), "Sequential: there is no layer to remove.");
  names_.erase(layers_.back().name());
  layers_.pop_back();
  if (input_.defined()) outputs_.pop_back();
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
  // A layer that is an Input stands for its placeholder.
  if (const auto* input = dynamic_cast<InputLayer*>(layer.shared().get())) {
    add(Input(
        {.dtype = input->dtype(), .batch_shape = input->batch_shape(), .name = input->name()}));
    return;
  }
  internal::require_outside(layer.get(), *this, "add");
  SequentialBody& body = sequential(*this);
  body.add(layer, name());
  trainer().forget_steps();
  if (body.input().defined()) set_built(true, {body.input().shape()});
}

void Sequential::add(const Tensor& input) {
  keras_node(input);  // InvalidArgument when it is no placeholder
  sequential(*this).add_input(input);
}

void Sequential::pop() {
  SequentialBody& body = sequential(*this);
  body.pop();
  trainer().forget_steps();
  if (layers().empty()) set_built(false);
}

}  // namespace cornu
