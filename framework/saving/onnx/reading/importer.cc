// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/importer.h"

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "framework/core/allocation_limit.h"
#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/model/weight_limit.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/chosen_sizes.h"
#include "framework/saving/onnx/reading/followed.h"
#include "framework/saving/onnx/reading/layer_names.h"
#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/rules.h"
#include "framework/saving/onnx/reading/value_reads.h"

namespace cornu::onnx {
namespace reading {
namespace {

constexpr size_t kMaxResult = size_t{1} << 40;  // in bytes: no real model exceeds this
constexpr size_t kMaxAxes = 32;
constexpr uint64_t kMultiplicationsOfByte = 16;  // as slow as computing with a byte

// Throws an error of the same type with `place` prepended.
[[noreturn]] void rethrow_at(const std::string& place, const Error& error) {
  std::rethrow_exception(error.with_text(fmt::format("{}: {}", place, error.what())));
}

class Importer : public ModelReader {
 public:
  // `like`: an importer that has read the file for other sizes; the same nodes are followed.
  Importer(const OnnxFile& file, Device device, ChoiceOfSizes choice,
           const Importer* like = nullptr)
      : file_(file),
        device_(device),
        choice_(choice),
        like_(like),
        left_(most_made_of(file.bytes)),
        reads_(file) {}

  ImportedGraph read() {
    check<Unimplemented>(file_.opset >= kFirstReadOpset && file_.opset <= kLastReadOpset,
                         "'{}' has operator set {}; those from {} to {} are supported. Convert it "
                         "with onnx.version_converter.",
                         file_.path, file_.opset, kFirstReadOpset, kLastReadOpset);
    for (const auto& [name, tensor] : file_.initializers) define(name, ReadValue(tensor));
    ImportedGraph graph;
    graph.inputs = read_inputs();
    choose_output_names();
    read_nodes(file_);
    graph.outputs = outputs();
    return graph;
  }

  // Whether the model may depend on unknown sizes: of axes, or of rows if nodes read them.
  bool has_open_sizes() const { return open_axes_ > 0 || follows_sizes_; }
  // The nodes created so far.
  const std::vector<std::shared_ptr<KerasNode>>& nodes() const { return nodes_; }

  // ---- ModelReader ----

  int64_t opset() const override { return file_.opset; }
  Device device() const override { return device_; }
  ChoiceOfSizes choice() const { return choice_; }
  OpenShapes& shapes() override { return shapes_; }

  const FileNode* only_reader(const std::string& value) const override {
    return reads_.only(value);
  }

  const ReadValue* find(const std::string& value) const override {
    const auto found = values_.find(value);
    return found == values_.end() ? nullptr : &found->second;
  }

  Tensor before_rows(const Tensor& rows) const override {
    const auto found = before_rows_.find(rows.id());
    return found == before_rows_.end() ? Tensor() : found->second.second;
  }
  void set_before_rows(const Tensor& rows, const Tensor& before) override {
    before_rows_[rows.id()] = {rows, before};
  }

  void skip(const FileNode& node) override { skipped_.insert(&node); }
  void charge(int64_t multiplications) override {
    charge_bytes(static_cast<uint64_t>(multiplications) / kMultiplicationsOfByte);
  }

  LayerHandle layer(const std::string& key, const std::string& class_name, Json config,
                    const std::string& part) override {
    if (!key.empty()) {
      if (const auto found = made_.find(key); found != made_.end()) return found->second;
    }
    const std::string base = node_name();
    const bool whole = part.empty() && !std::exchange(named_whole_, true);
    config.set("name", whole ? base : names_.unique(base + "_" + (part.empty() ? "part" : part)));
    const LayerHandle made = keras_layer(class_name, std::move(config));
    if (!key.empty()) made_.emplace(key, made);
    return made;
  }

