// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/xla/writer.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::xla {
namespace {

std::string_view element_text(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return "i1";
    case DType::UInt8:
      return "ui8";
    case DType::Int8:
      return "i8";
    case DType::Int32:
      return "i32";
    case DType::Int64:
      return "i64";
    case DType::UInt32:
      return "ui32";
    case DType::UInt64:
      return "ui64";
    case DType::Float16:
      return "f16";
    case DType::BFloat16:
      return "bf16";
    case DType::Float32:
      return "f32";
    case DType::Float64:
      return "f64";
    case DType::String:
      break;
  }
  raise<Internal>("The XLA backend was given strings.");
}

// "(%1, %2) {attributes} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>"
std::string rest_of_line(std::span<const Value> operands, const std::string& result,
                         std::string_view attributes, std::string_view regions) {
  std::string names;
  std::string types;
  for (const Value& operand : operands) {
    if (!names.empty()) {
      names += ", ";
      types += ", ";
    }
    names += operand.name;
    types += type_text(operand.type, operand.complex);
  }
  std::string text = "(" + names + ")";
  if (!regions.empty()) text += " (" + std::string(regions) + ")";
  if (!attributes.empty()) text += " {" + std::string(attributes) + "}";
  return text + " : (" + types + ") -> " + result + "\n";
}

constexpr int64_t kStatusWords = 3;

}  // namespace

std::string type_text(const TensorType& type, bool complex) {
  std::string text = "tensor<";
  for (const int64_t dim : type.shape) text += fmt::format("{}x", dim);
  text += complex ? fmt::format("complex<{}>", element_text(type.dtype))
                  : std::string(element_text(type.dtype));
  return text + ">";
}

std::string array_text(std::span<const int64_t> numbers) {
  if (numbers.empty()) return "array<i64>";
  return fmt::format("array<i64: {}>", fmt::join(numbers, ", "));
}

std::string pairs_text(std::span<const int64_t> numbers) {
  std::string rows;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) {
    rows += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", numbers[i], numbers[i + 1]);
  }
  return fmt::format("dense<[{}]> : tensor<{}x2xi64>", rows, numbers.size() / 2);
}

std::string Writer::next_name() { return fmt::format("%{}", next_++); }

Value Writer::op(std::string_view name, std::span<const Value> operands, const TensorType& type,
                 std::string_view attributes, std::string_view regions) {
  Value result{next_name(), type};
  text_ += fmt::format("{}{} = \"{}\"", indent_, result.name, name) +
           rest_of_line(operands, type_text(type), attributes, regions);
  return result;
}

Values Writer::ops(std::string_view name, std::span<const Value> operands,
                   std::span<const TensorType> types, std::string_view attributes,
                   std::string_view regions) {
  const std::string base = next_name();
  Values results;
  std::string result_types;
  for (const TensorType& type : types) {
    results.push_back({fmt::format("{}#{}", base, results.size()), type});
    result_types += (result_types.empty() ? "" : ", ") + type_text(type);
  }
  if (results.size() == 1) results.front().name = base;
  const std::string count = results.size() == 1 ? "" : fmt::format(":{}", results.size());
  text_ += fmt::format("{}{}{} = \"{}\"", indent_, base, count, name) +
           rest_of_line(operands, "(" + result_types + ")", attributes, regions);
  return results;
}

Value Writer::complex_op(std::string_view name, std::initializer_list<Value> operands,
                         const TensorType& type, bool complex, std::string_view attributes) {
  Value result{next_name(), type, complex};
  text_ += fmt::format("{}{} = \"{}\"", indent_, result.name, name) +
           rest_of_line(std::span(operands.begin(), operands.size()), type_text(type, complex),
                        attributes, {});
  return result;
}

std::string Writer::region(std::span<const TensorType> arguments,
                           FunctionRef<Values(std::span<const Value>)> body) {
  Values values;
  std::string header;
  for (const TensorType& type : arguments) {
    values.push_back(parameter(type));
    header +=
        fmt::format("{}{}: {}", header.empty() ? "" : ", ", values.back().name, type_text(type));
  }
  std::string outer = std::exchange(text_, {});
  const std::string outer_indent = indent_;
  indent_ += "  ";
  const Values results = body(values);
  std::string text = "{\n";
  if (!arguments.empty()) text += fmt::format("{}^bb0({}):\n", outer_indent, header);
  text += text_ + indent_ + "\"stablehlo.return\"" + rest_of_line(results, "()", {}, {});
  text_ = std::move(outer);
  indent_ = outer_indent;
  return text + indent_ + "}";
}

std::string Writer::reducer(std::string_view op_name, DType dtype) {
  const TensorType scalar{dtype, {}};
  const TensorType both[] = {scalar, scalar};
  return region(both, [&](std::span<const Value> in) -> Values {
    return {op("stablehlo." + std::string(op_name), in, scalar)};
  });
}

Value Writer::no_status() { return splat_int(*this, -1, {DType::Int64, {kStatusWords}}); }

void Writer::refuse(const Value& bad, const Value& values, Refusal fail) {
  const auto number = static_cast<int64_t>(refusals_.size());
  refusals_.push_back(std::move(fail));
  const int64_t count = bad.shape().num_elements();
  if (count == 0) return;
  const TensorType scalar{DType::Int64, {}};
  const Value flat = reshape(*this, bad, {count});
  const Value places = iota(*this, {DType::Int64, {count}}, 0);
  const Value none = splat_int(*this, count, {DType::Int64, {count}});
  const int64_t first_axis[] = {0};
  const Value place = reduce(*this, "minimum", select(*this, flat, places, none),
                             splat_int(*this, count, scalar), first_axis);
  const Value found = compare(*this, "LT", place, splat_int(*this, count, scalar));
  const Value inside = binary(*this, "minimum", place, splat_int(*this, count - 1, scalar));
  const Value wide = convert(*this, reshape(*this, values, {count}), DType::Int64);
  const Value value = row(*this, wide, inside);
  const Value words[] = {reshape(*this, splat_int(*this, number, scalar), {1}),
                         reshape(*this, value, {1}), reshape(*this, place, {1})};
  const Value report = select(*this, spread(*this, found, {kStatusWords}),
                              concatenate(*this, words, 0), no_status());
  if (!has_status()) {
    status_ = report;
    return;
  }
  const Value earlier = compare(*this, "GE", slice_axis(*this, status_, 0, 0, 1),
                                splat_int(*this, 0, {DType::Int64, {1}}));
  status_ = select(*this, spread(*this, earlier, {kStatusWords}), status_, report);
}

}  // namespace cornu::xla
