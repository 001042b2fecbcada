// SPDX-License-Identifier: Apache-2.0
#include "framework/model/functional.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "framework/core/end_in_turn.h"
#include "framework/core/strings.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"

namespace cornu {

Tensors KerasNode::record(std::shared_ptr<Layer> layer, const Tensors& inputs,
                          const CallOptions& options,
                          const std::vector<std::pair<DType, Shape>>& outputs,
                          const std::vector<std::string>& output_names, const MaskTypes& masks) {
  auto node = std::make_shared<KerasNode>();
  node->layer_ = std::move(layer);
  node->inputs_ = inputs;
  node->options_ = options;
  node->outputs_ = outputs;
  node->output_names_ = output_names;
  node->masks_ = masks;
  node->index_ = node->layer_->add_node(node);
  return node->outputs();
}

Tensors KerasNode::outputs() {
  std::vector<Tensor> placeholders;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto& [dtype, shape] = outputs_[i];
    placeholders.push_back(
        Tensor::symbol(shared_from_this(), static_cast<int64_t>(i), shape, dtype));
  }
  if (output_names_.empty()) return placeholders;
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < placeholders.size(); ++i) {
    named.emplace_back(output_names_[i], placeholders[i]);
  }
  return Tensors::named(std::move(named));
}

namespace {

// In the order in which Keras walks them: a dictionary in sorted key order, after its positional
// arguments.
std::vector<Tensor> walked(const Tensors& tensors, size_t positional = 0) {
  if (!tensors.has_names()) return tensors.list();
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin() + static_cast<int64_t>(positional), order.end(),
                   [&](size_t a, size_t b) { return tensors.names()[a] < tensors.names()[b]; });
  std::vector<Tensor> result;
  for (const size_t i : order) result.push_back(tensors[i]);
  return result;
}

}  // namespace

size_t KerasNode::positional_inputs() const {
  const std::vector<std::string>& order = layer_->call_signature().inputs;
  const std::vector<std::string>& names = inputs_.names();
  size_t count = 0;
  while (count < std::min(order.size(), names.size()) && names[count] == order[count] &&
         (count + 1 == names.size() || names[count + 1] != names[count])) {
    ++count;
  }
  return count;
}

std::vector<Tensor> KerasNode::operands() const {
  std::vector<Tensor> result;
  for (const Tensor& input : walked(inputs_, positional_inputs())) {
    if (is_placeholder(input)) result.push_back(input);
  }
  for (const Tensor& mask : options_.mask) {
    if (mask.defined() && is_placeholder(mask)) result.push_back(mask);
  }
  return result;
}

KerasNode::~KerasNode() { end_in_turn(std::pair(std::move(inputs_), std::move(options_.mask))); }

std::string KerasNode::describe(int64_t) const {
  return fmt::format("a placeholder (the output of {} '{}')", layer_->class_name(), layer_->name());
}

std::vector<Tensor> KerasNode::apply(const OpDef& op, const std::vector<Tensor>& inputs,
                                     const Attributes& attributes) {
  std::vector<Tensor> placeholders;
  std::vector<Tensor> constants;
  for (const Tensor& input : inputs) {
    const bool symbolic = is_placeholder(input);
    if (symbolic) placeholders.push_back(input);
    constants.push_back(symbolic ? Tensor() : input);
  }
  auto layer = std::make_shared<OpLayer>(op, attributes, std::move(constants));
  return (*layer)(Tensors(std::move(placeholders))).list();
}

std::shared_ptr<KerasNode> keras_node(const Tensor& placeholder) {
  auto node = placeholder.is_symbolic()
                  ? std::dynamic_pointer_cast<KerasNode>(placeholder.symbol_owner())
                  : nullptr;
  check<InvalidArgument>(node != nullptr,
                         "Model: expected placeholders made by Input and by layers called on them, "
                         "got {}.",
                         placeholder);
  return node;
}

InputLayer::InputLayer(Shape batch_shape, DType dtype, const std::string& name)
    : Layer({.name = name}), batch_shape_(std::move(batch_shape)), dtype_(dtype) {
  set_built();
}

