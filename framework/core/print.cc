// SPDX-License-Identifier: Apache-2.0
// After numpy/_core/arrayprint.py: array2string, FloatingFormat, _formatArray.
#include "framework/core/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <mutex>
#include <ostream>

#include "framework/core/strings.h"
#include "framework/core/tensors.h"
#include "framework/core/variable.h"

namespace cornu {
namespace {

// The shortest digits of a finite number that read back as the same value: 0.d1d2d3… * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;
};

Decimal parse_scientific(const char* begin, const char* end) {
  Decimal result;
  if (*begin == '-') {
    result.negative = true;
    ++begin;
  }
  const char* exponent = std::find(begin, end, 'e');
  for (const char* c = begin; c != exponent; ++c) {
    if (*c != '.') result.digits += *c;
  }
  const size_t last = result.digits.find_last_not_of('0');
  result.digits.resize(last == std::string::npos ? 1 : last + 1);
  result.point = std::stoi(std::string(exponent + 1, end)) + 1;
  return result;
}

template <class T>
Decimal shortest(double value) {
  char text[64];
  if constexpr (std::is_class_v<T>) {  // 16 bits: found by trial
    for (int digits = 0;; ++digits) {
      const auto end =
          std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, digits);
      double back = 0;
      std::from_chars(text, end.ptr, back);
      if (static_cast<float>(T(static_cast<float>(back))) == static_cast<float>(value)) {
        return parse_scientific(text, end.ptr);
      }
    }
  } else {
    const auto end = std::to_chars(text, text + sizeof(text), static_cast<T>(value),
                                   std::chars_format::scientific);
    return parse_scientific(text, end.ptr);
  }
}

Decimal shortest(double value, DType dtype) {
  return dispatch_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, double>) return shortest<double>(value);
    if constexpr (std::is_class_v<T>) return shortest<T>(value);
    return shortest<float>(value);
  });
}

// Rounds correctly to `fraction` digits after the point; removes trailing zeros.
Decimal rounded(double value, int fraction, bool scientific) {
  char text[512];
  const auto end = std::to_chars(
      text, text + sizeof(text), value,
      scientific ? std::chars_format::scientific : std::chars_format::fixed, fraction);
  if (scientific) return parse_scientific(text, end.ptr);
  Decimal result;
  const char* begin = text;
  if (*begin == '-') {
    result.negative = true;
    ++begin;
  }
  const char* dot = std::find(begin, static_cast<const char*>(end.ptr), '.');
  result.point = static_cast<int>(dot - begin);
  result.digits = std::string(begin, dot);
  if (dot != end.ptr) result.digits += std::string(dot + 1, static_cast<const char*>(end.ptr));
  const size_t last = result.digits.find_last_not_of('0');
  result.digits.resize(last == std::string::npos ? 1 : last + 1);
  return result;
}

// The limits beyond which NumPy uses exponents; they depend on how many digits a dtype holds.
struct Limits {
  double small;
  double array_large;
  double scalar_large;
};

Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return {static_cast<double>(float16(1e-4f)), 1e3, 1e3};
    case DType::BFloat16:
      return {static_cast<double>(bfloat16(1e-4f)), 1e2, 1e2};
    case DType::Float32:
      return {static_cast<double>(1e-4f), 1e6, 1e6};
    default:
      return {1e-4, 1e8, 1e16};
  }
}

struct Parts {
  std::string integer;   // with the sign
  std::string fraction;  // without trailing zeros
  std::string exponent;  // "+05", or empty
};

Parts positional(double value, DType dtype, int64_t precision) {
  Decimal number = shortest(value, dtype);
  const int64_t fraction = static_cast<int64_t>(number.digits.size()) - number.point;
  if (fraction > precision) number = rounded(value, static_cast<int>(precision), false);
  const auto count = static_cast<int>(number.digits.size());
  const int point = number.point;
  Parts parts;
  parts.integer = number.negative ? "-" : "";
  if (point <= 0 || number.digits == "0") {
    parts.integer += '0';
    if (number.digits != "0") {
      parts.fraction = std::string(static_cast<size_t>(-point), '0') + number.digits;
    }
    return parts;
  }
  for (int i = 0; i < point; ++i) parts.integer += i < count ? number.digits[i] : '0';
  if (count > point) parts.fraction = number.digits.substr(static_cast<size_t>(point));
  return parts;
}

