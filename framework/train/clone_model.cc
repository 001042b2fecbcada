// SPDX-License-Identifier: Apache-2.0
// Clones models, optionally with other layers.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>

#include "framework/model/copied_by_itself.h"
#include "framework/model/functional.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/train/body.h"
#include "framework/train/model_config.h"

namespace cornu {
namespace {

// The calls, each after those whose results it reads, with the calls of each layer in their
// original order: files number them in this order.
std::vector<std::shared_ptr<KerasNode>> in_call_order(const FunctionalGraph& graph) {
  std::map<const Layer*, std::set<int64_t>> left;
  for (const auto& node : graph.nodes()) left[node->layer().get()].insert(node->index());
  std::set<const KerasNode*> called;
  const auto is_known = [&](const Tensor& x) { return called.contains(keras_node(x).get()); };
  std::vector<std::shared_ptr<KerasNode>> order;
  std::vector<std::shared_ptr<KerasNode>> pending = graph.nodes();
  while (!pending.empty()) {
    std::vector<std::shared_ptr<KerasNode>> later;
    for (const auto& node : pending) {
      std::set<int64_t>& calls = left[node->layer().get()];
      if (*calls.begin() != node->index() || !std::ranges::all_of(node->operands(), is_known)) {
        later.push_back(node);
        continue;
      }
      calls.erase(calls.begin());
      called.insert(node.get());
      order.push_back(node);
    }
    CORNU_ASSERT(later.size(), <, pending.size());
    pending = std::move(later);
  }
  return order;
}

class Cloner {
 public:
  Cloner(const CloneOptions& options, const Model& model)
      : options_(options), outermost_(model.body()) {}

  Model clone(const Model& model, const Tensors& input_tensors) {
    const auto* sequential = dynamic_cast<const SequentialBody*>(model.body());
    Model result = sequential ? clone_list(model, *sequential, input_tensors)
                              : clone_graph(model, input_tensors);
    const Json arguments = compile_config_or_none(model);
    if (arguments.size() > 0) result.compile(compile_options_from_json(arguments));
    return result;
  }

 private:
  LayerHandle layer_for(const std::shared_ptr<Layer>& layer) {
    LayerHandle& made = made_[layer.get()];
    if (!made) made = new_layer(layer);
    return made;
  }

  LayerHandle new_layer(const std::shared_ptr<Layer>& layer) {
    const auto* copied = dynamic_cast<const CopiedByItself*>(layer.get());
    if (is_operation(*layer)) return LayerHandle(copied->copy());
    const auto* inner = dynamic_cast<const Model*>(layer.get());
    if ((options_.recursive || !options_.clone_function) && inner && inner->body()) {
      return LayerHandle(std::make_shared<Model>(clone(*inner, {})));
    }
    if (!options_.clone_function) {
      return copied ? LayerHandle(copied->copy()) : layer_from_json(serialize_part(*layer));
    }
    LayerHandle made = options_.clone_function(LayerHandle(layer));
    check<InvalidArgument>(static_cast<bool>(made),
                           "clone_model: expected clone_function to give a layer for {} '{}', got "
                           "none.",
                           layer->class_name(), layer->name());
    return made;
  }

  Model clone_list(const Model& model, const SequentialBody& body, const Tensors& given) {
    check<InvalidArgument>(!options_.call_function || &body != outermost_,
                           "clone_model: call_function goes with functional models; the layers of "
                           "the Sequential '{}' are called one after another.",
                           model.name());
    check<InvalidArgument>(given.size() <= 1,
                           "clone_model: expected 1 placeholder for the Sequential '{}', got {}.",
                           model.name(), given.size());
    Sequential result({.name = model.name(), .trainable = model.trainable()});
    if (!given.empty()) {
      result.add(checked_input(given[0]));
    } else if (body.inputs().size() == 1) {
      result.add(input_like(body.inputs()[0]));
    }
    for (const auto& layer : body.layers()) result.add(layer_for(layer));
    if (given.empty() && model.built()) {
      result.ensure_built(model.built_shapes(), model.built_names());
    }
    return result;
  }

  Model clone_graph(const Model& model, const Tensors& given) {
    const FunctionalGraph& graph = *model.body()->graph();
    const Tensors& old = graph.inputs();
    check<InvalidArgument>(given.empty() || given.size() == old.size(),
                           "clone_model: expected {} placeholders, as '{}' has inputs, got {}.",
                           old.size(), model.name(), given.size());
    std::unordered_map<const KerasNode*, Tensors> values;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < old.size(); ++i) {
      const std::string name = old.has_names() && given.has_names() ? old.names()[i] : "";
      inputs.push_back(given.empty() ? input_like(old[i])
                                     : checked_input(name.empty() ? given[i] : given.at(name)));
      values[keras_node(old[i]).get()] = inputs.back();
    }
    const auto value_of = [&](const Tensor& tensor) {
      if (!tensor.defined() || !is_placeholder(tensor)) return tensor;
      return values.at(keras_node(tensor).get())[static_cast<size_t>(tensor.symbol_id())];
    };
    const auto values_of = [&](const Tensors& tensors) {
      std::vector<Tensor> result;
      for (const Tensor& tensor : tensors) result.push_back(value_of(tensor));
      return tensors.with(std::move(result));
    };
    for (const auto& node : in_call_order(graph)) {
      if (node->inputs().empty()) continue;
      const LayerHandle layer = layer_for(node->layer());
      CallOptions call = node->options();
      call.mask = values_of(call.mask);
      const Tensors x = values_of(node->inputs());
      const bool by_function =
          options_.call_function && (options_.recursive || model.body() == outermost_);
      values[node.get()] = by_function ? options_.call_function(layer, x, call) : layer(x, call);
    }
    return Model(old.with(std::move(inputs)), values_of(graph.outputs()),
                 {.name = model.name(), .trainable = model.trainable()});
  }

  static Tensor input_like(const Tensor& input) {
    return Input({.dtype = input.dtype(),
                  .batch_shape = input.shape(),
                  .name = keras_node(input)->layer()->name()});
  }
  static Tensor checked_input(const Tensor& given) {
    check<InvalidArgument>(is_placeholder(given),
                           "clone_model: expected input_tensors that are placeholders, got a "
                           "tensor of shape {}.",
                           given.shape());
    return given;
  }

  const CloneOptions& options_;
  const ModelBody* outermost_;
  std::map<const Layer*, LayerHandle> made_;
};

}  // namespace

Model clone_model(const Model& model, const CloneOptions& options) {
  check<InvalidArgument>(model.body() != nullptr,
                         "clone_model: '{}' is an object of the class {}, which can't be cloned. "
                         "Make another one with make_layer<{}>(…).",
                         model.name(), model.class_name(), model.class_name());
  return Cloner(options, model).clone(model, options.input_tensors);
}

}  // namespace cornu