 private:
  void define(const std::string& name, ReadValue value) {
    check<DataLoss>(values_.emplace(name, std::move(value)).second,
                    "a value of its name, '{}', is there already.", printable(name));
    defined_.push_back(name);
  }

  // ---- ends ----

  Tensors read_inputs() {
    if (choice_.same_rows) rows_ = names_of_rows(file_.inputs);
    std::vector<Tensor> inputs;
    for (const FileValue& value : file_.inputs) {
      const std::string label =
          fmt::format("'{}': its input '{}'", file_.path, printable(value.name));
      const std::optional<DType> dtype = dtype_of_type(value.data_type);
      check<Unimplemented>(dtype.has_value(),
                           "{} is no tensor of a dtype that Cornu has (ONNX's data type {}).",
                           label, value.data_type);
      check<Unimplemented>(value.sizes.has_value(), "{} has no shape.", label);
      check<Unimplemented>(value.sizes->size() <= kMaxAxes, "{} has {} axes; at most {} are read.",
                           label, value.sizes->size(), kMaxAxes);
      const Sizes sizes = input_sizes(value);
      Shape shape;
      for (const Size& size : sizes) shape.push_back(size.fixed() ? size.value() : kUnknown);
      const std::string name = names_.unique(input_name(value.name, "input"));
      try {
        const Tensor input = Input({.dtype = *dtype, .batch_shape = shape, .name = name});
        shapes_.set(input, sizes);
        check_size(input);
        define(value.name, ReadValue(input));
        inputs.push_back(input);
      } catch (const Error& error) {
        rethrow_at(label, error);
      }
    }
    check<Unimplemented>(!inputs.empty(), "'{}' has no inputs: a model must have one.", file_.path);
    return inputs;
  }

  // Axes with the same name are the same, as are all unnamed first axes (or all first axes).
  Sizes input_sizes(const FileValue& value) {
    Sizes result;
    for (const FileValue::Size& given : *value.sizes) {
      if (const int64_t* fixed = std::get_if<int64_t>(&given)) {
        result.emplace_back(*fixed);
        continue;
      }
      const auto& name = std::get<std::string>(given);
      const bool first = result.empty();
      const std::string key = rows_.contains(name) ? ""
                              : !name.empty()      ? "." + name
                              : first              ? ""
                                      : fmt::format("{}/{}", value.name, result.size());
      const auto [found, added] = open_.emplace(key, Size());
      if (added) {
        const int64_t number = first && !has_rows_ ? 0 : ++open_axes_;
        check<Unimplemented>(number <= kMaxOpenAxes,
                             "'{}': its inputs have more than {} axes of unknown size.", file_.path,
                             kMaxOpenAxes);
        found->second = chosen_size(choice_, number, value.sizes->size() >= 4);
      }
      has_rows_ |= first;
      result.push_back(found->second);
    }
    return result;
  }

  // The node that computes an output gets its name, even if other nodes pass the value on.
  void choose_output_names() {
    for (const FileValue& output : file_.outputs) {
      if (output_names_.contains(output.name)) continue;
      output_names_[output.name] = names_.unique(layer_name(output.name, "output"));
    }
    for (auto node = file_.nodes.rbegin(); node != file_.nodes.rend(); ++node) {
      if (node->op != "Identity" || node->inputs.size() != 1 || node->outputs.size() != 1) continue;
      const auto named = output_names_.find(node->outputs[0]);
      if (named == output_names_.end() || output_names_.contains(node->inputs[0])) continue;
      const std::string name = named->second;
      output_names_.erase(named);
      output_names_[node->inputs[0]] = name;
    }
  }

