// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/writer.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int kPackBytes = 16;
constexpr int kMaxWidth = 8;

std::vector<Shape> shapes_of(const ElementwiseBody& body) {
  std::vector<Shape> shapes;
  for (const TensorType& type : body.inputs) shapes.push_back(type.shape);
  return shapes;
}

}  // namespace

ElementwiseWriter::ElementwiseWriter(const ElementwiseBody& body, bool specialize)
    : body_(body),
      axes_(broadcast_axes(body.shape, shapes_of(body))),
      specialize_(specialize),
      small_(body.shape.num_elements() < std::numeric_limits<int32_t>::max()) {
  size_t largest = 1;
  for (const TensorType& type : body.inputs) largest = std::max(largest, size_of(type.dtype));
  for (const DType dtype : body.array_types) largest = std::max(largest, size_of(dtype));
  width_ = std::min(kPackBytes / static_cast<int>(largest), kMaxWidth);
  const int64_t unit = divisible_by_width();
  while (unit % width_ != 0) width_ /= 2;
}

// What the width has to divide; 0: nothing. For sums over everything, the width forms the columns.
int64_t ElementwiseWriter::divisible_by_width() const {
  const bool has_axes = axes_.sizes.size() > 1;
  if (body_.sums.empty()) return has_axes ? axes_.inner() : 0;
  return body_.columns() == 1 ? axes_.inner() : std::gcd(axes_.inner(), body_.columns());
}

std::string ElementwiseWriter::size(int64_t value) {
  if (specialize_) return fmt::format("{}{}", value, small_ ? "u" : "ull");
  sizes_.push_back(value);
  return fmt::format("(I)n{}", sizes_.size() - 1);
}

ElementwiseWriter::Form ElementwiseWriter::form(size_t operand) const {
  if (axes_.sizes.empty() || axes_.strides[operand].back() == 0) return Form::Constant;
  return axes_.is_full(operand) ? Form::Full : Form::Inner;
}

// Declares o<operand>, the offset of its first element.
std::string ElementwiseWriter::offset(size_t operand) {
  const std::vector<int64_t>& strides = axes_.strides[operand];
  std::string text = fmt::format("    I o{0} = 0;\n    {{\n      I rest = i;\n", operand);
  for (size_t axis = axes_.sizes.size(); axis-- > 0;) {
    // The remainder for the outermost axes needs no division.
    const bool is_last = std::all_of(strides.begin(), strides.begin() + static_cast<int64_t>(axis),
                                     [](int64_t stride) { return stride == 0; });
    const std::string count = axis > 0 ? size(axes_.sizes[axis]) : "";
    if (strides[axis] != 0) {
      const std::string place = axis > 0 ? fmt::format("rest % ({})", count) : "rest";
      text += fmt::format("      o{} += ({}) * {};\n", operand, place, size(strides[axis]));
    }
    if (is_last) break;
    text += fmt::format("      rest /= {};\n", count);
  }
  return text + "    }\n";
}

std::string ElementwiseWriter::loads() {
  std::string text;
  for (size_t k = 0; k < body_.inputs.size(); ++k) {
    const std::string type = type_name(body_.inputs[k].dtype);
    if (axes_.is_scalar(k)) {
      text += fmt::format("    const {} x{} = in{}[0];\n", type, k, k);
      continue;
    }
    std::string at = "i";
    if (form(k) != Form::Full) {
      text += offset(k);
      at = fmt::format("o{}", k);
    }
    text +=
        form(k) == Form::Constant
            ? fmt::format("    const {} x{} = in{}[{}];\n", type, k, k, at)
            : fmt::format("    const Pack<{0}, W> x{1} = *(const Pack<{0}, W>*)(in{1} + {2});\n",
                          type, k, at);
  }
  for (size_t k = 0; k < body_.arrays.size(); ++k) {
    text += fmt::format("    Pack<{}, W> y{};\n", type_name(body_.array_types[k]), k);
  }
  return text;
}

std::string ElementwiseWriter::call() const {
  std::string text = "body(";
  const char* separator = "";
  for (size_t k = 0; k < body_.inputs.size(); ++k) {
    const bool is_pack = !axes_.is_scalar(k) && form(k) != Form::Constant;
    text += fmt::format("{}widen(x{}{})", separator, k, is_pack ? ".v[v]" : "");
    separator = ", ";
  }
  for (size_t k = 0; k < body_.arrays.size(); ++k) {
    text += fmt::format("{}y{}.v[v]", separator, k);
    separator = ", ";
  }
  for (size_t k = 0; k < body_.sums.size(); ++k) {
    text += fmt::format("{}s{}", separator, k);
    separator = ", ";
  }
  return text + ");";
}

std::string ElementwiseWriter::call_of_one(const std::string& index) const {
  std::string text = "body(";
  const char* separator = "";
  for (size_t k = 0; k < body_.inputs.size(); ++k) {
    text += fmt::format("{}widen(in{}[{}])", separator, k, axes_.is_scalar(k) ? "0" : index);
    separator = ", ";
  }
  for (size_t k = 0; k < body_.arrays.size(); ++k) {
    text += fmt::format("{}out{}[{}]", separator, k, index);
    separator = ", ";
  }
  return text + ");";
}

std::string ElementwiseWriter::stores() const {
  std::string text;
  for (size_t k = 0; k < body_.arrays.size(); ++k) {
    text += fmt::format("    *(Pack<{}, W>*)(out{} + i) = y{};\n", type_name(body_.array_types[k]),
                        k, k);
  }
  return text;
}

std::string ElementwiseWriter::kernel(const std::string& parameters,
                                      const std::string& statements) const {
  std::string text = define("W", fmt::to_string(width_)) + define("I", index_type());
  text += source("kernels/elementwise/functions.cu");
  text += "\n" + body_.text;
  text +=
      fmt::format("extern \"C\" __global__ void __launch_bounds__({}) KERNEL(", kElementwiseBlock);
  std::string list;
  const auto add = [&](const std::string& parameter) {
    list += (list.empty() ? "" : ", ") + parameter;
  };
  // Results may alias full operands. With __restrict__, a load of an operand might be moved after
  // the store of a result in its place.
  for (size_t k = 0; k < body_.inputs.size(); ++k) {
    const bool apart =
        body_.arrays.empty() || body_.inputs[k].shape.num_elements() != body_.shape.num_elements();
    add(fmt::format("const {}*{} in{}", type_name(body_.inputs[k].dtype),
                    apart ? " __restrict__" : "", k));
  }
  for (size_t k = 0; k < body_.arrays.size(); ++k) {
    add(fmt::format("{}* out{}", type_name(body_.array_types[k]), k));
  }
  if (!parameters.empty()) add(parameters);
  for (size_t k = 0; k < sizes_.size(); ++k) add(fmt::format("i64 n{}", k));
  return text + list + ") {\n" + statements + "}\n";
}

std::vector<Argument> ElementwiseWriter::arguments(const std::vector<Argument>& more) const {
  std::vector<Argument> result;
  for (size_t k = 0; k < body_.inputs.size(); ++k) result.emplace_back(in(k));
  for (const size_t index : body_.arrays) result.emplace_back(out(index));
  result.insert(result.end(), more.begin(), more.end());
  for (const int64_t value : sizes_) result.emplace_back(value);
  return result;
}

}  // namespace cornu::cuda
