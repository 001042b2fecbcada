// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/functional_config.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "framework/core/allocation_limit.h"
#include "framework/core/strings.h"
#include "framework/model/constants.h"
#include "framework/model/dictionary_paths.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_calls.h"
#include "framework/saving/keras_op.h"
#include "framework/saving/op_layers.h"

namespace cornu {
namespace {

constexpr char kKerasTensor[] = "__keras_tensor__";
// Limits for what a file may create: 1 GiB for an op's constant, 1 TiB for a (hypothetical) result.
constexpr size_t kMaxConstant = size_t{1} << 30;
constexpr size_t kMaxResult = size_t{1} << 40;

// ---- to files ----

void set_config_name(Json& entry, const Json& name) {
  Json config = entry.at("config");
  config.set("name", name);
  entry.set("config", std::move(config));
}

// When Keras calls layers while reading a file, it creates ops for their masks and names them by
// kind: "not_equal", "concatenate". Returns whether such an op could get this layer's name.
bool may_be_named_alike(const Layer& layer) {
  if (is_operation(layer)) return true;
  constexpr std::string_view kConcatenate = "concatenate";
  const std::string& name = layer.name();
  return name.starts_with(kConcatenate) &&
         name.find_first_not_of("_0123456789", kConcatenate.size()) == std::string::npos;
}

// Writes the graph of one model.
class GraphWriter {
 public:
  GraphWriter(const FunctionalGraph& graph, SerializeLayer serialize)
      : graph_(graph), serialize_(serialize) {
    bool gives_masks = false;
    for (const auto& node : graph.nodes()) {
      nodes_[node->layer().get()].push_back(node.get());
      for (size_t i = 0; i < node->output_types().size(); ++i) {
        leaves_masks_ = leaves_masks_ || node->mask_type(i);
      }
      // As in models from Keras files, which give all masks.
      gives_masks = gives_masks || std::ranges::any_of(node->options().mask, &Tensor::defined);
    }
    leaves_masks_ = leaves_masks_ && !gives_masks;
    for (auto& [layer, nodes] : nodes_) {
      std::sort(nodes.begin(), nodes.end(),
                [](const auto* a, const auto* b) { return a->index() < b->index(); });
      for (size_t i = 0; i < nodes.size(); ++i) numbers_[nodes[i]] = static_cast<int64_t>(i);
    }
  }

  Json layers() const {
    Json::Array list;
    for (const auto& layer : graph_.layers()) {
      Json entry = serialize_(*layer);
      entry.set("name", layer->name());
      if (leaves_masks_ && may_be_named_alike(*layer)) set_config_name(entry, nullptr);
      Json::Array calls;
      for (const KerasNode* node : nodes_.at(layer.get())) {
        if (!node->inputs().empty()) calls.push_back(call(*node));
      }
      entry.set("inbound_nodes", std::move(calls));
      list.push_back(std::move(entry));
    }
    return list;
  }

  // A single tensor, a list, or an object keyed by name.
  Json ends(const Tensors& tensors) const {
    if (tensors.has_names()) {
      Json named = Json::object();
      for (size_t i = 0; i < tensors.size(); ++i) named.set(tensors.names()[i], end(tensors[i]));
      return named;
    }
    if (tensors.size() == 1) return end(tensors[0]);
    Json::Array list;
    for (const Tensor& tensor : tensors) list.push_back(end(tensor));
    return list;
  }

 private:
  Json end(const Tensor& tensor) const {
    const auto node = keras_node(tensor);
    return Json::array({node->layer()->name(), numbers_.at(node.get()) + first_call(*node->layer()),
                        output_number(*node, tensor)});
  }

  static int64_t output_number(KerasNode& node, const Tensor& tensor) {
    const size_t place = static_cast<size_t>(tensor.symbol_id());
    return static_cast<int64_t>(number_of_entry(node.outputs().names(), place));
  }

  Json reference(const Tensor& tensor) const {
    const auto node = keras_node(tensor);
    return Json::object(
        {{"class_name", kKerasTensor},
         {"config", Json::object({{"shape", tensor.shape()},
                                  {"dtype", to_string(tensor.dtype())},
                                  {"keras_history",
                                   Json::array({node->layer()->name(), numbers_.at(node.get()),
                                                output_number(*node, tensor)})}})}});
  }