  Tensors outputs() {
    check<Unimplemented>(!file_.outputs.empty(), "'{}' has no outputs: a model must have one.",
                         file_.path);
    std::vector<Tensors::Named> named;
    std::unordered_set<std::string> known;
    for (const FileValue& output : file_.outputs) {
      const std::string label = printable(output.name);
      const ReadValue* value = find(output.name);
      check<DataLoss>(value != nullptr, "'{}': no node makes its output '{}'.", file_.path, label);
      check<DataLoss>(known.insert(output.name).second, "'{}': two of its outputs are named '{}'.",
                      file_.path, label);
      check<Unimplemented>(value->placeholder.defined() || value->known[0].defined(),
                           "'{}': its output '{}' is one of a node that Cornu doesn't make.",
                           file_.path, label);
      check<Unimplemented>(!value->is_known(),
                           "'{}': its output '{}' depends on no input, or on the sizes of inputs "
                           "alone, which no model's output can.",
                           file_.path, label);
      named.emplace_back(output.name, value->placeholder);
    }
    if (named.size() > 1) return Tensors::named(std::move(named));
    return with_name(named[0].second);
  }

  // A model's only output is named after the layer that computes it; if no node does so, an
  // Identity layer is added.
  Tensor with_name(const Tensor& output) {
    if (output_names_.empty()) return output;
    const std::string name = output_names_.begin()->second;
    const Json config = Json::object({{"name", name}, {"dtype", layer_dtype(output)}});
    return keras_layer("Identity", config)(output).single();
  }

  static LayerHandle keras_layer(const std::string& class_name, Json config) {
    return layer_from_json(Json::object({{"module", "keras.layers"},
                                         {"class_name", class_name},
                                         {"config", std::move(config)},
                                         {"registered_name", class_name}}));
  }

  // ---- nodes ----

  std::string label(const FileNode& node) const {
    const std::string name =
        node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
    return fmt::format("'{}': node '{}' ({})", file_.path, printable(name), printable(node.op));
  }

  void read_nodes(const FileGraph& graph) {
    for (const FileNode& node : graph.nodes) {
      if (!skipped_.contains(&node)) read(node);
    }
  }

  // Reads the branch that is taken instead of the node; if that isn't known, reads both and selects
  // from their results, which is the same, since operators have no effects.
  void read_branches(const FileNode& node, const std::vector<const ReadValue*>& operands) {
    check<InvalidArgument>(operands.size() == 1 && operands[0], "expected a condition.");
    const ReadValue condition = *operands[0];  // `values_` will grow
    if (condition.is_known() && !condition.follows_sizes()) {
      check<InvalidArgument>(condition.known[0].num_elements() == 1,
                             "expected one truth value as condition, got {}.",
                             condition.known[0].shape());
      const bool then = condition.known[0].item<bool>();
      std::vector<ReadValue> results = read_branch(node, then ? "then_branch" : "else_branch");
      for (size_t i = 0; i < results.size(); ++i) define(node.outputs[i], std::move(results[i]));
      return;
    }
    try {
      const std::vector<ReadValue> then = read_branch(node, "then_branch");
      select(node, condition, then, read_branch(node, "else_branch"));
    } catch (const Error& error) {
      rethrow_at("both branches are read, since which is taken isn't known", error);
    }
  }

  void select(const FileNode& node, const ReadValue& condition, const std::vector<ReadValue>& then,
              const std::vector<ReadValue>& otherwise) {
    begin_node();
    NodeReader reader(*this, node, {&condition}, false, 0);
    current_ = &reader;
    std::vector<Tensor> results;
    for (size_t i = 0; i < then.size(); ++i) {
      NodeReader both(*this, node, {&then[i], &otherwise[i]}, false, 0);
      if (both.shape(0) != both.shape(1)) both.refuse("their results differ in shape");
      const Tensor taken = ops::reshape(reader.in(), Shape());
      results.push_back(ops::where(taken, both.in(0), both.in(1)));
    }
    reader.give_all(results);
    finish(reader, reader.results());
  }

