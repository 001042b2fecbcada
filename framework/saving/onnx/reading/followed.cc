// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/followed.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "framework/ops/ops.h"

namespace cornu::onnx::reading {
namespace {

using Operands = std::vector<const ReadValue*>;
using Names = std::unordered_set<std::string_view>;

// Elements are moved, or selected by known values.
const Names& moving() {
  static const Names names = {"Concat",   "ConstantOfShape", "Expand",   "Flatten", "Gather",
                              "Identity", "Reshape",         "Slice",    "Split",   "Squeeze",
                              "Tile",     "Transpose",       "Unsqueeze"};
  return names;
}

const Names& adding() {
  static const Names names = {"Add", "Mul", "ReduceProd", "ReduceSum", "Sum"};
  return names;
}

// The result depends on the sign of a difference.
const Names& comparing() {
  static const Names names = {"Equal",       "Greater", "GreaterOrEqual", "Less", "Max",
                              "LessOrEqual", "Min"};
  return names;
}

bool follows(const ReadValue* value) { return value && value->follows_sizes(); }

bool is_whole(DType dtype) {
  return dtype == DType::Int64 || dtype == DType::Int32 || dtype == DType::Bool;
}

bool has_fixed_shape(const ReadValue& value) {
  return std::ranges::all_of(
      value.known, [&](const Tensor& known) { return known.shape() == value.known[0].shape(); });
}

// Elementwise: whether the value is the same in all traces.
Tensor unchanged(const std::array<Tensor, kTraces>& values) {
  return ops::logical_and(ops::equal(values[1], values[0]), ops::equal(values[2], values[0]));
}

// Whether, for each element, a - b has the same sign for all sizes: it doesn't depend on them, or
// one operand is a size and the other a negative number.
bool is_settled(const ReadValue& a, const ReadValue& b) {
  if (!is_integer(a.known[0].dtype()) || !is_integer(b.known[0].dtype())) return false;
  std::array<Tensor, kTraces> difference;
  for (size_t k = 0; k < kTraces; ++k) difference[k] = ops::subtract(a.known[k], b.known[k]);
  Tensor settled = unchanged(difference);
  const auto add_sizes = [&](const ReadValue& size, const ReadValue& other) {
    if (!size.never_negative || follows(&other)) return;
    settled = ops::logical_or(settled, ops::less(other.known[0], 0));
  };
  add_sizes(a, b);
  add_sizes(b, a);
  return ops::all(settled).item<bool>();
}

bool is_divided(const ReadValue& a, const ReadValue& b) {
  for (size_t k = 0; k < kTraces; ++k) {
    const Tensor& by = b.known[k];
    if (by.dtype() == DType::Bool || ops::any(ops::equal(by, 0)).item<bool>()) return false;
    if (ops::any(ops::not_equal(ops::mod(a.known[k], by), 0)).item<bool>()) return false;
  }
  return true;
}

// Floating-point sizes serve as bounds of ranges; other uses aren't followed.
bool is_cast_followed(const FileNode& node, const ReadValue& value) {
  const auto to = std::ranges::find(node.attributes, "to", &FileAttribute::name);
  const std::optional<DType> dtype =
      to == node.attributes.end() ? std::nullopt : dtype_of_type(to->integer);
  const bool truths = value.known[0].dtype() == DType::Bool;
  return dtype && *dtype != DType::Bool && !truths &&
         (is_whole(*dtype) || *dtype == DType::Float32 || *dtype == DType::Float64);
}

bool has_negative(const ReadValue& value) {
  return std::ranges::any_of(value.known, [](const Tensor& known) {
    return known.dtype() != DType::Bool && ops::any(ops::less(known, 0)).item<bool>();
  });
}

bool is_never_negative(const ReadValue* value) { return !value || value->never_negative; }

bool is_positive(const ReadValue* value) {
  return is_never_negative(value) && (!value || !has_negative(*value));
}

}  // namespace

bool is_followed(const FileNode& node, const Operands& operands) {
  const std::string_view op = node.op;
  if (op == "Shape" || op == "Size" || op == "Identity") return true;
  for (const ReadValue* operand : operands) {
    if (!follows(operand)) continue;
    if (!has_fixed_shape(*operand)) return false;
    const DType dtype = operand->known[0].dtype();
    if (!is_whole(dtype) && op != "Cast") return false;
  }
  // For elements of a table, further elements of the table wouldn't be seen.
  if (op == "Gather" || op == "Slice") {
    return std::none_of(operands.begin() + 1, operands.end(), follows);
  }
  static const Names kLinear = {"Neg", "Sub", "And", "Or", "Xor", "Not", "Where"};
  if (moving().contains(op) || adding().contains(op) || kLinear.contains(op)) return true;
  if (op == "Cast" && operands.size() == 1) return is_cast_followed(node, *operands[0]);
  if (operands.size() != 2 || !operands[0] || !operands[1]) return false;
  if (op == "Div") return is_divided(*operands[0], *operands[1]);
  return comparing().contains(op) && is_settled(*operands[0], *operands[1]);
}

bool is_never_negative(const FileNode& node, const Operands& operands) {
  const std::string_view op = node.op;
  if (op == "Shape" || op == "Size") return true;
  if (op.starts_with("Reduce")) return is_positive(operands[0]);
  if (adding().contains(op) || op == "Div" || op == "Where") {
    return std::ranges::all_of(operands, is_positive);
  }
  return (moving().contains(op) || op == "Cast") &&
         std::ranges::all_of(operands,
                             [](const ReadValue* value) { return is_never_negative(value); });
}

}  // namespace cornu::onnx::reading