  // An argument of a call: another call's output, or a value.
  Json value(const Tensor& tensor) const {
    return is_placeholder(tensor) ? reference(tensor) : serialize_constant(tensor);
  }

  Json::Array arguments(const KerasNode& node) const {
    const Tensors& inputs = node.inputs();
    Json::Array list;
    if (const auto* op = dynamic_cast<const OpLayer*>(node.layer().get())) {
      size_t next = 0;
      for (const Tensor& constant : op->constants()) {
        list.push_back(constant.defined() ? serialize_constant(constant)
                                          : reference(inputs[next++]));
      }
      return op_arguments(*op, std::move(list));
    }
    if (!node.layer()->call_signature().inputs.empty()) {
      for (size_t i = 0; i < node.positional_inputs(); ++i) list.push_back(value(inputs[i]));
      return list;
    }
    if (inputs.has_names()) {
      std::vector<Json> values;
      for (const Tensor& input : inputs) values.push_back(value(input));
      return {nested_object(inputs.names(), values)};
    }
    for (const Tensor& input : inputs) list.push_back(value(input));
    if (list.size() == 1) return list;
    return {Json(std::move(list))};
  }

  // Named arguments: a tensor, or a list if several have the same name.
  Json named_arguments(const KerasNode& node) const {
    Json result = Json::object();
    if (node.layer()->call_signature().inputs.empty()) return result;
    const Tensors& inputs = node.inputs();
    std::map<std::string, Json::Array> lists;
    for (size_t i = node.positional_inputs(); i < inputs.size(); ++i) {
      lists[inputs.names()[i]].push_back(value(inputs[i]));
    }
    for (auto& [key, list] : lists) {
      result.set(key, list.size() == 1 ? list[0] : Json(std::move(list)));
    }
    return result;
  }

  Json call(const KerasNode& node) const {
    if (const auto* op = dynamic_cast<const KerasOp*>(node.layer().get())) {
      return op->written_call([&](size_t input) { return reference(node.inputs()[input]); });
    }
    Json kwargs = named_arguments(node);
    const CallOptions& options = node.options();
    if (!options.settings.is_null()) kwargs.merge(options.settings);
    if (options.training) kwargs.set("training", *options.training);
    const bool has_mask = std::any_of(options.mask.begin(), options.mask.end(),
                                      [](const Tensor& mask) { return mask.defined(); });
    if (has_mask && !node.layer()->call_signature().inputs.empty()) {
      kwargs.set("mask", options.mask[0].defined() ? value(options.mask[0]) : Json());
    } else if (has_mask) {
      Json::Array masks;
      for (const Tensor& mask : options.mask)
        masks.push_back(mask.defined() ? value(mask) : Json());
      kwargs.set("mask", masks.size() == 1 ? masks[0] : Json(std::move(masks)));
    }
    Json written = Json::object({{"args", arguments(node)}, {"kwargs", std::move(kwargs)}});
    if (options.training && !says_training(*node.layer(), *options.training)) {
      written.set(kGivenTraining, true);
    }
    return written;
  }

  const FunctionalGraph& graph_;
  SerializeLayer serialize_;
  std::map<const Layer*, std::vector<const KerasNode*>> nodes_;  // in call order
  std::unordered_map<const KerasNode*, int64_t> numbers_;
  bool leaves_masks_ = false;  // to Keras
};

// ---- from files ----

// Reads the graph of a model: creates its layers and calls them as the file specifies.
class GraphReader {
 public:
  explicit GraphReader(const Json& config) {
    entries_ = config.at("layers").as_array();
    for (Json& entry : entries_) {
      // A name that was left to Keras (GraphWriter).
      const Json* name = entry.find("name");
      const Json* own = name ? entry.at("config").find("name") : nullptr;
      if (own && own->is_null()) set_config_name(entry, Json(*name));
      add(entry);
    }
    // Layers may be listed in any order: repeatedly process those that are ready.
    std::set<size_t> ready;
    for (size_t i = 0; i < parts_.size(); ++i) ready.insert(i);
    for (size_t last = 0; !ready.empty();) {
      auto next = ready.lower_bound(last);
      if (next == ready.end()) next = ready.begin();
      last = *next;
      ready.erase(next);
      make_calls(last, ready);
    }
    for (const Part& part : parts_) {
      check<InvalidArgument>(part.calls.size() == part.next,
                             "Functional: the inputs of its layer '{}' aren't in the config.",
                             part.name);
    }
  }