  // Returns the results of a branch of If.
  std::vector<ReadValue> read_branch(const FileNode& node, std::string_view name) {
    const auto branch = std::ranges::find(node.attributes, name, &FileAttribute::name);
    const bool given = branch != node.attributes.end();
    check<Unimplemented>(!given || branch->graph, "its {} is nested too deeply.", name);
    check<DataLoss>(given && branch->graph->outputs.size() == node.outputs.size(),
                    "it has no {} with as many outputs as it has.", name);
    const size_t before = defined_.size();
    // onnxslim gives a branch copies of outer tensors under the same names.
    for (const auto& [copied, tensor] : branch->graph->initializers) {
      const ReadValue* outer = find(copied);
      const bool same = outer && outer->is_known() && is_same_value(outer->known[0], tensor);
      if (!same) define(copied, ReadValue(tensor));
    }
    read_nodes(*branch->graph);
    std::vector<ReadValue> results;
    for (const FileValue& output : branch->graph->outputs) {
      const ReadValue* value = find(output.name);
      check<DataLoss>(value && (value->placeholder.defined() || value->known[0].defined()),
                      "no node makes the output '{}' of its {}.", printable(output.name), name);
      results.push_back(*value);
    }
    // Names within a branch are its own.
    for (; defined_.size() > before; defined_.pop_back()) values_.erase(defined_.back());
    return results;
  }

  void read(const FileNode& node) {
    const Rule* rule = node.domain.empty() ? rule_of(node.op) : nullptr;
    const bool branches = node.domain.empty() && node.op == "If";
    if (!rule && !branches) {
      raise<Unimplemented>("{}: this operator{} isn't read.{}", label(node),
                           node.domain.empty() ? "" : " of '" + printable(node.domain) + "'",
                           node.domain.empty() ? did_you_mean(node.op, {}, read_operators()) : "");
    }
    const std::vector<const ReadValue*> operands = operands_of(node);
    try {
      branches ? read_branches(node, operands) : run(node, *rule, operands);
    } catch (const Error& error) {
      rethrow_at(label(node), error);
    } catch (const std::bad_alloc&) {
      raise<ResourceExhausted>("{}: memory has run out.", label(node));
    } catch (const std::length_error&) {
      raise<ResourceExhausted>("{} has more elements than fit into memory.", label(node));
    }
  }

  std::vector<const ReadValue*> operands_of(const FileNode& node) const {
    std::vector<const ReadValue*> operands;
    for (const std::string& input : node.inputs) {
      const ReadValue* value = input.empty() ? nullptr : find(input);
      check<DataLoss>(value || input.empty(),
                      "{} reads '{}', which no node before it makes, and which is no input.",
                      label(node), printable(input));
      if (value) {
        check<Unimplemented>(value->placeholder.defined() || value->known[0].defined(),
                             "{} reads '{}', an output of another node that Cornu doesn't make.",
                             label(node), printable(input));
      }
      operands.push_back(value);
    }
    return operands;
  }

  void run(const FileNode& node, const Rule& rule, const std::vector<const ReadValue*>& operands) {
    begin_node();
    const bool known = std::ranges::all_of(
        operands, [](const ReadValue* value) { return !value || value->is_known(); });
    const bool given = known && std::ranges::any_of(operands, [](const ReadValue* value) {
                         return value && value->follows_sizes();
                       });
    if (given) charge_all(operands);
    const bool follows = given && is_followed_here(node, operands);
    const bool folds = known && (!given || follows);
    follows_sizes_ |= given;
    NodeReader reader(*this, node, operands, folds, 0);
    current_ = &reader;
    if (!follows) {
      computed(folds, operands, [&] { rule.read(reader); });
      finish(reader, reader.results());
      return;
    }
    std::array<std::vector<ReadValue>, kTraces> results;
    for (size_t choice = 0; choice < kTraces; ++choice) {
      NodeReader one(*this, node, operands, true, choice);
      current_ = &one;
      computed(true, operands, [&] { rule.read(one); });
      results[choice] = one.results();
    }
    std::vector<ReadValue> joined;
    for (size_t i = 0; i < results[0].size(); ++i) {
      std::array<Tensor, kTraces> known;
      for (size_t choice = 0; choice < kTraces; ++choice)
        known[choice] = results[choice].at(i).known[0];
      joined.emplace_back(std::move(known));
      joined.back().never_negative = is_never_negative(node, operands);
    }
    current_ = &reader;
    finish(reader, joined);
  }

