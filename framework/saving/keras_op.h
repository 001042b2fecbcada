// SPDX-License-Identifier: Apache-2.0
// Ops of Keras's in functional models of files. Those that are made of several ops here stay what
// they are: one node, which is written as it was read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/functional.h"
#include "framework/saving/op_config.h"

namespace cornu {

// A call of an op, in Keras's terms: what it was made with, and its arguments.
class OpCall : public OpConfig {
 public:
  OpCall(const Json& config, const Json& call, const std::vector<Tensor>& operands)
      : OpConfig(config), call_(call), operands_(operands) {}

  // The argument at this place, or of this name. InvalidArgument where it isn't there, or is None
  // in the place of an operand.
  Tensor operand(size_t place, const char* name) const;
  const Json& argument(size_t place, const char* name) const;
  Tensor optional(size_t place, const char* name) const;  // undefined where it is None
  std::vector<Tensor> list(size_t place, const char* name) const;
  std::vector<Tensor> all() const;  // each argument an operand
  // Operands, values and scalars in the order in which they stand, those in lists, too.
  std::vector<Tensor> flat() const;
  const Json* value(size_t place, const char* name) const;  // null where it is None
  std::map<std::string, int64_t> lengths() const;           // arguments by name that are numbers

 private:
  const Json* find_argument(size_t place, const char* name) const;
  Tensor tensor(const Json& argument) const;
  void flatten(const Json& argument, std::vector<Tensor>& result) const;

  const Json& call_;  // {"args", "kwargs"}, with operands' numbers in the operands' places
  const std::vector<Tensor>& operands_;
};

using ComposedOp = Tensors (*)(const OpCall& call);
using ComposedOps = std::map<std::string, ComposedOp, std::less<>>;
// Add the ops of keras.ops.numpy, and those of its other modules, by class names.
namespace numpy_ops {
void add_to(ComposedOps& table);
}
namespace nn_ops {
void add_to(ComposedOps& table);
}

bool is_composed_op(const std::string& class_name);
// Applies one of the other ops. Unimplemented, naming it, for one that isn't here.
Tensors apply_keras_op(const std::string& class_name, const OpCall& call);
std::vector<std::string> composed_op_names();

// The node of such an op.
class KerasOp : public GraphOp {
 public:
  // Gives the placeholder that a part of a call stands for; undefined where it is none.
  using Resolve = std::function<Tensor(const Json& value)>;
  // `entry` and `call`: as in a file. Appends the placeholders that the call reads to `inputs`.
  KerasOp(const Json& entry, const Json& call, const Resolve& resolve, std::vector<Tensor>& inputs);
  KerasOp(Json entry, Json call, const std::vector<Tensor>& constants);
  // Of operands that are its arguments, in order; those that are placeholders are left to its call.
  static std::shared_ptr<KerasOp> of(Json entry, const std::vector<Tensor>& operands);

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  std::string class_name() const override { return entry_.at("class_name").as_string(); }
  std::shared_ptr<Layer> copy() const override;

  Json entry() const;  // of a layer's form, for a file
  // Its call, {"args", "kwargs"}; `reference` gives what stands for input i.
  using Reference = std::function<Json(size_t input)>;
  Json written_call(const Reference& reference) const;

 private:
  Json numbered(const Json& value, const Resolve& resolve, std::vector<Tensor>& inputs);

  Json entry_;
  Json call_;
};

}  // namespace cornu
