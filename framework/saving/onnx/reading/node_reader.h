// SPDX-License-Identifier: Apache-2.0
// The interface for operator rules: a node's operands and attributes, and functions that create
// layers and ops.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/layer.h"
#include "framework/saving/onnx/reading/onnx_file.h"
#include "framework/saving/onnx/reading/read_value.h"

namespace cornu::onnx::reading {

using Ints = std::vector<int64_t>;

// Values for a layer's weights, by weight name.
using NamedWeights = std::vector<std::pair<std::string, Tensor>>;

// The shape with axes of size 1 that places a vector along one axis of a tensor of this rank.
Shape along(int64_t axis, int64_t rank);
// Returns the elements of x along an axis, which may be open, at index 0 of all other axes.
Tensor first_line(const Tensor& x, int64_t axis);

// The number of elements. Throws InvalidArgument if it is too large.
Size product(const Sizes& sizes);

// The dtype for a layer on x: x's if floating, otherwise float32.
std::string layer_dtype(const Tensor& x);

// The model under construction, shared by all of its nodes.
class ModelReader {
 public:
  virtual ~ModelReader() = default;
  virtual int64_t opset() const = 0;
  // The device of layers' weights. Computation during reading is on the host.
  virtual Device device() const = 0;
  virtual OpenShapes& shapes() = 0;
  // Returns the reader of a value if it is read exactly once and isn't a model output; otherwise
  // null.
  virtual const FileNode* only_reader(const std::string& value) const = 0;
  // Returns a value that has already been read, or null.
  virtual const ReadValue* find(const std::string& value) const = 0;
  // The tensor from which a matrix was made by joining its leading axes (if several of these have
  // unknown sizes, they can't be split again); undefined for other tensors.
  virtual Tensor before_rows(const Tensor& rows) const = 0;
  virtual void set_before_rows(const Tensor& rows, const Tensor& before) = 0;
  // Skips a node whose result has been computed elsewhere.
  virtual void skip(const FileNode& node) = 0;
  // Announces that this many multiplications of constants will be performed.
  virtual void charge(int64_t multiplications) = 0;
  // Creates a layer, or returns the one created earlier with the same `key` (empty: never shared);
  // its name is based on `name`.
  virtual LayerHandle layer(const std::string& key, const std::string& class_name, Json config,
                            const std::string& name) = 0;
};

// A single node; if its operands are known, for one choice of the open axes' sizes.
class NodeReader {
 public:
  // `folds`: whether its operands are known and its result is computed.
  NodeReader(ModelReader& model, const FileNode& node, std::vector<const ReadValue*> operands,
             bool folds, size_t choice)
      : model_(model),
        node_(node),
        operands_(std::move(operands)),
        folds_(folds),
        choice_(choice) {}

  const FileNode& node() const { return node_; }
  const std::string& op() const { return node_.op; }
  int64_t opset() const { return model_.opset(); }
  ModelReader& model() { return model_; }

  // ---- operands ----

  size_t count() const { return operands_.size(); }
  bool has(size_t i) const { return i < operands_.size() && operands_[i] != nullptr; }
  bool is_known(size_t i) const { return has(i) && operands_[i]->is_known(); }
  // Known and independent of sizes, or known while only known operands are computed with.
  bool is_constant(size_t i) const {
    return is_known(i) && (folds() || !operands_[i]->follows_sizes());
  }
  // Whether the result is computed.
  bool folds() const { return folds_; }
  // Returns a placeholder or a value. A value that depends on open axes becomes a placeholder if
  // another operand is one. Throws InvalidArgument if it is missing.
  Tensor in(size_t i = 0);
  // Undefined if omitted.
  Tensor optional(size_t i) { return has(i) ? in(i) : Tensor(); }
  std::vector<Tensor> all_in();
  // Returns a value. Throws Unimplemented if it isn't known when the model is read.
  Tensor constant(size_t i);
  Ints integers(size_t i);  // of a vector or scalar
  std::vector<double> numbers(size_t i);
  double number(size_t i, double otherwise);
  DType known_dtype(size_t i) const { return known(i).dtype(); }
  // Also accepts a float without a fractional part; throws InvalidArgument for others.
  int64_t whole_number(size_t i, int64_t otherwise);
  Size size(size_t i);        // a number that may depend on open axes
  Sizes sizes(size_t i);      // integers that may depend on them
  Sizes shape(size_t i = 0);  // sizes that may depend on them