  // Flattens nested structures, naming the parts by their paths if they have names.
  Tensors ends(const Json& json) const {
    if (is_end(json)) return end(json);
    std::vector<Tensors::Named> found;
    find_ends(json, "", found);
    if (json.is_object()) return Tensors::named(std::move(found));
    std::vector<Tensor> list;
    for (auto& [path, tensor] : found) list.push_back(std::move(tensor));
    return list;
  }

 private:
  struct Needed {
    size_t part;  // kNone if it isn't in the config
    int64_t call;
  };
  static constexpr size_t kNone = std::string::npos;

  struct Part {
    std::string name;
    const Json* entry;
    LayerHandle layer;               // empty for ops
    std::vector<const Json*> calls;  // calls to make
    size_t next = 0;
    std::vector<Tensors> outputs = {};  // of each call made so far
    // What the next call needs and isn't known to exist yet, and for which call this was
    // determined.
    std::vector<Needed> needed = {};
    size_t looked_at = std::string::npos;
    std::vector<size_t> waiting = {};  // parts that need more of this part's outputs
  };

  void add(const Json& entry) {
    const Json* name = entry.find("name");
    Part part{(name ? *name : entry.at("config").at("name")).as_string(), &entry, {}, {}};
    check<InvalidArgument>(index_.emplace(part.name, parts_.size()).second,
                           "Functional: two of its layers are named '{}'.", part.name);
    for (const Json& call : entry.at("inbound_nodes").as_array()) part.calls.push_back(&call);
    if (entry.at("class_name").as_string() == "InputLayer") {
      part.layer = layer_from_json(entry);
      const auto* input = dynamic_cast<const InputLayer*>(part.layer.shared().get());
      check<InvalidArgument>(input != nullptr, "Functional: its layer '{}' isn't an InputLayer.",
                             part.name);
      part.outputs.push_back(Input(
          {.dtype = input->dtype(), .batch_shape = input->batch_shape(), .name = input->name()}));
      part.calls.clear();
    } else if (!is_op(entry)) {
      part.layer = layer_from_json(entry);
    }
    parts_.push_back(std::move(part));
  }

  static bool is_op(const Json& entry) {
    const Json* module = entry.find("module");
    if (module) {
      return module->is_string() && module->as_string().starts_with("keras.src.ops.");
    }
    // HDF5 files don't contain modules. All layers have `trainable`, ops don't; some are called
    // like a layer (Add).
    static const std::vector<std::string> names = keras_op_names();
    static const std::set<std::string> ops(names.begin(), names.end());
    const std::string& name = entry.at("class_name").as_string();
    if (entry.at("config").find("trainable")) return false;
    return ops.contains(name) || !layer_registry().find(name);
  }

  // Makes a part's calls whose inputs exist, and adds the parts that waited for them.
  void make_calls(size_t index, std::set<size_t>& ready) {
    Part& part = parts_[index];
    const size_t before = part.next;
    while (part.next < part.calls.size() && is_ready(index)) {
      const Json& call = *part.calls[part.next++];
      part.outputs.push_back(part.layer ? call_layer(part, call) : call_op(part, call));
      for (const Tensor& output : part.outputs.back()) check_size(part, output);
    }
    if (part.next == before) return;
    ready.insert(part.waiting.begin(), part.waiting.end());
    part.waiting.clear();
  }