// With `least` digits after the point; digits beyond the shortest ones are those of the exact
// value.
Parts scientific(double value, DType dtype, int64_t precision, int64_t least = 0) {
  Decimal number = shortest(value, dtype);
  const int64_t fraction = static_cast<int64_t>(number.digits.size()) - 1;
  if (fraction > precision) number = rounded(value, static_cast<int>(precision), true);
  if (fraction < least) number = rounded(value, static_cast<int>(least), true);
  const int exponent = number.digits == "0" ? 0 : number.point - 1;
  return {(number.negative ? "-" : "") + number.digits.substr(0, 1), number.digits.substr(1),
          fmt::format("{:+03d}", exponent)};
}

std::string spaces(int64_t count) {
  return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' ');
}

int64_t length(const std::string& text) { return static_cast<int64_t>(text.size()); }

// Formats all numbers of a tensor with the same width.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& shown, DType dtype, const PrintOptions& options)
      : dtype_(dtype), precision_(options.precision) {
    double largest = 0;
    double least = std::numeric_limits<double>::infinity();
    bool all_finite = true;
    bool negative_infinity = false;
    std::vector<double> finite;
    for (double value : shown) {
      if (!std::isfinite(value)) {
        all_finite = false;
        negative_infinity = negative_infinity || (std::isinf(value) && value < 0);
        continue;
      }
      finite.push_back(value);
      if (value == 0) continue;
      largest = std::max(largest, std::fabs(value));
      least = std::min(least, std::fabs(value));
    }
    const Limits limits = limits_of(dtype);
    const bool far_apart = least < limits.small || largest / least > 1000;
    scientific_ =
        largest > 0 && (largest >= limits.array_large || (!options.suppress && far_apart));
    int64_t exponent_width = 0;
    for (double value : finite) {
      const Parts parts = split(value);
      left_ = std::max(left_, length(parts.integer));
      fraction_ = std::max(fraction_, length(parts.fraction));
      exponent_width = std::max(exponent_width, length(parts.exponent) - 1);
    }
    if (scientific_) {
      precision_ = fraction_;
      exponent_digits_ = exponent_width;
    }
    right_ = scientific_ ? exponent_width + 2 + fraction_ : fraction_;
    if (!all_finite) {
      left_ = std::max({left_, 3 - (right_ + 1), 3 + (negative_infinity ? 1 : 0) - (right_ + 1)});
    }
  }

  std::string operator()(double value) const {
    if (!std::isfinite(value)) {
      const std::string name = std::isnan(value) ? "nan" : (value < 0 ? "-inf" : "inf");
      return spaces(left_ + right_ + 1 - length(name)) + name;
    }
    Parts parts = scientific_ ? scientific(value, dtype_, precision_, fraction_) : split(value);
    const std::string padded = spaces(left_ - length(parts.integer)) + parts.integer + '.';
    if (!scientific_) {
      return padded + parts.fraction + spaces(right_ - length(parts.fraction));
    }
    parts.fraction.resize(static_cast<size_t>(fraction_), '0');
    const int64_t zeros = exponent_digits_ - (length(parts.exponent) - 1);
    return padded + parts.fraction + 'e' + parts.exponent[0] +
           std::string(static_cast<size_t>(std::max<int64_t>(zeros, 0)), '0') +
           parts.exponent.substr(1);
  }

 private:
  Parts split(double value) const {
    return scientific_ ? scientific(value, dtype_, precision_)
                       : positional(value, dtype_, precision_);
  }

  DType dtype_;
  int64_t precision_;
  bool scientific_ = false;
  int64_t left_ = 0;   // characters before the point
  int64_t right_ = 0;  // after it
  int64_t fraction_ = 0;
  int64_t exponent_digits_ = 0;
};

using Format = std::function<std::string(int64_t)>;  // formats the element at this index

