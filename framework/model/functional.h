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

// One call of a layer on placeholders. It owns the layer and, through the handles of its
// placeholders, the nodes before it. An op applied directly to its placeholders is recorded as an
// OpLayer.
class KerasNode : public Tracer, public std::enable_shared_from_this<KerasNode> {
 public:
  // `outputs`: dtypes and shapes of the placeholders that the node creates.
  static Tensors record(std::shared_ptr<Layer> layer, const Tensors& inputs,
                        const CallOptions& options,
                        const std::vector<std::pair<DType, Shape>>& outputs,
                        const std::vector<std::string>& output_names = {},
                        const MaskTypes& masks = {});

  // Chains of nodes may be long: destroys the preceding nodes one after another rather than
  // recursively.
  ~KerasNode() override;

  std::string describe(int64_t id) const override;
  std::vector<Tensor> apply(const OpDef& op, const std::vector<Tensor>& inputs,
                            const Attributes& attributes) override;

  const std::shared_ptr<Layer>& layer() const { return layer_; }
  // Sequence number among the layer's calls on placeholders, counted across all models.
  int64_t index() const { return index_; }
  const Tensors& inputs() const { return inputs_; }
  const CallOptions& options() const { return options_; }
  // Number of leading inputs that are in the position the layer's call signature gives them
  // (Keras's positional arguments). The other inputs are passed by name.
  size_t positional_inputs() const;
  // All placeholders that the call reads: inputs, then masks.
  std::vector<Tensor> operands() const;
  // The placeholders that the node creates.
  Tensors outputs();
  const std::vector<std::pair<DType, Shape>>& output_types() const { return outputs_; }
  // Dtype and shape of the mask carried by an output; nullopt when it has none.
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

// Returns the node that created a placeholder. Throws InvalidArgument for any other tensor.
std::shared_ptr<KerasNode> keras_node(const Tensor& placeholder);

// The layer that represents an Input.
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

// An op in a functional graph with no layer around it. Keras doesn't count such an op as a layer.
class GraphOp : public Layer, public CopiedByItself {
 public:
  // `constants` holds the operands that aren't placeholders, at their positions; entries for inputs
  // are undefined tensors. The value of a variable is replaced by the variable itself, which is
  // read at each call.
  explicit GraphOp(const std::vector<Tensor>& constants);
  void build_list(const std::vector<Shape>&) override {}
  bool autocast() const override { return false; }              // an op has no policy
  void rename(std::string name) { set_name(std::move(name)); }  // to the name in a file
  std::vector<Tensor> constants() const;  // with the current values of variables

 protected:
  std::vector<Tensor> operands(const Tensors& inputs) const;
  void add_constant(const Tensor& constant);
  size_t operand_count() const { return constants_.size(); }

 private:
  struct Constant {
    Tensor value;  // undefined for an input and for a variable
    Variable variable;
  };
  std::vector<Constant> constants_;
};

// Whether this is an op of a functional model, which Keras doesn't count among its layers.
inline bool is_operation(const Layer& layer) {
  return dynamic_cast<const GraphOp*>(&layer) != nullptr;
}

// An op applied to placeholders (`x + y`).
class OpLayer : public GraphOp {
 public:
  OpLayer(const OpDef& op, Attributes attributes, const std::vector<Tensor>& constants);
  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  std::string class_name() const override;
  std::shared_ptr<Layer> copy() const override;
  const OpDef& op() const { return op_; }
  const Attributes& attributes() const { return attributes_; }
  // Returns its entry in a file, in the form of a layer, when the op knows its Keras name;
  // otherwise null.
  Json keras_entry() const;

 private:
  const OpDef& op_;
  Attributes attributes_;
};

// Converts a value to the shape and dtype of a model input by Keras's rules: a trailing axis of
// size 1 may be present or missing, and the value is cast. Throws InvalidArgument, with the input's
// name, for any other rank and, with `check_sizes`, for other sizes.
Tensor fit_to_input(const Tensor& given, const Shape& expected, DType dtype,
                    const std::string& name, bool check_sizes);

// The nodes and layers between inputs and outputs, in the order in which Keras walks them (deepest
// first).
class FunctionalGraph {
 public:
  // Inputs may also be outputs of layers; the layers after them are then called again on new Inputs
  // of the same type. Throws InvalidArgument when an output depends on an Input that isn't given,
  // or when layers share a name.
  FunctionalGraph(const Tensors& inputs, const Tensors& outputs);

  // Runs the layers on concrete values, traced tensors or placeholders; they inherit the caller's
  // training flag. Named inputs are matched by the names of their Input layers. Multiple outputs
  // are named after the layers that produce them.
  Tensors call(const Tensors& inputs) const;

  // Compiled graphs can't hold strings: returns `inputs` with string inputs replaced by the numeric
  // values derived from them. call() accepts the result, too. To compute it, the layers that take
  // or return strings are called on the host. Returns nullopt when this isn't possible: those
  // layers have weights, depend on other layers' outputs, or produce a model output of strings; or
  // an input is given strings although the model expects numbers.
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
  // The names by which inputs are passed.
  std::vector<std::string> keys() const;
  std::vector<Tensor> in_order(const Tensors& inputs) const;
  Values arranged(const std::vector<Tensor>& inputs) const;
  void find_strings();

  Tensors inputs_;
  Tensors outputs_;
  std::vector<std::shared_ptr<KerasNode>> nodes_;
  std::vector<std::shared_ptr<Layer>> layers_;
  // Whether the string layers can be called before all others, and their numeric outputs, under
  // names that no input has.
  bool strings_come_first_ = false;
  std::vector<Tensors::Named> of_strings_;
};

}  // namespace cornu
