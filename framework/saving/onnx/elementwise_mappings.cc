// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/integers.h"
#include "framework/saving/onnx/mappings.h"

namespace cornu::onnx {
namespace {

void write_exp2(NodeWriter& n) { n.give(n.add("Pow", {n.scalar(2), n.in()})); }
void write_expm1(NodeWriter& n) { n.give(n.add("Sub", {n.add("Exp", {n.in()}), n.scalar(1)})); }

void write_log1p(NodeWriter& n) { n.give(n.add("Log", {n.add("Add", {n.in(), n.scalar(1)})})); }

void write_rsqrt(NodeWriter& n) { n.give(n.add("Reciprocal", {n.add("Sqrt", {n.in()})})); }

void write_square(NodeWriter& n) { n.give(n.add("Mul", {n.in(), n.in()})); }

void write_erfc(NodeWriter& n) { n.give(n.add("Sub", {n.scalar(1), n.add("Erf", {n.in()})})); }

void write_is_finite(NodeWriter& n) {
  const std::string wrong = n.add("Or", {n.add("IsNaN", {n.in()}), n.add("IsInf", {n.in()})});
  n.give(n.add("Not", {wrong}));
}

// The angle of y / x, shifted by half a turn if x is negative.
void write_atan2(NodeWriter& n) {
  constexpr double kPi = 3.14159265358979323846;
  const std::string& y = n.in(0);
  const std::string& x = n.in(1);
  const std::string zero = n.scalar(0);
  const std::string angle = n.add("Atan", {n.add("Div", {y, x})});
  const std::string half =
      n.add("Where", {n.add("Less", {y, zero}), n.scalar(-kPi), n.scalar(kPi)});
  const std::string turned =
      n.add("Where", {n.add("Less", {x, zero}), n.add("Add", {angle, half}), angle});
  const std::string origin = n.add("And", {n.add("Equal", {x, zero}), n.add("Equal", {y, zero})});
  n.give(n.add("Where", {origin, zero, turned}));
}

// A bias is merged into the convolution that it is added to.
bool write_bias(NodeWriter& n, size_t conv) {
  const Node* before = n.graph().only_read_from(n.node().inputs[conv]);
  const auto bias = n.constant(1 - conv);
  const bool convolution = before && (before->op == &channels_second_conv() ||
                                      before->op == &channels_second_conv_transpose());
  if (!convolution || !bias || bias->rank() > n.rank(conv)) return false;
  const int64_t from_back = n.rank(conv) - 1;  // position of the channels, counted from the end
  for (int64_t axis = 0; axis < bias->rank(); ++axis) {
    const bool channels = bias->rank() - axis == from_back;
    if (bias->dim(axis) != (channels ? n.shape(conv)[1].value() : 1)) return false;
  }
  if (bias->rank() < from_back) return false;
  static const OpDef& reshape = OpRegistry::global().at("reshape");
  const Tensor vector = n.file().constants().derived(
      reshape, {*bias}, {{"shape", std::vector<int64_t>{bias->num_elements()}}});
  const std::string output = n.in(conv);
  n.graph().written_node(output).inputs.push_back(
      n.file().constant(vector, n.node().scope + "/bias"));
  n.give(output);
  return true;
}

void write_add(NodeWriter& n) {
  if (!write_bias(n, 0) && !write_bias(n, 1)) n.give(in_common_dtype(n, "Add"));
}

void write_cast(NodeWriter& n) { n.give(n.cast(n.in(), n.dtype(), n.out_dtype())); }

void write_identity(NodeWriter& n) { n.give(n.in()); }

const Mapping kMappings[] = {
    {"abs", "Abs"},
    {"acos", "Acos"},
    {"add", nullptr, write_add},
    {"asin", "Asin"},
    {"atan", "Atan"},
    {"atan2", nullptr, write_atan2},
    {"bitwise_and", "BitwiseAnd"},
    {"bitwise_or", "BitwiseOr"},
    {"bitwise_xor", "BitwiseXor"},
    {"cast", nullptr, write_cast},
    {"ceil", "Ceil"},
    {"cos", "Cos"},
    {"cosh", "Cosh"},
    {"divide", "Div"},
    {"erf", "Erf"},
    {"erfc", nullptr, write_erfc},
    {"exp", "Exp"},
    {"exp2", nullptr, write_exp2},
    {"expm1", nullptr, write_expm1},
    {"floor", "Floor"},
    {"identity", nullptr, write_identity},
    {"is_finite", nullptr, write_is_finite},
    {"is_inf", "IsInf"},
    {"is_nan", "IsNaN"},
    {"log", "Log"},
    {"log1p", nullptr, write_log1p},
    {"logical_and", "And"},
    {"logical_not", "Not"},
    {"logical_or", "Or"},
    {"logical_xor", "Xor"},
    {"maximum", "Max"},
    {"minimum", "Min"},
    {"negate", "Neg"},
    {"power", "Pow"},
    {"reciprocal", "Reciprocal"},
    {"relu", "Relu"},
    {"round", "Round"},
    {"rsqrt", nullptr, write_rsqrt},
    {"sigmoid", "Sigmoid"},
    {"sign", "Sign"},
    {"sin", "Sin"},
    {"sinh", "Sinh"},
    {"sqrt", "Sqrt"},
    {"square", nullptr, write_square},
    {"stop_gradient", nullptr, write_identity},
    {"tan", "Tan"},
    {"tanh", "Tanh"},
};

}  // namespace

std::span<const Mapping> elementwise_mappings() { return kMappings; }

}  // namespace cornu::onnx