template <class T>
T element(const std::byte* data, int64_t place) {
  T value;
  std::memcpy(&value, data + static_cast<size_t>(place) * sizeof(T), sizeof(T));
  return value;
}

// The text of a single number, as Python writes it.
std::string scalar_text(double value, DType dtype) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  constexpr int64_t kAll = std::numeric_limits<int32_t>::max();
  const double magnitude = std::fabs(value);
  if (value == 0 || (magnitude >= 1e-4 && magnitude < limits_of(dtype).scalar_large)) {
    const Parts parts = positional(value, dtype, kAll);
    return parts.integer + '.' + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  const Parts parts = scientific(value, dtype, kAll);
  return parts.integer + (parts.fraction.empty() ? "" : '.' + parts.fraction) + 'e' +
         parts.exponent;
}

Format format_of(const std::byte* data, DType dtype, const std::vector<int64_t>& shown, bool scalar,
                 const PrintOptions& options) {
  if (dtype == DType::String) {
    return [strings = reinterpret_cast<const std::string*>(data)](int64_t place) {
      return fmt::format("'{}'", printable(strings[place]));
    };
  }
  return dispatch_dtype(dtype, [&]<class T>(T) -> Format {
    if constexpr (std::is_same_v<T, bool>) {
      return [=](int64_t place) {
        const bool value = element<uint8_t>(data, place) != 0;
        return std::string(value ? (scalar ? "True" : " True") : "False");
      };
    } else if constexpr (std::is_integral_v<T>) {
      int64_t width = 0;
      for (int64_t place : shown) {
        width = std::max(width, length(fmt::format("{}", element<T>(data, place))));
      }
      return [=](int64_t place) { return fmt::format("{:>{}}", element<T>(data, place), width); };
    } else {
      if (scalar) {
        return [=](int64_t place) {
          return scalar_text(static_cast<double>(element<T>(data, place)), dtype);
        };
      }
      std::vector<double> values;
      for (int64_t place : shown) values.push_back(static_cast<double>(element<T>(data, place)));
      return [=, format = FloatFormat(values, dtype, options)](int64_t place) {
        return format(static_cast<double>(element<T>(data, place)));
      };
    }
  });
}

class ArrayText {
 public:
  ArrayText(const Tensor& tensor, const PrintOptions& options)
      : shape_(tensor.shape()),
        options_(options),
        summarized_(tensor.num_elements() > options.threshold) {
    strides_.assign(static_cast<size_t>(shape_.rank()), 1);
    for (int64_t axis = shape_.rank() - 1; axis > 0; --axis) {
      strides_[static_cast<size_t>(axis) - 1] = strides_[static_cast<size_t>(axis)] * shape_[axis];
    }
    std::vector<int64_t> shown;
    collect(0, 0, shown);
    format_ = format_of(tensor.raw(), tensor.dtype(), shown, shape_.empty(), options);
  }

  std::string text() const { return write(0, 0, " ", options_.line_width); }

 private:
  static constexpr const char* kSummary = "...";

  bool is_cut(int64_t axis) const { return summarized_ && 2 * options_.edge_items < shape_[axis]; }

  // The indices of an axis that are shown; -1 marks an omitted range.
  std::vector<int64_t> shown_of(int64_t axis) const {
    std::vector<int64_t> indices;
    const int64_t size = shape_[axis];
    const int64_t edge = is_cut(axis) ? options_.edge_items : size;
    for (int64_t i = 0; i < edge; ++i) indices.push_back(i);
    if (!is_cut(axis)) return indices;
    indices.push_back(-1);
    const int64_t trailing = std::max<int64_t>(edge, 1);  // NumPy always shows the last
    for (int64_t i = size - trailing; i < size; ++i) indices.push_back(i);
    return indices;
  }

  void collect(int64_t axis, int64_t place, std::vector<int64_t>& shown) const {
    if (axis == shape_.rank()) return shown.push_back(place);
    for (int64_t i : shown_of(axis)) {
      if (i >= 0) collect(axis + 1, place + i * strides_[static_cast<size_t>(axis)], shown);
    }
  }

