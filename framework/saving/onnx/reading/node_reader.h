// SPDX-License-Identifier: Apache-2.0
// What the rules of operators are given: a node's operands and attributes, and what makes layers
// and ops of them.
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

// What one of a layer's weights, by its name there, is to be.
using NamedWeights = std::vector<std::pair<std::string, Tensor>>;

// The axes of 1 that put a vector along one axis of so many.
Shape along(int64_t axis, int64_t rank);
// The elements of x along an axis that may be open, at the first places of all others.
Tensor first_line(const Tensor& x, int64_t axis);

// Of a layer on x: x's where that is floating, else float32.
std::string layer_dtype(const Tensor& x);

// The model that is being made, for all of its nodes.
class ModelReader {
 public:
  virtual ~ModelReader() = default;
  virtual int64_t opset() const = 0;
  // Where layers' weights lie. What is computed while a file is read is on the host.
  virtual Device device() const = 0;
  virtual OpenShapes& shapes() = 0;
  // Who else reads a value, if it is read once in all, and is no output of the model; else null.
  virtual const FileNode* only_reader(const std::string& value) const = 0;
  // A value that has been read; null for what hasn't.
  virtual const ReadValue* find(const std::string& value) const = 0;
  // What a matrix was before its first axes were joined (in several of unknown size they can't be
  // parted again); undefined where it is none of that kind.
  virtual Tensor before_rows(const Tensor& rows) const = 0;
  virtual void set_before_rows(const Tensor& rows, const Tensor& before) = 0;
  // What a node makes, which was made elsewhere: it isn't read any more.
  virtual void skip(const FileNode& node) = 0;
  // So many multiplications of constants come.
  virtual void charge(int64_t multiplications) = 0;
  // A layer, which was made before where `key` was the same (empty: never); `name`: what its own
  // name is made of.
  virtual LayerHandle layer(const std::string& key, const std::string& class_name, Json config,
                            const std::string& name) = 0;
};

// One node, for one choice of the open axes' sizes where its operands are known.
class NodeReader {
 public:
  // `folds`: whether its operands are known, and what it makes of them is computed.
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
  // Known, and the same for all sizes; or while only known operands are computed with.
  bool is_constant(size_t i) const {
    return is_known(i) && (folds() || !operands_[i]->follows_sizes());
  }
  // Whether a value is computed.
  bool folds() const { return folds_; }
  // A placeholder or a value. What follows open axes becomes a placeholder where the others have
  // one. InvalidArgument where there is none.
  Tensor in(size_t i = 0);
  // Undefined where it is left out.
  Tensor optional(size_t i) { return has(i) ? in(i) : Tensor(); }
  std::vector<Tensor> all_in();
  // A value. Unimplemented where it isn't known when the model is read.
  Tensor constant(size_t i);
  Ints integers(size_t i);  // of a vector, or a scalar
  std::vector<double> numbers(size_t i);
  double number(size_t i, double otherwise);
  DType known_dtype(size_t i) const { return known(i).dtype(); }
  // Of floats one that is whole, too; InvalidArgument for others.
  int64_t whole_number(size_t i, int64_t otherwise);
  Size size(size_t i);        // a number that may follow open axes
  Sizes sizes(size_t i);      // integers likewise
  Sizes shape(size_t i = 0);  // likewise

  // ---- attributes ----

  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise);
  double number(std::string_view name, double otherwise);
  std::string text(std::string_view name, const std::string& otherwise);
  // One of these, the first where it isn't there; InvalidArgument for others.
  std::string choice(std::string_view name, const std::vector<std::string>& known);
  Ints integers(std::string_view name, const Ints& otherwise = {});
  std::vector<float> numbers(std::string_view name);
  std::vector<std::string> texts(std::string_view name);
  Tensor tensor(std::string_view name);  // undefined where it isn't there
  // Integers that are an input in newer operator sets, and an attribute in older ones; none where
  // neither is there.
  std::optional<Ints> integers(size_t i, std::string_view name);
  // An axis of a tensor of so many, counted from the front.
  int64_t axis(int64_t value, int64_t rank);

  // ---- results ----

  void give(const Tensor& result) { give_all({result}); }
  void give_all(const std::vector<Tensor>& results);
  // Known for each choice of sizes.
  void give_known(std::array<Tensor, kTraces> values) { results_ = {ReadValue(std::move(values))}; }
  bool wants(size_t output) const {
    return output < node_.outputs.size() && !node_.outputs[output].empty();
  }
  const std::vector<ReadValue>& results() const { return results_; }

  // A layer of Keras's on operands; its dtype is the first one's where that is floating, else the
  // weights'.
  Tensors layer(const std::string& class_name, Json config, const Tensors& inputs,
                const NamedWeights& weights = {}, const std::string& part = "");
  // One of Keras's composed ops, as one node.
  Tensors keras_op(const char* module, const char* class_name, Json config,
                   const std::vector<Tensor>& operands);
  // The same elements under other sizes.
  Tensor reshaped(const Tensor& x, const Sizes& to);
  // Zeros of this shape, which follows open axes, as a placeholder.
  Tensor zeros(const Sizes& shape, DType dtype);
  // 0, 1, 2 … along an axis of such a size.
  Tensor places(const Size& size, DType dtype);
  // The vector that a node adds to this one's only result along the last axis, if it is a constant
  // of so many elements that nothing else reads: then that node's result is this one's. Else
  // undefined.
  Tensor take_bias(int64_t size);

  // The node whose outputs the results are.
  const FileNode& giver() const { return *giver_; }

  // Unimplemented, saying why.
  [[noreturn]] void refuse(std::string_view why) const;
  // Unimplemented where it would compute with constants what takes much longer than these are
  // large.
  void refuse_constants() const;
  // ResourceExhausted where it would compute with constants by so many multiplications, and these,
  // with those of the nodes before, are much more than the file has bytes.
  void charge(int64_t multiplications) { model_.charge(multiplications); }

 private:
  const FileAttribute* find(std::string_view name) const;
  const FileAttribute* find(std::string_view name, FileAttribute::Kind kind) const;
  // The operand's value in the choice that is read.
  const Tensor& known(size_t i) const { return operands_[i]->known[choice_]; }
  Tensor as_placeholder(const ReadValue& value);
  // With those of the operands.
  const std::vector<OpenShapes::Axis>& open_axes();
  Tensor line(const Size& size, DType dtype);
  Tensor new_line(const Size& size);
  // One that is linear in the size of an open axis.
  Tensor number_of(const Size& number);
  Tensor new_number(const Size& number);
  [[noreturn]] void refuse_sizes() const;
  std::string sharing_key(const std::string& class_name, const Json& config) const;

  ModelReader& model_;
  const FileNode& node_;
  std::vector<const ReadValue*> operands_;
  bool folds_;
  size_t choice_;
  std::vector<ReadValue> results_;
  const FileNode* giver_ = &node_;
  std::string bias_;  // the name of the one that was taken
};

}  // namespace cornu::onnx::reading