Json InputLayer::get_config() const {
  return Json::object({{"batch_shape", batch_shape_},
                       {"dtype", to_string(dtype_)},
                       {"sparse", false},
                       {"ragged", false},
                       {"name", name()},
                       {"optional", false}});
}

namespace {

// Keras's order of a graph: nodes and layers by their distance from the outputs, farthest first.
// Files number a model's layers by it.
class DepthOrder {
 public:
  explicit DepthOrder(const Tensors& outputs) {
    for (const Tensor& output : walked(outputs)) visit(keras_node(output));
    for (auto it = finished_.rbegin(); it != finished_.rend(); ++it) {
      const auto& node = *it;
      int& layer_depth = layer_depth_[node->layer().get()];
      int& depth = node_depth_[node.get()];
      depth = std::max(depth, layer_depth);
      layer_depth = depth;
      for (const Tensor& input : node->operands()) {
        int& before = node_depth_[keras_node(input).get()];
        before = std::max(before, depth + 1);
      }
    }
  }

  std::vector<std::shared_ptr<KerasNode>> nodes() const {
    std::vector<std::shared_ptr<KerasNode>> result(finished_.rbegin(), finished_.rend());
    std::stable_sort(result.begin(), result.end(), [&](const auto& a, const auto& b) {
      return node_depth_.at(a.get()) > node_depth_.at(b.get());
    });
    return result;
  }

  std::vector<std::shared_ptr<Layer>> layers() const {
    std::vector<std::shared_ptr<Layer>> result = seen_layers_;
    std::stable_sort(result.begin(), result.end(), [&](const auto& a, const auto& b) {
      return layer_depth_.at(a.get()) > layer_depth_.at(b.get());
    });
    return result;
  }

 private:
  // Visits a node and all nodes before it, depth first.
  void visit(const std::shared_ptr<KerasNode>& last) {
    struct Step {
      std::shared_ptr<KerasNode> node;
      std::vector<Tensor> operands;
      size_t next = 0;
    };
    std::vector<Step> path;
    const auto enter = [&](const std::shared_ptr<KerasNode>& node) {
      if (!seen_.insert(node.get()).second) return;
      if (layer_depth_.emplace(node->layer().get(), 0).second) {
        seen_layers_.push_back(node->layer());
      }
      path.push_back({node, node->operands()});
    };
    enter(last);
    while (!path.empty()) {
      Step& step = path.back();
      if (step.next < step.operands.size()) {
        const Tensor operand = step.operands[step.next++];
        enter(keras_node(operand));
      } else {
        finished_.push_back(step.node);
        path.pop_back();
      }
    }
  }

  std::set<const KerasNode*> seen_;
  std::vector<std::shared_ptr<KerasNode>> finished_;  // inputs before readers
  std::vector<std::shared_ptr<Layer>> seen_layers_;
  std::unordered_map<const KerasNode*, int> node_depth_;
  std::unordered_map<const Layer*, int> layer_depth_;
};

// A graph that begins at `inputs`. Inputs that are outputs of layers are replaced by new Inputs of
// the same type, and the calls between them and the outputs are made again, as in Keras
// (clone_graph_nodes).
class Beginning {
 public:
  Beginning(const Tensors& inputs, const Tensors& outputs) : inputs_(inputs), outputs_(outputs) {
    std::vector<Tensor> begin;
    for (const Tensor& input : inputs) {
      const bool is_input = keras_node(input)->inputs().empty();
      begin.push_back(is_input ? input : input_like(input));
      if (!is_input) values_.emplace(place_of(input), begin.back());
    }
    if (values_.empty()) return;
    inputs_ = inputs.with(std::move(begin));
    const std::vector<std::shared_ptr<KerasNode>> nodes = DepthOrder(outputs).nodes();
    const std::set<const KerasNode*> needed = between(nodes, outputs);
    for (const auto& node : nodes) {
      if (needed.contains(node.get())) call(*node);
    }
    outputs_ = values_of(outputs);
  }

  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }

 private:
  using Place = std::pair<const KerasNode*, int64_t>;  // node and output index