  // ---- attributes ----

  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise);
  double number(std::string_view name, double otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  // One of `known`, by default the first; throws InvalidArgument for others.
  std::string choice(std::string_view name, const std::vector<std::string>& known);
  Ints integers(std::string_view name, const Ints& otherwise = {});
  std::vector<float> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  Tensor tensor(std::string_view name);  // undefined if missing
  // Integers that are an input in newer operator sets and an attribute in older ones; nullopt if
  // neither is present.
  std::optional<Ints> integers(size_t i, std::string_view name);
  // Returns an axis of a tensor of this rank, counted from the front.
  int64_t axis(int64_t value, int64_t rank);

  // ---- results ----

  void give(const Tensor& result) { give_all({result}); }
  void give_all(const std::vector<Tensor>& results);
  // Sets a result that is known for each choice of sizes.
  void give_known(std::array<Tensor, kTraces> values) { results_ = {ReadValue(std::move(values))}; }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  const std::vector<ReadValue>& results() const { return results_; }

  // Applies a Keras layer to operands; its dtype is that of the first operand if floating,
  // otherwise that of the weights.
  Tensors layer(const std::string& class_name, Json config, const Tensors& inputs,
                const NamedWeights& weights = {}, const std::string& part = "");
  // Applies one of Keras's composed ops as a single node.
  Tensors keras_op(const char* class_name, Json config, const std::vector<Tensor>& operands);
  // Returns the same elements with other sizes.
  Tensor reshaped(const Tensor& x, const Sizes& to);
  // Returns 0, 1, 2 … as one axis of a shape, of this rank.
  Tensor places_along(const Size& size, int64_t axis, int64_t rank, DType dtype);
  // Returns zeros of this shape, which depends on open axes, as a placeholder.
  Tensor zeros(const Sizes& shape, DType dtype);
  // Returns 0, 1, 2 … along an axis of this size.
  Tensor places(const Size& size, DType dtype);
  // If the next node adds a constant of `size` elements along the last axis to this node's only
  // result, and nothing else reads that result, returns the constant as a bias and takes over that
  // node's output. Otherwise undefined.
  Tensor take_bias(int64_t size);

  // The node whose outputs the results are.
  const FileNode& giver() const { return *giver_; }

  // Throws Unimplemented with this reason.
  [[noreturn]] void refuse(std::string_view why) const;
  // Throws Unimplemented if it would compute with constants in a way that takes far longer than
  // their size suggests.
  void refuse_constants() const;
  // Throws ResourceExhausted if computing with constants would take this many multiplications and
  // these, with those of earlier nodes, far exceed the file's size.
  void charge(int64_t multiplications) { model_.charge(multiplications); }

 private:
  const FileAttribute* find(std::string_view name) const;
  const FileAttribute* find(std::string_view name, FileAttribute::Kind kind) const;
  // The operand's value for the current choice of sizes.
  const Tensor& known(size_t i) const { return operands_[i]->known[choice_]; }
  Tensor as_placeholder(const ReadValue& value);
  // Includes the axes of the operands.
  const std::vector<OpenShapes::Axis>& open_axes();
  Tensor line(const Size& size, DType dtype);
  Tensor new_line(const Size& size);
  // A number that is linear in the size of an open axis.
  Tensor number_of(const Size& number);
  Tensor new_number(const Size& number);
  [[noreturn]] void refuse_sizes() const;
  Tensor reshaped_around_open(const Tensor& x, const Sizes& from, const Sizes& to);
  std::string sharing_key(const std::string& class_name, const Json& config) const;

  ModelReader& model_;
  const FileNode& node_;
  std::vector<const ReadValue*> operands_;
  bool folds_;
  size_t choice_;
  std::vector<ReadValue> results_;
  const FileNode* giver_ = &node_;
  std::string bias_;  // name of the bias taken over
};

}  // namespace cornu::onnx::reading