  bool is_followed_here(const FileNode& node, const std::vector<const ReadValue*>& operands) {
    const bool result = like_ ? like_->followed_.contains(&node) : is_followed(node, operands);
    if (result) followed_.insert(&node);
    return result;
  }

  // Limits computation with constants.
  template <class F>
  void computed(bool folds, const std::vector<const ReadValue*>& operands, F&& run) {
    if (!folds) return run();
    charge_all(operands);
    const AllocationLimit limit(left_);
    run();
    for (const ReadValue& result : current_->results()) {
      if (result.is_known() && result.known[0].defined()) charge_bytes(result.known[0].bytes());
    }
  }

  void charge_all(const std::vector<const ReadValue*>& operands) {
    for (const ReadValue* operand : operands) {
      if (operand) charge_bytes(operand->known[0].bytes());
    }
  }

  void charge_bytes(uint64_t bytes) {
    check<ResourceExhausted>(
        bytes <= left_,
        "constants of more than {} bytes, and much more than the file has, are "
        "computed with.",
        most_made_of(file_.bytes));
    left_ -= bytes;
  }

  void finish(const NodeReader& reader, const std::vector<ReadValue>& results) {
    const FileNode& node = reader.giver();
    name_ops(results);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      ReadValue value = i < results.size() ? results[i] : ReadValue();
      if (value.placeholder.defined()) check_size(value.placeholder);
      define(node.outputs[i], std::move(value));
    }
  }

  // An axis of unknown size has at least one element.
  void check_size(const Tensor& value) const {
    std::vector<int64_t> dims(value.shape().begin(), value.shape().end());
    std::ranges::replace(dims, kUnknown, int64_t{1});
    const size_t bytes = Shape(dims).num_bytes(size_of(value.dtype()));
    check<ResourceExhausted>(bytes <= kMaxResult && dims.size() <= kMaxAxes,
                             "a value of shape {} ({} bytes) is larger than what is read.",
                             value.shape(), bytes);
  }

  // ---- names ----

  void begin_node() {
    named_whole_ = false;
    name_of_node_.clear();
  }

  // The name for the current node, i.e. for its first layer or last op.
  const std::string& node_name() {
    if (!name_of_node_.empty()) return name_of_node_;
    const FileNode& node = current_->giver();
    for (const std::string& output : node.outputs) {
      const auto found = output_names_.find(output);
      if (found == output_names_.end()) continue;
      name_of_node_ = found->second;
      output_names_.erase(found);
      return name_of_node_;
    }
    const std::string& given = current_->node().name;
    return name_of_node_ = names_.unique(layer_name(given, to_snake_case(node.op)));
  }

  // Names ops created by a rule after the node.
  void name_ops(const std::vector<ReadValue>& results) {
    std::vector<std::shared_ptr<KerasNode>> path;
    for (auto value = results.rbegin(); value != results.rend(); ++value) {
      if (value->placeholder.defined()) path.push_back(keras_node(value->placeholder));
    }
    while (!path.empty()) {
      const auto node = path.back();
      path.pop_back();
      if (!known_.insert(node.get()).second) continue;
      nodes_.push_back(node);
      if (auto* op = dynamic_cast<GraphOp*>(node->layer().get())) {
        for (const Tensor& constant : op->constants()) {
          if (constant.defined() && charged_.insert(constant.id()).second) {
            charge_bytes(constant.bytes());
          }
        }
        const std::string base = node_name();
        op->rename(std::exchange(named_whole_, true) ? names_.unique(base + "_part") : base);
      }
      for (const Tensor& operand : node->operands()) path.push_back(keras_node(operand));
    }
  }