  // An axis of unknown size has at least one element.
  static void check_size(const Part& part, const Tensor& output) {
    std::vector<int64_t> dims(output.shape().begin(), output.shape().end());
    std::replace(dims.begin(), dims.end(), kUnknown, int64_t{1});
    const size_t bytes = Shape(dims).num_bytes(size_of(output.dtype()));
    check<ResourceExhausted>(bytes <= kMaxResult,
                             "Functional: the result of its layer '{}' would have the shape {}, {} "
                             "bytes.",
                             part.name, output.shape(), bytes);
  }

  // Whether all tensors that a part's next call refers to exist. If not, the part waits for one.
  bool is_ready(size_t index) {
    Part& part = parts_[index];
    if (part.looked_at != part.next) {
      part.looked_at = part.next;
      part.needed.clear();
      find_needed(*part.calls[part.next], part.needed);
    }
    for (; !part.needed.empty(); part.needed.pop_back()) {
      const auto& [from, call] = part.needed.back();
      if (from == kNone) return false;
      if (call < static_cast<int64_t>(parts_[from].outputs.size())) continue;
      parts_[from].waiting.push_back(index);
      return false;
    }
    return true;
  }

  void find_needed(const Json& value, std::vector<Needed>& needed) const {
    if (value.is_array()) {
      for (const Json& element : value.as_array()) find_needed(element, needed);
    } else if (const Json* history = history_of(value)) {
      const auto it = index_.find((*history)[0].as_string());
      needed.push_back({it == index_.end() ? kNone : it->second, (*history)[1].as_int()});
    } else if (value.is_object()) {
      for (const auto& [key, member] : value.as_object()) find_needed(member, needed);
    }
  }

  static const Json* history_of(const Json& value) {
    const Json* kind = value.is_object() ? value.find("class_name") : nullptr;
    const bool symbolic = kind && kind->is_string() && kind->as_string() == kKerasTensor;
    if (!symbolic) return nullptr;
    const Json& history = value.at("config").at("keras_history");
    check<InvalidArgument>(history.size() == 3, "Functional: keras_history expected 3 entries.");
    return &history;
  }

  Tensor output(const Json& history, int64_t call) const {
    const auto it = index_.find(history[0].as_string());
    check<InvalidArgument>(it != index_.end(), "Functional: there is no layer named '{}'.",
                           history[0].as_string());
    const auto& outputs = parts_[it->second].outputs;
    const int64_t which = history[2].as_int();
    const bool exists = call >= 0 && call < static_cast<int64_t>(outputs.size()) && which >= 0 &&
                        which < static_cast<int64_t>(outputs[static_cast<size_t>(call)].size());
    check<InvalidArgument>(exists, "Functional: its layer '{}' has no output {} of call {}.",
                           it->first, which, call);
    const Tensors& tensors = outputs[static_cast<size_t>(call)];
    return tensors[place_of_entry(tensors.names(), static_cast<size_t>(which))];
  }

  static bool is_end(const Json& json) {
    return json.is_array() && json.size() == 3 && json[0].is_string();
  }

  void find_ends(const Json& json, const std::string& path,
                 std::vector<Tensors::Named>& found) const {
    if (is_end(json)) {
      found.emplace_back(path, end(json));
    } else if (json.is_object()) {
      Json::Object members = json.as_object();
      if (!path.empty()) std::ranges::sort(members, {}, &Json::Member::first);  // as in Keras
      for (const auto& [key, value] : members) find_ends(value, path_in(path, key), found);
    } else {
      check<InvalidArgument>(json.is_array(), "Functional: expected [layer, call, output], got {}.",
                             json.excerpt());
      for (size_t i = 0; i < json.size(); ++i) {
        find_ends(json[i], path_in(path, std::to_string(i)), found);
      }
    }
  }

  Tensor end(const Json& history) const {
    const auto it = index_.find(history[0].as_string());
    const bool nested =
        it != index_.end() && parts_[it->second].layer && !parts_[it->second].calls.empty();
    return output(history,
                  history[1].as_int() - (nested ? first_call(parts_[it->second].layer.get()) : 0));
  }