  static Place place_of(const Tensor& x) { return {keras_node(x).get(), x.symbol_id()}; }

  static Tensor input_like(const Tensor& x) {
    const std::string& name = keras_node(x)->layer()->name();
    return Input({.dtype = x.dtype(),
                  .batch_shape = x.shape(),
                  .name = x.symbol_id() == 0 ? name + "CLONE"
                                             : fmt::format("{}_{}CLONE", name, x.symbol_id())});
  }

  // Nodes that the outputs depend on via paths that don't pass through an input.
  std::set<const KerasNode*> between(const std::vector<std::shared_ptr<KerasNode>>& nodes,
                                     const Tensors& outputs) const {
    std::set<const KerasNode*> needed;
    const auto need = [&](const Tensor& x) {
      if (!values_.contains(place_of(x))) needed.insert(keras_node(x).get());
    };
    for (const Tensor& output : outputs) need(output);
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      if (!needed.contains(node->get())) continue;
      for (const Tensor& operand : (*node)->operands()) need(operand);
    }
    return needed;
  }

  void call(KerasNode& node) {
    const std::vector<Tensor> operands = node.operands();
    const bool is_same = std::ranges::none_of(
        operands, [&](const Tensor& x) { return values_.contains(place_of(x)); });
    if (is_same) return;
    CallOptions options = node.options();
    options.mask = values_of(options.mask);
    const Tensors results = (*node.layer())(values_of(node.inputs()), options);
    for (size_t i = 0; i < results.size(); ++i) {
      values_.emplace(Place(&node, static_cast<int64_t>(i)), results[i]);
    }
  }

  Tensors values_of(const Tensors& tensors) const {
    std::vector<Tensor> result;
    for (const Tensor& x : tensors) {
      const bool is_known = x.defined() && is_placeholder(x) && values_.contains(place_of(x));
      result.push_back(is_known ? values_.at(place_of(x)) : x);
    }
    return tensors.with(std::move(result));
  }

  Tensors inputs_;
  Tensors outputs_;
  std::map<Place, Tensor> values_;  // replacements for the original placeholders
};

// Keras allows a trailing axis of size 1 to be present or missing.
Tensor adapt_rank(const Tensor& value, const Shape& expected) {
  const Shape& shape = value.shape();
  const int64_t rank = expected.rank();
  if (shape.rank() == rank + 1 && shape.back() == 1) {
    return ops::reshape(value, shape.slice(0, rank));
  }
  if (shape.rank() == rank - 1 && expected.back() == 1) {
    return ops::reshape(value, shape.concat({1}));
  }
  return value;
}

// Whether `shape` is that of a single example of `batch`.
bool is_example_of(const Shape& shape, const Shape& batch) {
  if (shape.rank() != batch.rank() - 1) return false;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    const int64_t expected = batch[axis + 1];
    if (expected != kUnknown && expected != shape[axis]) return false;
  }
  return true;
}

}  // namespace

FunctionalGraph::FunctionalGraph(const Tensors& inputs, const Tensors& outputs)
    : inputs_(inputs), outputs_(outputs) {
  check<InvalidArgument>(!inputs.empty() && !outputs.empty(),
                         "Model: expected at least one input and one output, got {} and {}.",
                         inputs.size(), outputs.size());
  const Beginning beginning(inputs, outputs);
  inputs_ = beginning.inputs();
  outputs_ = beginning.outputs();
  std::set<const KerasNode*> given;
  for (const Tensor& input : inputs_) given.insert(keras_node(input).get());
  const DepthOrder order(outputs_);
  nodes_ = order.nodes();
  layers_ = order.layers();
  for (const auto& node : nodes_) {
    check<InvalidArgument>(!node->inputs().empty() || given.count(node.get()),
                           "Model: its outputs depend on the Input '{}', which isn't among its "
                           "inputs. Add it to them.",
                           node->layer()->name());
  }
  std::set<const KerasNode*> known;
  for (const auto& node : nodes_) known.insert(node.get());
  for (const Tensor& input : walked(inputs_)) {  // inputs that no output depends on
    const auto node = keras_node(input);
    if (!known.insert(node.get()).second) continue;
    nodes_.push_back(node);
    layers_.push_back(node->layer());
  }
  std::set<std::string> names;
  for (const auto& layer : layers_) {
    check<InvalidArgument>(names.insert(layer->name()).second,
                           "Model: two of its layers are named '{}'. Give one another name.",
                           layer->name());
  }
  find_strings();
}