  const OnnxFile& file_;
  Device device_;
  ChoiceOfSizes choice_;
  const Importer* like_;
  bool follows_sizes_ = false;
  std::unordered_set<const FileNode*> followed_;  // nodes with a result for each trace
  std::unordered_set<const void*> charged_;       // constants of ops
  uint64_t left_;                                 // bytes that may still be computed with
  std::unordered_map<std::string, ReadValue> values_;
  std::vector<std::string> defined_;  // their names, in order
  ValueReads reads_;
  std::unordered_set<const FileNode*> skipped_;
  std::map<std::string, LayerHandle> made_;
  std::unordered_map<const void*, std::pair<Tensor, Tensor>> before_rows_;  // keep ids valid
  OpenShapes shapes_;
  std::map<std::string, Size> open_;
  int64_t open_axes_ = 0;
  bool has_rows_ = false;
  std::set<std::string> rows_;  // names of first axes, if these are all the same

  LayerNames names_;
  std::unordered_map<std::string, std::string> output_names_;  // by value, until used
  std::unordered_set<const KerasNode*> known_;                 // nodes whose ops have names
  std::vector<std::shared_ptr<KerasNode>> nodes_;              // the same nodes, kept alive
  NodeReader* current_ = nullptr;
  std::string name_of_node_;
  bool named_whole_ = false;
};

// Whether the file can be read for other sizes; if so, the result must be the same.
bool is_same_for(const OnnxFile& file, const Importer& made, ChoiceOfSizes choice) {
  WeightLimit weights(file.bytes);
  Importer other(file, made.device(), choice, &made);
  try {
    other.read();
  } catch (const InvalidArgument&) {
    return false;
  }
  weights.finish();
  const std::optional<std::string> differs = first_difference(made.nodes(), other.nodes());
  check<Unimplemented>(
      !differs.has_value(),
      "'{}': what layer '{}' does depends on the size of an axis that isn't known, in a way that "
      "can't be read. Export the model for fixed sizes of all axes but the first.",
      file.path, differs.value_or(""));
  return true;
}

// Reads the file for other sizes as well: one less than a multiple of 32, and with the smallest
// power of two added that it accepts (1, unless it rejects odd sizes).
void check_other_sizes(const OnnxFile& file, const Importer& made) {
  ChoiceOfSizes other = made.choice();
  other.last = true;
  is_same_for(file, made, other);
  other.last = false;
  for (other.more = 1; other.more <= 32 * other.scale; other.more *= 2) {
    if (is_same_for(file, made, other)) return;
  }
  raise<Unimplemented>(
      "'{}' accepts only some sizes of its open axes, and it isn't known which ones. Export the "
      "model for fixed sizes of all axes but the first.",
      file.path);
}

ImportedGraph read_for(const OnnxFile& file, Device device, ChoiceOfSizes choice) {
  WeightLimit weights(file.bytes);
  Importer importer(file, device, choice);
  ImportedGraph graph = importer.read();
  weights.finish();
  if (importer.has_open_sizes()) check_other_sizes(file, importer);
  return graph;
}

}  // namespace
}  // namespace reading

ImportedGraph read_onnx(const std::string& path) {
  const reading::OnnxFile file = reading::read_onnx_file(path);
  const AllocationLimit limit(reading::most_made_of(file.bytes));
  const Device device = default_device();
  const DeviceScope host("CPU:0");
  const std::vector<reading::ChoiceOfSizes> choices = reading::choices_for(file.inputs);
  for (const reading::ChoiceOfSizes& choice : choices) {
    try {
      return reading::read_for(file, device, choice);
    } catch (const InvalidArgument&) {
      if (&choice == &choices.back()) throw;
    }
  }
  raise<Internal>("no sizes to read '{}' for.", path);
}

}  // namespace cornu::onnx
