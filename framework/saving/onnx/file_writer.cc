// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "framework/core/strings.h"
#include "framework/core/utf8.h"
#include "framework/saving/onnx/graph_writer.h"

namespace cornu::onnx {
namespace {

constexpr size_t kShared = 64;  // equal constants of at most this many bytes are shared

std::string key_of(const Tensor& value) {
  return fmt::format("{} {} ", value.dtype(), value.shape()) +
         std::string(reinterpret_cast<const char*>(value.raw()), value.bytes());
}

}  // namespace

const std::string& writable(const std::string& name) {
  check<InvalidArgument>(is_utf8(name) && name.find('\0') == std::string::npos,
                         "ONNX: names in a file are UTF-8 text without zero bytes, got '{}'. Give "
                         "the model, layer, input or output another name.",
                         printable(name));
  return name;
}

std::string FileWriter::unique(const std::string& wanted) {
  std::string name = writable(wanted);
  for (int number = 1; !names_.insert(name).second; ++number) {
    name = fmt::format("{}_{}", wanted, number);
  }
  return name;
}

std::string FileWriter::constant(const Tensor& value, const std::string& wanted) {
  const std::string& own = constants_.name_of(value);
  const bool shared = own.empty() && value.bytes() <= kShared;
  std::string& name = shared ? by_value_[key_of(value)] : by_id_[value.id()];
  if (name.empty()) {
    name = unique(own.empty() ? wanted : own);
    graph_.initializers.push_back({name, value});
  }
  return name;
}

std::string FileWriter::integers(const std::vector<int64_t>& values) {
  return constant(Tensor::from(values), "integers");
}

std::string FileWriter::add(const char* op, Names inputs, std::string attributes) {
  const std::string name = unique(fmt::format("sizes/{}", op));
  graph_.nodes.push_back({op, name, std::move(inputs), {name}, std::move(attributes)});
  return name;
}

std::string FileWriter::axis_of(const std::string& value, size_t axis) {
  const auto begin = static_cast<int64_t>(axis);
  return add("Shape", {value}, integer("start", begin) + integer("end", begin + 1));
}

std::string FileWriter::written(const Formula& formula) {
  std::string result;
  for (const size_t axis : formula.axes) {
    const OpenAxis& open = axes_[axis];
    std::string& name = sizes_[open.size];
    if (name.empty()) {
      name = axis_of(graph_.inputs[open.input].name, static_cast<size_t>(open.axis));
    }
    result = result.empty() ? name : add("Mul", {result, name});
  }
  if (formula.factor != 1) result = add("Mul", {result, integers({formula.factor})});
  if (formula.offset != 0) result = add("Add", {result, integers({formula.offset})});
  return result;
}

std::optional<FileWriter::Formula> FileWriter::formula_of(const Size& size) const {
  const auto fits = [&size](const Size& product, int64_t factor, int64_t offset) {
    for (size_t i = 0; i < kTraces; ++i) {
      if (factor * product.by_trace[i] + offset != size.by_trace[i]) return false;
    }
    return true;
  };
  std::vector<std::pair<Size, std::vector<size_t>>> products;
  for (size_t i = 0; i < axes_.size(); ++i) products.push_back({axes_[i].size, {i}});
  for (size_t i = 0; i < axes_.size(); ++i) {
    for (size_t j = i; j < axes_.size(); ++j) {
      Size product;
      for (size_t k = 0; k < kTraces; ++k) {
        product.by_trace[k] = axes_[i].size.by_trace[k] * axes_[j].size.by_trace[k];
      }
      products.push_back({product, {i, j}});
    }
  }
  for (const bool with_offset : {false, true}) {
    for (const auto& [product, axes] : products) {
      const int64_t factor =
          (size.by_trace[1] - size.by_trace[0]) / (product.by_trace[1] - product.by_trace[0]);
      const int64_t offset = size.by_trace[0] - factor * product.by_trace[0];
      if (factor == 0 || (offset != 0) != with_offset) continue;
      if (fits(product, factor, offset)) return Formula{factor, axes, offset};
    }
  }
  return std::nullopt;
}

std::string FileWriter::size(const Size& size, const std::string& where) {
  if (size.fixed()) return integers({size.value()});
  if (const auto found = sizes_.find(size); found != sizes_.end()) return found->second;
  std::string name;
  if (const auto formula = formula_of(size)) {
    name = written(*formula);
  } else if (const auto known = known_.find(size); known != known_.end()) {
    name = axis_of(known->second.first, known->second.second);
  } else if (const auto factors = factors_of(size)) {
    name = add("Mul", {this->size(factors->first, where), this->size(factors->second, where)});
  } else {
    refuse_open_axes(
        where, fmt::format("{}, {} or {}", size.by_trace[0], size.by_trace[1], size.by_trace[2]));
  }
  return sizes_[size] = name;
}

bool FileWriter::can_write(const Size& size) const {
  return size.fixed() || sizes_.contains(size) || formula_of(size) || known_.contains(size) ||
         factors_of(size);
}

// For a size that is the product of a known size and another that can be written.
std::optional<std::pair<Size, Size>> FileWriter::factors_of(const Size& size) const {
  for (const auto& [factor, value] : known_) {
    Size other;
    bool divides = true;
    for (size_t i = 0; divides && i < kTraces; ++i) {
      divides = factor.by_trace[i] > 0 && size.by_trace[i] % factor.by_trace[i] == 0;
      if (divides) other.by_trace[i] = size.by_trace[i] / factor.by_trace[i];
    }
    if (divides && (other.fixed() || known_.contains(other))) return std::pair(factor, other);
  }
  return std::nullopt;
}

std::string FileWriter::sizes(const Sizes& list, const std::string& where) {
  if (all_fixed(list)) return integers(values_of(list));
  std::string& name = size_lists_[list];
  if (!name.empty()) return name;
  Names parts;
  for (size_t i = 0; i < list.size();) {
    size_t end = i;
    while (end < list.size() && list[end].fixed()) ++end;
    if (end > i) {
      parts.push_back(integers(values_of(
          {list.begin() + static_cast<int64_t>(i), list.begin() + static_cast<int64_t>(end)})));
      i = end;
    } else {
      parts.push_back(size(list[i++], where));
    }
  }
  name = parts.size() == 1 ? parts[0] : add("Concat", parts, onnx::integer("axis", 0));
  return name;
}

ProtoValue FileWriter::declared(const std::string& name, DType dtype, const Sizes& shape) const {
  ProtoValue value = {name, dtype, {}};
  for (const Size& size : shape) {
    const auto axis = std::ranges::find(axes_, size, &OpenAxis::size);
    if (size.fixed()) {
      value.sizes.emplace_back(size.value());
    } else {
      value.sizes.emplace_back(axis == axes_.end() ? std::string() : axis->name);
    }
  }
  return value;
}

void FileWriter::know(const std::string& name, const Sizes& shape) {
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis].fixed()) known_.try_emplace(shape[axis], name, axis);
  }
}

}  // namespace cornu::onnx
