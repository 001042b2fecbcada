// SPDX-License-Identifier: Apache-2.0
// Ops in functional graphs.
#include <utility>

#include "framework/core/ascii.h"
#include "framework/model/functional.h"
#include "framework/ops/whole_op.h"

namespace cornu {

GraphOp::GraphOp(const std::vector<Tensor>& constants) {
  for (const Tensor& constant : constants) add_constant(constant);
}

void GraphOp::add_constant(const Tensor& constant) {
  const Variable variable = constant.defined() ? Variable::of_value(constant) : Variable();
  constants_.push_back({variable.defined() ? Tensor() : constant, variable});
}

std::vector<Tensor> GraphOp::constants() const {
  std::vector<Tensor> result;
  for (const auto& [value, variable] : constants_) {
    result.push_back(variable.defined() ? variable.value() : value);
  }
  return result;
}

std::vector<Tensor> GraphOp::operands(const Tensors& inputs) const {
  std::vector<Tensor> result = constants();
  size_t next = 0;
  for (Tensor& operand : result) {
    if (!operand.defined()) operand = inputs[next++];
  }
  return result;
}

OpLayer::OpLayer(const OpDef& op, Attributes attributes, const std::vector<Tensor>& constants)
    : GraphOp(constants), op_(op), attributes_(std::move(attributes)) {}

namespace {

// The Keras form recorded in the op's attributes; null when there is none.
Json keras_form(const Attributes& attributes) {
  const AttributeValue* form = attributes.find(ops::internal::kKerasForm);
  return form ? Json::parse(std::get<std::string>(*form)) : Json();
}

}  // namespace

Json OpLayer::keras_entry() const {
  Json entry = keras_form(attributes_);
  if (entry.is_null()) return entry;
  Json config = entry.at("config");
  config.set("name", name());
  entry.set("config", std::move(config));
  entry.set("registered_name", entry.at("class_name"));
  return entry;
}

std::string OpLayer::class_name() const {
  const Json form = keras_form(attributes_);
  if (!form.is_null()) return form.at("class_name").as_string();
  if (op_.name == "divide") return "TrueDivide";
  std::string name;
  bool upper = true;
  for (char c : op_.name) {
    if (c == '_') {
      upper = true;
    } else {
      name += upper ? ascii::to_upper(c) : c;
      upper = false;
    }
  }
  return name;
}

std::shared_ptr<Layer> OpLayer::copy() const {
  auto result = std::make_shared<OpLayer>(op_, attributes_, constants());
  result->rename(name());
  return result;
}

Tensors OpLayer::call_list(const Tensors& inputs, const CallArgs&) {
  return Tensors(cornu::apply(op_, operands(inputs), attributes_));
}

}  // namespace cornu