std::vector<std::string> FunctionalGraph::input_names() const {
  std::vector<std::string> names;
  for (const Tensor& input : inputs_) names.push_back(keras_node(input)->layer()->name());
  return names;
}

std::vector<std::string> FunctionalGraph::output_names() const {
  if (outputs_.has_names()) return outputs_.names();
  std::vector<std::string> names;
  for (const Tensor& output : outputs_) names.push_back(keras_node(output)->layer()->name());
  return names;
}

Tensor fit_to_input(const Tensor& given, const Shape& expected, DType dtype,
                    const std::string& name, bool check_sizes) {
  const Tensor value = adapt_rank(given, expected);
  bool fits = value.rank() == expected.rank();
  for (int64_t axis = 0; check_sizes && fits && axis < expected.rank(); ++axis) {
    fits = expected[axis] == kUnknown || expected[axis] == value.shape()[axis];
  }
  check<InvalidArgument>(
      fits, "input '{}' expected shape {}, got {}. {}", name, expected, given.shape(),
      is_example_of(given.shape(), expected)
          ? "Of one example ops::expand_dims(x, 0) makes a batch, of a dataset's "
            "batch(n)."
          : "Reshape the data, or give Input their shape.");
  check<InvalidArgument>(
      (value.dtype() == DType::String) == (dtype == DType::String),
      "input '{}' expected {}, got {}. {}", name,
      dtype == DType::String ? "strings" : to_string(dtype),
      value.dtype() == DType::String ? "strings" : to_string(value.dtype()),
      dtype == DType::String
          ? "Give the texts themselves, or the model an Input of numbers."
          : "Convert them to numbers in Dataset::map, for example with layers::StringLookup, or "
            "give the model an Input of dtype \"string\" and such a layer.");
  const Tensor typed = value.dtype() == dtype ? value : ops::cast(value, dtype);
  return given.mask().defined() ? typed.with_mask(given.mask()) : typed;
}

namespace {

bool takes_or_gives_strings(const KerasNode& node) {
  const auto is_string = [](const auto& type) { return type.first == DType::String; };
  return std::ranges::any_of(node.output_types(), is_string) ||
         std::ranges::any_of(node.operands(),
                             [](const Tensor& x) { return x.dtype() == DType::String; });
}

}  // namespace

// Values of placeholders during a call.
class FunctionalGraph::Values {
 public:
  void set(const Tensor& placeholder, const Tensor& value) {
    std::vector<Tensor>& own = values_[keras_node(placeholder).get()];
    const auto place = static_cast<size_t>(placeholder.symbol_id());
    own.resize(std::max(own.size(), place + 1));
    own[place] = value;
  }

  Tensor of(const Tensor& tensor) const {
    if (!tensor.defined() || !is_placeholder(tensor)) return tensor;
    return values_.at(keras_node(tensor).get())[static_cast<size_t>(tensor.symbol_id())];
  }
  Tensors of_all(const Tensors& tensors) const {
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) result.push_back(of(tensor));
    return tensors.with(std::move(result));
  }

  // Calls the node's layer; an Input already has its value.
  void call(const KerasNode& node) {
    if (node.inputs().empty()) return;
    CallOptions options = node.options();
    options.mask = of_all(options.mask);
    values_[&node] = (*node.layer())(of_all(node.inputs()), options).list();
  }

 private:
  std::unordered_map<const KerasNode*, std::vector<Tensor>> values_;
};

