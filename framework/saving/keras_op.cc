// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/keras_op.h"

#include <utility>

#include "framework/core/strings.h"
#include "framework/model/constants.h"
#include "framework/model/input.h"
#include "framework/saving/op_layers.h"

namespace cornu {
namespace {

// Represents operand i in a call.
constexpr char kOperand[] = "__operand__";

const Json* operand_number(const Json& value) {
  return value.is_object() && value.size() == 1 ? value.find(kOperand) : nullptr;
}

// A call as in a file: operand i is replaced by the result of `written`.
Json as_written(const Json& value, const std::function<Json(size_t)>& written) {
  if (const Json* number = operand_number(value)) {
    return written(static_cast<size_t>(number->as_int()));
  }
  if (value.is_array()) {
    Json::Array list;
    for (const Json& element : value.as_array()) list.push_back(as_written(element, written));
    return list;
  }
  if (value.is_object()) {
    Json::Object members;
    for (const auto& [key, member] : value.as_object()) {
      members.emplace_back(key, as_written(member, written));
    }
    return Json::of_members(std::move(members));
  }
  return value;
}

}  // namespace

const ComposedOps& composed_ops() {
  static const ComposedOps made = [] {
    ComposedOps table;
    numpy_ops::add_to(table);
    nn_ops::add_to(table);
    return table;
  }();
  return made;
}

bool is_composed_op(const std::string& class_name) {
  return composed_ops().find(class_name) != nullptr;
}

// ---- OpCall ----

const Json* OpCall::find_argument(size_t place, const char* name) const {
  const Json& args = call_.at("args");
  return place < args.size() ? &args[place] : call_.at("kwargs").find(name);
}

const Json* OpCall::value(size_t place, const char* name) const {
  const Json* found = find_argument(place, name);
  return found && !found->is_null() ? found : nullptr;
}

const Json& OpCall::argument(size_t place, const char* name) const {
  const Json* found = find_argument(place, name);
  check<InvalidArgument>(found != nullptr, "expected an argument '{}' (number {}), got none.", name,
                         place);
  return *found;
}

Tensor OpCall::tensor(const Json& argument) const {
  const Json* number = operand_number(argument);
  return number ? operands_.at(static_cast<size_t>(number->as_int())) : literal_tensor(argument);
}

Tensor OpCall::optional(size_t place, const char* name) const {
  const Json* found = value(place, name);
  return found ? tensor(*found) : Tensor();
}

Tensor OpCall::operand(size_t place, const char* name) const {
  const Json& found = argument(place, name);
  check<InvalidArgument>(!found.is_null(), "expected an argument '{}' (number {}), got none.", name,
                         place);
  return tensor(found);
}

std::vector<Tensor> OpCall::list(size_t place, const char* name) const {
  const Json* found = value(place, name);
  check<InvalidArgument>(found && found->is_array(), "expected a list '{}' (argument {}).", name,
                         place);
  std::vector<Tensor> result;
  for (const Json& element : found->as_array()) result.push_back(tensor(element));
  return result;
}

std::vector<Tensor> OpCall::all() const {
  std::vector<Tensor> result;
  for (const Json& argument : call_.at("args").as_array()) result.push_back(tensor(argument));
  return result;
}

std::vector<Tensor> OpCall::flat() const {
  std::vector<Tensor> result;
  flatten(call_.at("args"), result);
  for (const auto& [name, argument] : call_.at("kwargs").as_object()) flatten(argument, result);
  return result;
}

void OpCall::flatten(const Json& argument, std::vector<Tensor>& result) const {
  if (operand_number(argument) || argument.is_bool() || argument.is_number()) {
    result.push_back(tensor(argument));
  } else if (argument.is_array()) {
    for (const Json& element : argument.as_array()) flatten(element, result);
  } else if (argument.is_object()) {
    for (const auto& [name, member] : argument.as_object()) flatten(member, result);
  }
}

std::map<std::string, int64_t> OpCall::lengths() const {
  std::map<std::string, int64_t> result;
  for (const auto& [name, value] : call_.at("kwargs").as_object()) {
    require_moderate_numbers(value);
    if (value.is_int()) result[name] = value.as_int();
  }
  return result;
}

// ---- KerasOp ----

KerasOp::KerasOp(const Json& entry, const Json& call, const Resolve& resolve,
                 std::vector<Tensor>& inputs)
    : GraphOp({}), entry_(entry) {
  call_ = Json::object({{"args", numbered(call.at("args"), resolve, inputs)},
                        {"kwargs", numbered(call.at("kwargs"), resolve, inputs)}});
}

KerasOp::KerasOp(Json entry, Json call, const std::vector<Tensor>& constants)
    : GraphOp(constants), entry_(std::move(entry)), call_(std::move(call)) {}

std::shared_ptr<KerasOp> KerasOp::of(Json entry, const std::vector<Tensor>& operands) {
  Json::Array args;
  std::vector<Tensor> constants;
  for (const Tensor& operand : operands) {
    if (!operand.defined()) {
      args.push_back(Json());
      continue;
    }
    args.push_back(Json::object({{kOperand, static_cast<int64_t>(constants.size())}}));
    constants.push_back(is_placeholder(operand) ? Tensor() : operand);
  }
  Json call = Json::object({{"args", std::move(args)}, {"kwargs", Json::object()}});
  return std::make_shared<KerasOp>(std::move(entry), std::move(call), constants);
}

Json KerasOp::numbered(const Json& value, const Resolve& resolve, std::vector<Tensor>& inputs) {
  const Tensor input = resolve(value);
  if (input.defined() || is_constant(value)) {
    if (input.defined()) inputs.push_back(input);
    add_constant(input.defined() ? Tensor() : parse_constant(value));
    return Json::object({{kOperand, static_cast<int64_t>(operand_count()) - 1}});
  }
  if (value.is_array()) {
    Json::Array list;
    for (const Json& element : value.as_array()) {
      list.push_back(numbered(element, resolve, inputs));
    }
    return list;
  }
  if (!value.is_object()) return value;
  check<InvalidArgument>(!value.find(kOperand), "op '{}': expected tensors and values, got {}.",
                         class_name(), value.excerpt());
  Json::Object members;
  for (const auto& [key, member] : value.as_object()) {
    members.emplace_back(key, numbered(member, resolve, inputs));
  }
  return Json::of_members(std::move(members));
}

Tensors KerasOp::call_list(const Tensors& inputs, const CallArgs&) {
  const std::vector<Tensor> all = operands(inputs);
  const OpCall call(entry_.at("config"), call_, all);
  const auto* composed = composed_ops().find(class_name());
  return composed ? composed->apply(call) : apply_keras_op(class_name(), call);
}

std::shared_ptr<Layer> KerasOp::copy() const {
  auto result = std::make_shared<KerasOp>(entry_, call_, constants());
  result->rename(name());
  return result;
}

Json KerasOp::entry() const {
  Json config = entry_.at("config");
  config.set("name", name());
  const Json* module = entry_.find("module");
  return Json::object({{"module", module ? *module : Json(module_of_keras_op(class_name()))},
                       {"class_name", class_name()},
                       {"config", std::move(config)},
                       {"registered_name", class_name()}});
}

Json KerasOp::written_call(const Reference& reference) const {
  const std::vector<Tensor> constants = this->constants();
  std::vector<size_t> input_of(constants.size());
  for (size_t i = 0, next = 0; i < constants.size(); ++i) {
    if (!constants[i].defined()) input_of[i] = next++;
  }
  return as_written(call_, [&](size_t i) {
    return constants[i].defined() ? serialize_constant(constants[i]) : reference(input_of[i]);
  });
}

}  // namespace cornu