  // The arguments of a call, in order.
  struct Operands {
    std::vector<Tensor> list;
    std::vector<std::string> names;
  };
  void collect(const Json& value, Operands& operands, const std::string& path = {}) const {
    if (const Json* history = history_of(value)) {
      operands.list.push_back(output(*history, (*history)[1].as_int()));
    } else if (value.is_array()) {
      for (const Json& element : value.as_array()) collect(element, operands);
    } else if (value.is_bool() || value.is_number()) {
      operands.list.push_back(literal_tensor(value));
    } else if (value.is_object()) {
      if (is_constant(value)) {
        operands.list.push_back(parse_constant(value));
        return;
      }
      for (const auto& [key, element] : value.as_object()) {
        const std::string inner = path_in(path, key);
        const bool nests = element.is_object() && !history_of(element) && !is_constant(element);
        if (!nests) operands.names.push_back(inner);
        collect(element, operands, inner);
      }
    }
  }

  // A single mask; or a list, or a dictionary like the inputs', with null for those without one.
  Tensors masks(const Json& json, const std::vector<std::string>& names) const {
    Json::Array list = json.is_array() ? json.as_array() : Json::Array{json};
    const bool named = json.is_object() && !history_of(json) && !is_constant(json);
    if (named && !names.empty()) list = values_at(json, names);
    const bool none =
        std::all_of(list.begin(), list.end(), [](const Json& mask) { return mask.is_null(); });
    if (none) return {};
    std::vector<Tensor> result;
    for (const Json& mask : list) {
      Operands operands;
      if (!mask.is_null()) collect(mask, operands);
      result.push_back(operands.list.empty() ? Tensor() : operands.list[0]);
    }
    return result;
  }

  // The positional arguments, with the layer's argument names if it has any.
  Operands positional(const Part& part, const Json::Array& arguments) const {
    const auto& order = part.layer.get().call_signature().inputs;
    Operands operands;
    if (order.empty()) {
      collect(arguments, operands);
      return operands;
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      check<InvalidArgument>(i < order.size() || arguments[i].is_null(),
                             "Layer '{}': expected at most {} arguments ({}), got {}.", part.name,
                             order.size(), join(order, ", "), arguments.size());
      if (!arguments[i].is_null()) collect_named(order[i], arguments[i], operands);
    }
    return operands;
  }

  void collect_named(const std::string& name, const Json& value, Operands& operands) const {
    collect(value, operands);
    operands.names.resize(operands.list.size(), name);
  }

