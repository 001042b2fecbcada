// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/followed.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "framework/ops/ops.h"

namespace cornu::onnx::reading {
namespace {

using Operands = std::vector<const ReadValue*>;
using Known = std::array<Tensor, kTraces>;
using Names = std::unordered_set<std::string_view>;

// Elements are moved, or chosen by what is known.
const Names& moving() {
  static const Names names = {"Concat",  "ConstantOfShape", "Expand", "Flatten",   "Identity",
                              "Pad",     "Range",           "Shape",  "Reshape",   "Size",
                              "Squeeze", "Split",           "Tile",   "Transpose", "Trilu",
                              "Where",   "Unsqueeze"};
  return names;
}

const Names& adding() {
  static const Names names = {"Add", "CumSum", "Mul", "ReduceProd", "ReduceSum", "Sum"};
  return names;
}

bool follows(const Operands& operands, size_t i) {
  return i < operands.size() && operands[i] && operands[i]->follows_sizes();
}

// ---- what holds for all sizes ----

// The least, and the largest, of the elements along axes whose size differs.
struct Bounds {
  Known low, high;
};

// None where there are none, or shapes of different ranks.
std::optional<Bounds> bounds_of(const Known& values) {
  Bounds bounds;
  std::vector<int64_t> open;
  for (const Tensor& value : values) {
    if (value.rank() != values[0].rank() || value.num_elements() == 0) return {};
  }
  for (int64_t axis = 0; axis < values[0].rank(); ++axis) {
    const auto differs = [&](const Tensor& x) { return x.dim(axis) != values[0].dim(axis); };
    if (std::ranges::any_of(values, differs)) open.push_back(axis);
  }
  for (size_t k = 0; k < kTraces; ++k) {
    bounds.low[k] = open.empty() ? values[k] : ops::min(values[k], open, true);
    bounds.high[k] = open.empty() ? values[k] : ops::max(values[k], open, true);
  }
  return bounds;
}

Known each(const Known& a, const Known& b, Tensor (*op)(const Tensor&, const Tensor&)) {
  Known result;
  for (size_t k = 0; k < kTraces; ++k) result[k] = op(a[k], b[k]);
  return result;
}

Known as_numbers(const ReadValue& value) {
  Known result;
  for (size_t k = 0; k < kTraces; ++k) result[k] = ops::cast(value.known[k], DType::Float64);
  return result;
}

// Which elements are the same in all.
Tensor unchanged(const Known& values) {
  return ops::logical_and(ops::equal(values[1], values[0]), ops::equal(values[2], values[0]));
}

// Whether a - b has the same sign whatever the sizes are, element by element: it doesn't follow
// them; or a is a size, and b no positive number.
bool is_settled(const ReadValue& a, const ReadValue& b) {
  const Known x = as_numbers(a), y = as_numbers(b);
  const Known difference = each(x, y, ops::subtract);
  const std::optional<Bounds> bounds = bounds_of(difference);
  if (!bounds) return false;
  Tensor settled = ops::logical_and(unchanged(bounds->low), unchanged(bounds->high));
  const auto add_sizes = [&](const ReadValue& size, const ReadValue& other, const Known& numbers) {
    if (!size.never_negative || other.follows_sizes()) return;
    Known all;
    for (size_t k = 0; k < kTraces; ++k) {
      all[k] = ops::broadcast_to(numbers[k], difference[k].shape());
    }
    settled = ops::logical_or(settled, ops::less_equal(bounds_of(all)->high[0], 0));
  };
  add_sizes(a, b, y);
  add_sizes(b, a, x);
  return ops::all(settled).item<bool>();
}

using Comparison = Tensor (*)(const Tensor&, const Tensor&);

// A triangle that is seen: not the same elements on both sides.
bool parts_at_diagonal(const Tensor& value) {
  return is_triangle(value) &&
         !ops::any(ops::equal(in_first_row(value, 0), in_first_row(value, 1))).item<bool>();
}

bool is_compared(Comparison compare, const Operands& operands) {
  if (operands.size() != 2) return false;
  const ReadValue& a = *operands[0];
  const ReadValue& b = *operands[1];
  return is_settled(a, b) ||
         std::ranges::all_of(each(a.known, b.known, compare), parts_at_diagonal);
}

bool is_extremum(const Operands& operands) {
  return operands.size() == 2 && is_settled(*operands[0], *operands[1]);
}

// What is rounded down follows the sizes as the exact number does; or it is exact.
bool follows_as(const Known& rounded, const Known& exact) {
  if (std::ranges::equal(rounded, exact, [](const Tensor& a, const Tensor& b) {
        return ops::all(ops::equal(a, b)).item<bool>();
      })) {
    return true;
  }
  const std::optional<Bounds> bounds = bounds_of(rounded);
  return bounds &&
         !ops::any(ops::logical_or(unchanged(bounds->low), unchanged(bounds->high))).item<bool>();
}

bool is_quotient_followed(const Operands& operands) {
  if (operands.size() != 2) return false;
  if (!is_integer(operands[0]->known[0].dtype())) return true;
  const Known x = as_numbers(*operands[0]), y = as_numbers(*operands[1]);
  for (const Tensor& by : y) {
    if (ops::any(ops::equal(by, 0)).item<bool>()) return false;
  }
  const Known exact = each(x, y, ops::divide);
  Known rounded;
  for (size_t k = 0; k < kTraces; ++k) rounded[k] = ops::floor(exact[k]);
  return follows_as(rounded, exact);
}

bool is_rounding_followed(const Operands& operands) {
  if (operands.size() != 1) return false;
  const Known exact = as_numbers(*operands[0]);
  Known rounded;
  for (size_t k = 0; k < kTraces; ++k) rounded[k] = ops::floor(exact[k]);
  return follows_as(rounded, exact);
}

bool is_cast_followed(const FileNode& node, const Operands& operands) {
  if (operands.empty()) return false;
  const auto to = std::ranges::find(node.attributes, "to", &FileAttribute::name);
  const std::optional<DType> dtype =
      to == node.attributes.end() ? std::nullopt : dtype_of_type(to->integer);
  if (!dtype) return false;
  if (*dtype == DType::Bool) {
    return is_settled(*operands[0], ReadValue(Tensor::scalar(int64_t{0})));
  }
  return !is_integer(*dtype) || is_rounding_followed(operands);
}

bool has_negative(const ReadValue& value) {
  return std::ranges::any_of(value.known, [](const Tensor& known) {
    return known.dtype() != DType::Bool && ops::any(ops::less(known, 0)).item<bool>();
  });
}

bool are_never_negative(const Operands& operands) {
  return std::ranges::all_of(
      operands, [](const ReadValue* value) { return !value || value->never_negative; });
}

bool are_positive(const Operands& operands) {
  return are_never_negative(operands) && std::ranges::none_of(operands, [](const ReadValue* value) {
           return value && has_negative(*value);
         });
}

const std::unordered_map<std::string_view, Comparison>& comparisons() {
  static const std::unordered_map<std::string_view, Comparison> all = {
      {"Equal", ops::equal},
      {"Greater", ops::greater},
      {"GreaterOrEqual", ops::greater_equal},
      {"Less", ops::less},
      {"LessOrEqual", ops::less_equal}};
  return all;
}

}  // namespace

bool is_followed(const FileNode& node, const Operands& operands) {
  const std::string_view op = node.op;
  static const Names kLinear = {"Neg", "Sub", "And", "Or", "Xor", "Not"};
  if (moving().contains(op) || adding().contains(op) || kLinear.contains(op)) return true;
  // Rows of a table: what the table has further on isn't seen.
  if (op == "Gather") return !follows(operands, 1);
  if (op == "Slice") return follows(operands, 0);
  if (std::ranges::any_of(operands, [](const ReadValue* value) { return value == nullptr; })) {
    return false;
  }
  if (const auto compare = comparisons().find(op); compare != comparisons().end()) {
    return is_compared(compare->second, operands);
  }
  if (op == "Min" || op == "Max") return is_extremum(operands);
  if (op == "Div") return is_quotient_followed(operands);
  if (op == "Ceil" || op == "Floor" || op == "Round") return is_rounding_followed(operands);
  return op == "Cast" && is_cast_followed(node, operands);
}

bool is_never_negative(const FileNode& node, const Operands& operands) {
  const std::string_view op = node.op;
  if (op == "Shape" || op == "Size") return true;
  if (op == "CumSum" || op.starts_with("Reduce")) return are_positive({operands[0]});
  if (op == "Range" || op == "Where" || adding().contains(op) || op == "Div") {
    return are_positive(operands);
  }
  const bool moved = moving().contains(op) || op == "Cast" || op == "Gather" || op == "Slice";
  return moved && are_never_negative(operands);
}

// ---- masks ----

Tensor triangle(const Tensor& rows, const Tensor& columns, int64_t rank) {
  const auto along = [rank](int64_t axis) {
    Shape shape(std::vector<int64_t>(static_cast<size_t>(rank), 1));
    shape[axis] = kUnknown;
    return shape;
  };
  return ops::greater_equal(ops::reshape(rows, along(rank - 2)),
                            ops::reshape(columns, along(rank - 1)));
}

Tensor in_first_row(const Tensor& value, int64_t column) {
  return ops::slice_axis(ops::slice_axis(value, -2, 0, 1), -1, column, column + 1);
}

bool is_triangle(const Tensor& value) {
  if (value.rank() < 2 || value.dim(-2) < 2 || value.dim(-1) < 2) return false;
  const Tensor below =
      triangle(ops::arange(value.dim(-2)), ops::arange(value.dim(-1)), value.rank());
  const Tensor wanted = ops::where(below, in_first_row(value, 0), in_first_row(value, 1));
  return ops::all(ops::equal(value, wanted)).item<bool>();
}

}  // namespace cornu::onnx::reading
