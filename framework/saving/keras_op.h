// SPDX-License-Identifier: Apache-2.0
// Keras ops in functional models loaded from files. An op composed of several ops here remains a
// single node, which is written as it was read.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/core/json.h"
#include "framework/model/functional.h"
#include "framework/saving/op_config.h"

namespace cornu {

// A call of an op in Keras's terms: the config it was created with, and its arguments.
class OpCall : public OpConfig {
 public:
  OpCall(const Json& config, const Json& call, const std::vector<Tensor>& operands)
      : OpConfig(config), call_(call), operands_(operands) {}

  // Returns the argument at this position or with this name. Throws InvalidArgument when it is
  // missing, or None where an operand is required.
  Tensor operand(size_t place, const char* name) const;
  const Json& argument(size_t place, const char* name) const;
  Tensor optional(size_t place, const char* name) const;  // undefined if None
  std::vector<Tensor> list(size_t place, const char* name) const;
  std::vector<Tensor> all() const;  // if every argument is an operand
  // Operands, values and scalars in order, including those in lists.
  std::vector<Tensor> flat() const;
  const Json* value(size_t place, const char* name) const;  // null if None
  std::map<std::string, int64_t> lengths() const;           // named arguments that are numbers

 private:
  const Json* find_argument(size_t place, const char* name) const;
  Tensor tensor(const Json& argument) const;
  void flatten(const Json& argument, std::vector<Tensor>& result) const;

  const Json& call_;  // {"args", "kwargs"}, with operands replaced by their numbers
  const std::vector<Tensor>& operands_;
};

// Keras's ops by class name: the module within keras.src.ops that each is in, and what applies it.
template <class Apply>
class KerasOpTable {
 public:
  struct Entry {
    std::string module;
    Apply apply;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  // Adds ops of a module.
  class Module {
   public:
    void add(const char* class_name, Apply apply) const {
      entries_.emplace(class_name, Entry{name_, std::move(apply)});
    }
    void add(const std::vector<std::pair<const char*, Apply>>& ops) const {
      for (const auto& [class_name, apply] : ops) add(class_name, apply);
    }

   private:
    friend KerasOpTable;
    Module(const char* name, Entries& entries) : name_(name), entries_(entries) {}
    const char* name_;
    Entries& entries_;
  };

  Module of(const char* module) { return {module, entries_}; }
  const Entry* find(std::string_view class_name) const {
    const auto found = entries_.find(class_name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  const Entries& entries() const { return entries_; }

 private:
  Entries entries_;
};

// Ops that are composed of several ops here, or need the names of their arguments.
using ComposedOps = KerasOpTable<Tensors (*)(const OpCall& call)>;
// Register the ops of keras.ops.numpy, and those of its other modules.
namespace numpy_ops {
void add_to(ComposedOps& table);
}
namespace nn_ops {
void add_to(ComposedOps& table);
}

const ComposedOps& composed_ops();
bool is_composed_op(const std::string& class_name);
// Applies one of the other ops. Throws Unimplemented, naming the op, if it isn't supported.
Tensors apply_keras_op(const std::string& class_name, const OpCall& call);

// The node for such an op.
class KerasOp : public GraphOp {
 public:
  // Returns the placeholder that a part of a call refers to; undefined if it isn't a reference.
  using Resolve = std::function<Tensor(const Json& value)>;
  // `entry` and `call` are as in a file. Appends the placeholders that the call reads to `inputs`.
  KerasOp(const Json& entry, const Json& call, const Resolve& resolve, std::vector<Tensor>& inputs);
  KerasOp(Json entry, Json call, const std::vector<Tensor>& constants);
  // Creates an op whose arguments are `operands`, in order; placeholders among them are supplied by
  // its call. Undefined ones are None.
  static std::shared_ptr<KerasOp> of(Json entry, const std::vector<Tensor>& operands);

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override;
  std::string class_name() const override { return entry_.at("class_name").as_string(); }
  std::shared_ptr<Layer> copy() const override;

  Json entry() const;  // in the form of a layer, for a file
  // Returns the call, {"args", "kwargs"}; `reference` returns the representation of input i.
  using Reference = std::function<Json(size_t input)>;
  Json written_call(const Reference& reference) const;

 private:
  Json numbered(const Json& value, const Resolve& resolve, std::vector<Tensor>& inputs);

  Json entry_;
  Json call_;
};

}  // namespace cornu