  Tensors call_layer(const Part& part, const Json& call) const {
    const CallSignature& signature = part.layer.get().call_signature();
    const auto among = [](const std::vector<std::string>& names, const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    Operands operands = positional(part, call.at("args").as_array());
    CallOptions options;
    const Json* given = call.find(kGivenTraining);
    const bool was_given = given && *given == Json(true);
    for (const auto& [key, value] : call.at("kwargs").as_object()) {
      if (key == "training" && value.is_bool()) {
        if (was_given || says_training(part.layer.get(), value.as_bool())) {
          options.training = value.as_bool();
        }
      } else if (key == "mask") {
        options.mask = masks(value, operands.names);
      } else if (among(signature.inputs, key) && !value.is_null()) {
        collect_named(key, value, operands);
      } else if (among(signature.settings, key)) {
        if (options.settings.is_null()) options.settings = Json::object();
        options.settings.set(key, value);
      } else if (history_of(value) != nullptr) {
        collect(value, operands);
      } else {
        const bool off = value.is_null() || (value.is_bool() && !value.as_bool());
        check<Unimplemented>(off, "Layer '{}': calls with {}={} aren't implemented.", part.name,
                             key, value.excerpt());
      }
    }
    if (!signature.inputs.empty() && !options.mask.empty()) {  // only the first input's
      std::vector<Tensor> each = options.mask.list();
      each.resize(operands.list.size());
      options.mask = std::move(each);
    }
    const bool named = !operands.names.empty() && operands.names.size() == operands.list.size();
    if (!named) build_as_it_was(part, operands.list);
    if (!named) return part.layer(Tensors(std::move(operands.list)), options);
    std::vector<Tensors::Named> inputs;
    for (size_t i = 0; i < operands.list.size(); ++i) {
      inputs.emplace_back(operands.names[i], operands.list[i]);
    }
    return part.layer(Tensors::named(std::move(inputs)), options);
  }

  // If a layer was built before it was called on axes of unknown size, uses the sizes saved for it.
  static void build_as_it_was(const Part& part, const std::vector<Tensor>& inputs) {
    const Json* build = part.entry->find("build_config");
    const Json* saved = build && build->is_object() ? build->find("input_shape") : nullptr;
    const bool one = saved && saved->is_array() && saved->size() > 0 && !(*saved)[0].is_array();
    if (!one || inputs.size() != 1 || part.layer.built()) return;
    if (!part.layer.get().sublayers().empty()) return;
    const Shape was = saved->as_shape();
    Shape shape = inputs[0].shape();
    if (was.rank() != shape.rank() || shape.slice(1).is_static()) return;
    for (int64_t axis = 1; axis < shape.rank(); ++axis) {
      if (shape[axis] == kUnknown) shape[axis] = was[axis];
    }
    part.layer.build(shape);
  }

  // Creates a single node, as in Keras, where the order of a model's layers counts nodes. An op
  // composed of several ops here, or of none, becomes a node of its own.
  Tensors call_op(const Part& part, const Json& call) {
    const AllocationLimit limit(kMaxConstant);
    require_moderate_numbers(part.entry->at("config"));
    std::vector<Tensor> inputs;
    const KerasOp::Resolve resolve = [&](const Json& value) {
      const Json* history = history_of(value);
      return history ? output(*history, (*history)[1].as_int()) : Tensor();
    };
    auto op = std::make_shared<KerasOp>(*part.entry, call, resolve, inputs);
    check<Unimplemented>(!inputs.empty(), "Functional: its op '{}' has no inputs.", part.name);
    if (!is_composed_op(op->class_name())) {
      const Tensors result = op->call_list(Tensors(inputs), {});
      if (is_one_op(result, inputs)) {
        dynamic_cast<OpLayer&>(*keras_node(result[0])->layer()).rename(unique_name(part.name));
        return result;
      }
    }
    op->rename(unique_name(part.name));
    return LayerHandle(std::move(op))(Tensors(std::move(inputs)));
  }

  // Whether `result` is the complete output of a single op on these inputs.
  static bool is_one_op(const Tensors& result, const std::vector<Tensor>& inputs) {
    std::set<const KerasNode*> before;
    for (const Tensor& input : inputs) before.insert(keras_node(input).get());
    const auto node = keras_node(result[0]);
    const auto is_before = [&](const Tensor& x) { return before.contains(keras_node(x).get()); };
    if (!dynamic_cast<const OpLayer*>(node->layer().get()) || before.contains(node.get()) ||
        !std::ranges::all_of(node->operands(), is_before)) {
      return false;
    }
    int64_t number = 0;
    return result.size() == node->output_types().size() &&
           std::ranges::all_of(result, [&](const Tensor& x) {
             return keras_node(x) == node && x.symbol_id() == number++;
           });
  }

  // Returns the name in the file the first time, then names that don't occur in the file.
  std::string unique_name(const std::string& name) {
    int64_t& number = numbers_[name];
    std::string unique;
    do {
      unique = number == 0 ? name : fmt::format("{}_part_{}", name, number);
      ++number;
    } while (unique != name && index_.contains(unique));
    return unique;
  }

  Json::Array entries_;
  std::vector<Part> parts_;
  std::map<std::string, size_t> index_;
  std::map<std::string, int64_t> numbers_;  // how often each op name was used
};

}  // namespace

void write_graph(Json& config, const FunctionalGraph& graph, SerializeLayer serialize) {
  const GraphWriter writer(graph, serialize);
  config.set("layers", writer.layers());
  config.set("input_layers", writer.ends(graph.inputs()));
  config.set("output_layers", writer.ends(graph.outputs()));
}

GraphEnds read_graph(const Json& config) {
  const GraphReader reader(config);
  return {reader.ends(config.at("input_layers")), reader.ends(config.at("output_layers"))};
}

}  // namespace cornu