  std::string write(int64_t axis, int64_t place, const std::string& indent, int64_t width) const {
    const int64_t left = shape_.rank() - axis;
    if (left == 0) return format_(place);
    const int64_t stride = strides_[static_cast<size_t>(axis)];
    const std::vector<int64_t> indices = shown_of(axis);
    std::string text;
    if (left == 1) {
      std::string line = indent;
      for (size_t i = 0; i < indices.size(); ++i) {
        const std::string word = indices[i] < 0 ? kSummary : format_(place + indices[i] * stride);
        if (length(line) + length(word) > width - 1 && line.size() > indent.size()) {
          text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
          line = indent;
        }
        line += word;
        if (i + 1 < indices.size()) line += ' ';
      }
      text += line;
    } else {
      for (size_t i = 0; i < indices.size(); ++i) {
        text += indent + (indices[i] < 0 ? kSummary
                                         : write(axis + 1, place + indices[i] * stride,
                                                 indent + ' ', width - 1));
        if (i + 1 < indices.size()) text += std::string(static_cast<size_t>(left - 1), '\n');
      }
    }
    return '[' + text.substr(indent.size()) + ']';
  }

  Shape shape_;
  PrintOptions options_;
  bool summarized_;
  std::vector<int64_t> strides_;
  Format format_;
};

std::mutex options_mutex;
PrintOptions current_options;

}  // namespace

void set_print_options(const PrintOptions& options) {
  check<InvalidArgument>(options.precision >= 0 && options.threshold >= 0 &&
                             options.edge_items >= 0 && options.line_width >= 0,
                         "set_print_options: expected numbers from 0, got precision {}, threshold "
                         "{}, edge_items {} and line_width {}.",
                         options.precision, options.threshold, options.edge_items,
                         options.line_width);
  std::lock_guard lock(options_mutex);
  current_options = options;
}

PrintOptions print_options() {
  std::lock_guard lock(options_mutex);
  return current_options;
}

std::string array_to_string(const Tensor& tensor, const PrintOptions& options) {
  const Tensor there = tensor.host();
  return there.num_elements() == 0 ? "[]" : ArrayText(there, options).text();
}

std::string Tensor::to_string() const {
  if (!defined()) return "Tensor(undefined)";
  if (is_symbolic()) {
    return fmt::format("Tensor(shape={}, dtype={}, {})", shape(), dtype(),
                       impl().owner->describe(impl().symbol_id));
  }
  return fmt::format("Tensor({}{}, shape={}, dtype={})", rank() > 1 ? "\n" : "",
                     array_to_string(*this), shape(), dtype());
}

std::string Variable::to_string() const {
  if (!defined()) return "Variable(undefined)";
  const std::vector<Tensor> values = replica_values();
  if (values.size() > 1) {
    std::string text = fmt::format(
        "MirroredVariable(path={}, shape={}, dtype={}, replicas=", path(), shape(), dtype());
    for (size_t i = 0; i < values.size(); ++i) {
      text += fmt::format("\n{}: {}", i, array_to_string(values[i]));
    }
    return text + ")";
  }
  return fmt::format("Variable(path={}, shape={}, dtype={}, value={}{})", path(), shape(), dtype(),
                     rank() > 1 ? "\n" : "", array_to_string(stored()));
}

std::string Tensors::to_string() const {
  if (size() == 1 && !has_names()) return single().to_string();
  std::string text = has_names() ? "{" : "[";
  for (size_t i = 0; i < size(); ++i) {
    text += fmt::format("{}{}{}", i > 0 ? ",\n " : "", has_names() ? names_[i] + ": " : "",
                        tensors_[i].to_string());
  }
  return text + (has_names() ? "}" : "]");
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.to_string(); }
std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << device.to_string();
}
std::ostream& operator<<(std::ostream& out, DType dtype) { return out << to_string(dtype); }
std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  return out << tensor.to_string();
}
std::ostream& operator<<(std::ostream& out, const Tensors& tensors) {
  return out << tensors.to_string();
}
std::ostream& operator<<(std::ostream& out, const Variable& variable) {
  return out << variable.to_string();
}

}  // namespace cornu