void FunctionalGraph::find_strings() {
  std::set<const KerasNode*> first;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    KerasNode& node = *nodes_[i];
    const bool is_input = node.inputs().empty();
    if (is_input) first.insert(&node);
    if (is_input || !takes_or_gives_strings(node)) continue;
    const bool can_be_first = node.layer()->variables().empty() &&
                              std::ranges::all_of(node.operands(), [&](const Tensor& operand) {
                                return first.contains(keras_node(operand).get());
                              });
    if (!can_be_first) return;
    first.insert(&node);
    for (const Tensor& output : node.outputs()) {
      if (output.dtype() == DType::String) continue;
      of_strings_.emplace_back(
          fmt::format("{} #{}, {}", node.layer()->name(), i, output.symbol_id()), output);
    }
  }
  strings_come_first_ = std::ranges::none_of(
      outputs_, [](const Tensor& output) { return output.dtype() == DType::String; });
}

std::vector<std::string> FunctionalGraph::keys() const {
  return inputs_.has_names() ? inputs_.names() : input_names();
}

// Returns the given tensors in the order of the model's inputs. Named tensors that aren't inputs of
// the model are dropped, as in Keras.
std::vector<Tensor> FunctionalGraph::in_order(const Tensors& given) const {
  check<InvalidArgument>(given.has_names() || given.size() == inputs_.size(),
                         "expected {} inputs ({}), got {}. Give one tensor for each, in this order "
                         "or by name.",
                         inputs_.size(), join(input_names(), ", "), given.size());
  if (!given.has_names()) return given.list();
  const std::vector<std::string> wanted = keys();
  const std::vector<std::string>& known = given.names();
  std::vector<Tensor> result;
  for (const std::string& key : wanted) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      raise<NotFound>("no data was passed for input '{}': expected {}, got {}.", key,
                      join(wanted, ", "), join(known, ", "));
    }
    result.push_back(given.at(key));
  }
  return result;
}

// Converts inputs to the expected dtypes and ranks.
FunctionalGraph::Values FunctionalGraph::arranged(const std::vector<Tensor>& given) const {
  const std::vector<std::string> names = keys();
  Values values;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& input = inputs_[i];
    values.set(input, fit_to_input(given[i], input.shape(), input.dtype(), names[i], true));
  }
  return values;
}

std::optional<Tensors> FunctionalGraph::without_strings(const Tensors& inputs) const {
  if (!strings_come_first_) return {};
  const std::vector<Tensor> given = in_order(inputs);
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i].dtype() == DType::String && inputs_[i].dtype() != DType::String) return {};
  }
  Values values = arranged(given);
  for (const auto& node : nodes_) {
    if (takes_or_gives_strings(*node)) values.call(*node);
  }
  const std::vector<std::string> names = keys();
  std::vector<Tensors::Named> numbers;
  for (size_t i = 0; i < given.size(); ++i) {
    if (inputs_[i].dtype() == DType::String) continue;
    numbers.emplace_back(names[i], values.of(inputs_[i]));
  }
  for (const auto& [name, placeholder] : of_strings_) {
    numbers.emplace_back(name, values.of(placeholder));
  }
  return Tensors::named(std::move(numbers));
}

bool FunctionalGraph::is_without_strings(const Tensors& inputs) const {
  return strings_come_first_ && !of_strings_.empty() && inputs.has_names() &&
         inputs.names().back() == of_strings_.back().first;
}

Tensors FunctionalGraph::call(const Tensors& inputs) const {
  const bool is_prepared = is_without_strings(inputs);
  Values values = is_prepared ? Values() : arranged(in_order(inputs));
  if (is_prepared) {
    const std::vector<std::string> names = keys();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].dtype() != DType::String) values.set(inputs_[i], inputs.at(names[i]));
    }
    for (const auto& [name, placeholder] : of_strings_) values.set(placeholder, inputs.at(name));
  }
  for (const auto& node : nodes_) {
    if (!is_prepared || !takes_or_gives_strings(*node)) values.call(*node);
  }
  if (outputs_.size() == 1 && !outputs_.has_names()) return values.of(outputs_[0]);
  const std::vector<std::string> names = output_names();
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    named.emplace_back(names[i], values.of(outputs_[i]));
  }
  return Tensors::named(std::move(named));
}

}  // namespace cornu
