// SPDX-License-Identifier: Apache-2.0
// The graph of a functional model.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/dispatch.h"
#include "framework/model/copied_by_itself.h"
#include "framework/model/layer.h"

namespace cornu {

// One call of a layer on placeholders. It owns the layer and, through their handles, the nodes
// before it. An op applied to its placeholders directly is recorded as an OpLayer.
class KerasNode : public Tracer, public std::enable_shared_from_this<KerasNode> {
 public:
  // `outputs`: types of the placeholders the node makes.
  static Tensors record(std::shared_ptr<Layer> layer, const Tensors& inputs,
                        const CallOptions& options,
                        const std::vector<std::pair<DType, Shape>>& outputs,
                        const std::vector<std::string>& output_names = {},
                        const MaskTypes& masks = {});

  // Chains of nodes may be long: those before it end one after another, not within each other.
  ~KerasNode() override;

  std::string describe(int64_t id) const override;
  std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) override;

  const std::shared_ptr<Layer>& layer() const { return layer_; }
  // Which of the layer's calls on placeholders this is, in order; all models count together.
  int64_t index() const { return index_; }
  const Tensors& inputs() const { return inputs_; }
  const CallOptions& options() const { return options_; }
  // Inputs, first to last, that stand at their places in the layer's call signature: what Keras
  // calls positional arguments. The others are given by name.
  size_t positional_inputs() const;
  // All placeholders that the call reads: inputs, then masks.
  std::vector<Tensor> operands() const;
  // The placeholders the node makes.
  Tensors outputs();
  const std::vector<std::pair<DType, Shape>>& output_types() const { return outputs_; }
  // Of the mask that rides on an output; none where none does.
  std::optional<std::pair<DType, Shape>> mask_type(size_t output) const {
    return output < masks_.size() ? masks_[output] : std::nullopt;
  }

 private:
  std::shared_ptr<Layer> layer_;
  int64_t index_ = 0;
  Tensors inputs_;
  CallOptions options_;
  std::vector<std::pair<DType, Shape>> outputs_;
  std::vector<std::string> output_names_;
  MaskTypes masks_;
};

// The node a placeholder comes from. InvalidArgument for anything else.
std::shared_ptr<KerasNode> keras_node(const Tensor& placeholder);

// The layer behind an Input.
class InputLayer : public Layer {
 public:
  InputLayer(Shape batch_shape, DType dtype, const std::string& name);
  const Shape& batch_shape() const { return batch_shape_; }
  DType dtype() const { return dtype_; }
  std::string class_name() const override { return "InputLayer"; }
  Json module() const override { return "keras.layers"; }
  Json get_config() const override;

 private:
  Shape batch_shape_;
  DType dtype_;
};

// An op in a functional graph without a layer around it: in Keras that is no layer.
class GraphOp : public Layer, public CopiedByItself {
 public:
  // Operands that are no placeholders stand at their places; undefined tensors are where inputs go.
  // A variable's value stands for the variable, which each call reads.
  explicit GraphOp(const std::vector<Tensor>& constants);
  void build_list(const std::vector<Shape>&) override {}
  bool autocast() const override { return false; }              // an op, which has no policy
  void rename(std::string name) { set_name(std::move(name)); }  // as a file has it
  std::vector<Tensor> constants() const;  // with the values that variables have now

 protected:
  std::vector<Tensor> operands(const Tensors& inputs) const;
  void add_constant(const Tensor& constant);
  size_t operand_count() const { return constants_.size(); }

 private:
  struct Constant {
    Tensor value;  // undefined for an input, and for a variable
    Variable variable;
  };
  std::vector<Constant> constants_;
};

// An op that was applied to placeholders (`x + y`).
class OpLayer : public GraphOp {
 public:
  OpLayer(const OpDef& op, Attributes attributes, const std::vector<Tensor>& constants);
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  std::string class_name() const override;
  std::shared_ptr<Layer> copy() const override;
  const OpDef& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  // Its entry in a file, of a layer's form, where the op says what Keras calls it; else null.
  Json keras_entry() const;

 private:
  const OpDef& op_;
  Attributes attributes_;
};

// A value as a model's input of this shape and dtype wants it, by Keras's rules: a last axis of
// size 1 may be there or not, and the value is cast. InvalidArgument, with the input's name, for
// any other rank, and with `check_sizes` for other sizes.
Tensor fit_to_input(const Tensor& given, const Shape& expected, DType dtype,
                    const std::string& name, bool check_sizes);

// What lies between inputs and outputs, in the order Keras walks it (deepest first).
class FunctionalGraph {
 public:
  // Where inputs are what layers gave, the layers after them are called anew on Inputs like these.
  // InvalidArgument when an output depends on an Input that isn't given, or layers share a name.
  FunctionalGraph(const Tensors& inputs, const Tensors& outputs);

  // Runs the layers on values, traced or placeholders; they are told what the caller was. Named
  // inputs go by the names of their Input layers. Outputs carry the names of the layers they come
  // from where there are several.
  Tensors call(const Tensors& inputs) const;

  // Graphs are of numbers: `inputs` with what is made of strings in their place, which call() takes
  // as well. The layers that take or give strings are called for it, on the host. None where that
  // can't be: they have weights, need what other layers give, or make an output; or the model's
  // inputs aren't of strings where the given ones are.
  std::optional<Tensors> without_strings(const Tensors& inputs) const;
  bool is_without_strings(const Tensors& inputs) const;

  const Tensors& inputs() const { return inputs_; }
  const Tensors& outputs() const { return outputs_; }
  const std::vector<std::shared_ptr<Layer>>& layers() const { return layers_; }
  const std::vector<std::shared_ptr<KerasNode>>& nodes() const { return nodes_; }  // in call order
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;

 private:
  class Values;
  // The names that inputs are given by.
  std::vector<std::string> keys() const;
  std::vector<Tensor> in_order(const Tensors& inputs) const;
  Values arranged(const std::vector<Tensor>& inputs) const;
  void find_strings();

  Tensors inputs_;
  Tensors outputs_;
  std::vector<std::shared_ptr<KerasNode>> nodes_;
  std::vector<std::shared_ptr<Layer>> layers_;
  // Whether layers of strings can be called before all others, and the numbers that they give, by
  // names that no input has.
  bool strings_come_first_ = false;
  std::vector<Tensors::Named> of_strings_;
};

}  // namespace cornu
