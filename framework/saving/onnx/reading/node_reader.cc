// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/node_reader.h"

#include <algorithm>
#include <cmath>

#include "framework/core/checked.h"
#include "framework/core/strings.h"
#include "framework/graph/dispatch.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/keras_op.h"

namespace cornu::onnx::reading {
namespace {

Tensor first_along(const Tensor& x, const Ints& axes) {
  Tensor result = x;
  for (const int64_t axis : axes) result = ops::slice_axis(result, axis, 0, 1);
  return result;
}

Sizes shape_of(const ReadValue& value) {
  Sizes shape(static_cast<size_t>(value.known[0].rank()));
  for (size_t k = 0; k < kTraces; ++k) {
    check<InvalidArgument>(value.known[k].rank() == std::ssize(shape),
                           "a value has axes whose number follows sizes.");
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis].by_trace[k] = value.known[k].dim(static_cast<int64_t>(axis));
    }
  }
  return shape;
}

Sizes without_ones(Sizes sizes) {
  std::erase(sizes, Size(1));
  return sizes;
}

// Removes and inserts axes of size 1, which doesn't require sizes: adding a tensor with more axes
// inserts them in front.
Tensor with_ones(const Tensor& x, const Sizes& from, const Sizes& to) {
  Ints left_out, order;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] == Size(1)) left_out.push_back(static_cast<int64_t>(axis));
  }
  const Tensor y = left_out.empty() ? x : ops::squeeze(x, left_out);
  const auto rank = static_cast<int64_t>(to.size());
  int64_t one = 0, other = rank - y.rank();
  if (other == 0) return y;
  for (const Size& size : to) order.push_back(size == Size(1) ? one++ : other++);
  const Tensor zero = ops::zeros(Shape(Ints(to.size(), 1)), y.dtype());
  const bool truths = y.dtype() == DType::Bool;
  return ops::transpose(truths ? ops::logical_or(y, zero) : ops::add(y, zero), order);
}

}  // namespace

Shape along(int64_t axis, int64_t rank) {
  Shape shape(Ints(static_cast<size_t>(rank), 1));
  shape[axis] = kUnknown;
  return shape;
}

Tensor first_line(const Tensor& x, int64_t axis) {
  Tensor line = x;
  for (int64_t other = 0; other < x.rank(); ++other) {
    if (other != axis) line = ops::slice_axis(line, other, 0, 1);
  }
  return ops::reshape(line, {kUnknown});
}

Size product(const Sizes& sizes) {
  Size result(1);
  for (const Size& size : sizes) {
    for (size_t i = 0; i < kTraces; ++i) {
      result.by_trace[i] = checked_multiply(result.by_trace[i], size.by_trace[i], "its shape");
    }
  }
  return result;
}

std::string layer_dtype(const Tensor& x) {
  return to_string(is_floating(x.dtype()) ? x.dtype() : DType::Float32);
}

void NodeReader::refuse(std::string_view why) const { raise<Unimplemented>("{}", why); }

void NodeReader::refuse_constants() const {
  if (folds()) refuse("its operands are constants alone. Fold them before, as onnxsim does");
}

// ---- operands ----

Tensor NodeReader::in(size_t i) {
  check<InvalidArgument>(has(i), "expected at least {} inputs, got {}.", i + 1, count());
  const ReadValue& value = *operands_[i];
  if (!value.is_known()) return value.placeholder;
  if (folds() || !value.follows_sizes()) return known(i);
  return as_placeholder(value);
}

std::vector<Tensor> NodeReader::all_in() {
  std::vector<Tensor> result;
  for (size_t i = 0; i < count(); ++i) result.push_back(in(i));
  return result;
}

Tensor NodeReader::constant(size_t i) {
  check<InvalidArgument>(has(i), "expected at least {} inputs, got {}.", i + 1, count());
  if (!is_constant(i)) {
    refuse(
        fmt::format("its input '{}' must be a constant: a tensor of the file, or what is computed "
                    "of such alone",
                    printable(node_.inputs[i])));
  }
  return known(i);
}

Ints NodeReader::integers(size_t i) {
  const Tensor value = constant(i);
  check<InvalidArgument>(is_integer(value.dtype()) && value.rank() <= 1,
                         "expected a vector of integers as input {}, got {} {}.", i, value.dtype(),
                         value.shape());
  return ops::cast(value, DType::Int64).to_vector<int64_t>();
}

std::vector<double> NodeReader::numbers(size_t i) {
  return ops::cast(constant(i), DType::Float64).to_vector<double>();
}

double NodeReader::number(size_t i, double otherwise) {
  if (!has(i)) return otherwise;
  const std::vector<double> values = numbers(i);
  check<InvalidArgument>(values.size() == 1, "expected one number as input {}, got {}.", i,
                         values.size());
  return values[0];
}

int64_t NodeReader::whole_number(size_t i, int64_t otherwise) {
  if (!has(i)) return otherwise;
  constexpr double kMax = 0x1p53;  // beyond this, not all integers are floats
  const double given = number(i, 0);
  check<InvalidArgument>(given == std::trunc(given) && std::abs(given) <= kMax,
                         "expected a whole number as input {}, got {}.", i, given);
  return static_cast<int64_t>(given);
}

Size NodeReader::size(size_t i) {
  check<InvalidArgument>(has(i), "expected at least {} inputs, got {}.", i + 1, count());
  if (!is_known(i)) constant(i);  // throws
  check<InvalidArgument>(known(i).num_elements() == 1, "expected one number as input {}, got {}.",
                         i, known(i).shape());
  for (const Tensor& number : operands_[i]->known) {
    const auto given = number.item<double>();
    if (given != std::trunc(given) || std::abs(given) > 0x1p53) {
      refuse("it is given a number that isn't whole, and another that follows a size");
    }
  }
  return operands_[i]->number(0);
}

Sizes NodeReader::sizes(size_t i) {
  check<InvalidArgument>(has(i), "expected at least {} inputs, got {}.", i + 1, count());
  if (!is_known(i)) constant(i);  // throws
  const Sizes all = sizes_of(*operands_[i]);
  if (!folds()) return all;
  Sizes chosen;
  for (const Size& size : all) chosen.emplace_back(size.by_trace[choice_]);
  return chosen;
}

Sizes NodeReader::shape(size_t i) {
  check<InvalidArgument>(has(i), "expected at least {} inputs, got {}.", i + 1, count());
  if (!operands_[i]->is_known()) return model_.shapes().of(operands_[i]->placeholder);
  return shape_of(folds() ? ReadValue(known(i)) : *operands_[i]);
}

// ---- attributes ----

const FileAttribute* NodeReader::find(std::string_view name) const {
  const auto found = std::ranges::find(node_.attributes, name, &FileAttribute::name);
  return found == node_.attributes.end() ? nullptr : &*found;
}

const FileAttribute* NodeReader::find(std::string_view name, FileAttribute::Kind kind) const {
  const FileAttribute* found = find(name);
  check<InvalidArgument>(!found || found->kind == kind || found->kind == FileAttribute::Kind::None,
                         "its attribute '{}' is of another type than it should be.", name);
  return found;
}

int64_t NodeReader::integer(std::string_view name, int64_t otherwise) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Integer);
  return found ? found->integer : otherwise;
}

double NodeReader::number(std::string_view name, double otherwise) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Number);
  return found ? static_cast<double>(found->number) : otherwise;
}

std::string NodeReader::text(std::string_view name, const std::string& otherwise) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Text);
  return found ? found->text : otherwise;
}

std::string NodeReader::choice(std::string_view name, const std::vector<std::string>& known) {
  const std::string given = text(name, known[0]);
  check<InvalidArgument>(std::ranges::find(known, given) != known.end(), "unknown {} '{}'.{}", name,
                         printable(given), did_you_mean(given, known));
  return given;
}

Ints NodeReader::integers(std::string_view name, const Ints& otherwise) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Integers);
  return found ? found->integers : otherwise;
}

std::vector<float> NodeReader::numbers(std::string_view name) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Numbers);
  return found ? found->numbers : std::vector<float>();
}

std::vector<std::string> NodeReader::texts(std::string_view name) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Texts);
  return found ? found->texts : std::vector<std::string>();
}

Tensor NodeReader::tensor(std::string_view name) {
  const FileAttribute* found = find(name, FileAttribute::Kind::Tensor);
  return found ? found->tensor : Tensor();
}

std::optional<Ints> NodeReader::integers(size_t i, std::string_view name) {
  if (has(i)) return integers(i);
  if (has(name)) return integers(name);
  return {};
}

int64_t NodeReader::axis(int64_t value, int64_t rank) {
  check<InvalidArgument>(value >= -rank && value < rank,
                         "expected an axis of a tensor that has {}, got {}.", rank, value);
  return value < 0 ? value + rank : value;
}

// ---- results ----

void NodeReader::give_all(const std::vector<Tensor>& results) {
  results_.clear();
  for (const Tensor& result : results) {
    results_.push_back(result.defined() ? ReadValue(result) : ReadValue());
  }
}

std::string NodeReader::sharing_key(const std::string& class_name, const Json& config) const {
  std::string key = class_name + config.dump();
  const auto add = [&](std::string_view part) { key.append(1, '\0').append(part); };
  add(node_.op);
  add(node_.bytes);
  for (size_t i = 0; i < count(); ++i) add(is_known(i) ? node_.inputs[i] : "");
  add(bias_);
  return key;
}

Tensors NodeReader::layer(const std::string& class_name, Json config, const Tensors& inputs,
                          const NamedWeights& weights, const std::string& part) {
  const bool floats = is_floating(inputs[0].dtype()) || weights.empty();
  config.set("dtype", layer_dtype(floats ? inputs[0] : weights[0].second));
  // Normalizations that start out identical may diverge in training.
  const bool shared = !weights.empty() && !class_name.ends_with("Normalization");
  const std::string key = shared ? sharing_key(class_name, config) : "";
  const DeviceScope scope(folds() ? Device() : model_.device());
  const LayerHandle layer = model_.layer(key, class_name, std::move(config), part);
  const bool made = !layer.built();
  const Tensors result = layer(inputs);
  if (!made) return result;
  const std::vector<Variable> variables = layer.weights();  // including those of cells
  for (const auto& [name, value] : weights) {
    const auto found = std::ranges::find(variables, name, &Variable::name);
    CORNU_ASSERT(found != variables.end(), ==, true);
    const Variable& variable = *found;
    check<InvalidArgument>(value.shape() == variable.shape(),
                           "expected weights '{}' of shape {}, got {}.", name, variable.shape(),
                           value.shape());
    variable.store(ops::cast(value, variable.dtype()));
  }
  return result;
}

Tensors NodeReader::keras_op(const char* class_name, Json config,
                             const std::vector<Tensor>& operands) {
  const auto op = KerasOp::of(
      Json::object({{"class_name", class_name}, {"config", std::move(config)}}), operands);
  std::vector<Tensor> placeholders;
  for (const Tensor& operand : operands) {
    if (operand.defined() && is_placeholder(operand)) placeholders.push_back(operand);
  }
  if (placeholders.empty()) return op->call_list({}, {});
  return LayerHandle(op)(Tensors(std::move(placeholders)));
}

Tensor NodeReader::reshaped(const Tensor& x, const Sizes& to) {
  Shape shape;
  Ints open;
  for (const Size& size : to) {
    if (!size.fixed()) open.push_back(shape.rank());
    shape.push_back(size.fixed() ? size.value() : kUnknown);
  }
  if (open.size() <= 1) return ops::reshape(x, shape);
  if (const Tensor before = model_.before_rows(x); before.defined()) return reshaped(before, to);
  const Sizes from = model_.shapes().of(x);
  if (without_ones(from) == without_ones(to)) return with_ones(x, from, to);
  if (open.size() == 2) {
    if (const Tensor y = reshaped_around_open(x, from, to); y.defined()) return y;
  }
  refuse(fmt::format(
      "it makes a shape of {}, of which several sizes aren't known. Export the model for "
      "fixed sizes of all axes but the first",
      shape));
}

// If one of two open axes stays, with as many elements before and after it: moves that axis to the
// front, where Reshape keeps it. Otherwise undefined.
Tensor NodeReader::reshaped_around_open(const Tensor& x, const Sizes& from, const Sizes& to) {
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i].fixed()) continue;
    for (size_t j = 0; j < from.size(); ++j) {
      const auto first = [](const Sizes& sizes, size_t count) {
        return product(Sizes(sizes.begin(), sizes.begin() + static_cast<int64_t>(count)));
      };
      if (from[j] != to[i] || first(from, j) != first(to, i)) continue;
      Ints target;
      for (size_t axis = 0; axis < to.size(); ++axis) {
        if (axis != i) target.push_back(to[axis].fixed() ? to[axis].value() : kUnknown);
      }
      const Tensor moved = j == 0 ? x : ops::moveaxis(x, static_cast<int64_t>(j), 0);
      const Json config = Json::object({{"target_shape", target}});
      const Tensor y = layer("Reshape", config, moved, {}, "reshape").single();
      return i == 0 ? y : ops::moveaxis(y, 0, static_cast<int64_t>(i));
    }
  }
  return {};
}

const std::vector<OpenShapes::Axis>& NodeReader::open_axes() {
  OpenShapes& shapes = model_.shapes();
  for (const ReadValue* operand : operands_) {
    if (operand && !operand->is_known()) shapes.note(operand->placeholder);
  }
  return shapes.open_axes();
}

// Zeros with the size of an open axis.
Tensor NodeReader::line(const Size& size, DType dtype) {
  Tensor& made = model_.shapes().lines[size];
  if (!made.defined()) made = new_line(size);
  return dtype == DType::Int64 ? made : ops::cast(made, dtype);
}

Tensor NodeReader::new_line(const Size& size) {
  const auto& axes = open_axes();
  const auto found = std::ranges::find(axes, size, &OpenShapes::Axis::size);
  if (found == axes.end()) refuse_sizes();
  return ops::zeros_like(first_line(found->of, found->axis), DType::Int64);
}

Tensor NodeReader::number_of(const Size& number) {
  Tensor& made = model_.shapes().numbers[number];
  if (!made.defined()) made = new_number(number);
  return made;
}

Tensor NodeReader::new_number(const Size& number) {
  const auto& axes = open_axes();
  if (std::ranges::find(axes, number, &OpenShapes::Axis::size) != axes.end()) {
    return ops::sum(ops::ones_like(line(number, DType::Int64)));
  }
  for (const OpenShapes::Axis& axis : axes) {
    const auto& s = axis.size.by_trace;
    const auto& v = number.by_trace;
    const int64_t run = s[1] - s[0], rise = v[1] - v[0];
    if (run == 0 || rise % run != 0) continue;
    const int64_t slope = rise / run, added = v[0] - slope * s[0];
    if (slope * s[2] + added != v[2]) continue;
    const Tensor size = number_of(axis.size);
    const Tensor scaled = slope == 1 ? size : ops::multiply(size, slope);
    return added == 0 ? scaled : ops::add(scaled, added);
  }
  refuse_sizes();
}

void NodeReader::refuse_sizes() const {
  refuse(
      "it depends on the size of an axis that isn't known, in a way that can't be read. Export "
      "the model for fixed sizes of all axes but the first");
}

Tensor NodeReader::places(const Size& size, DType dtype) {
  const Tensor ones = ops::ones_like(line(size, DType::Int64));
  const Tensor counted = ops::subtract(ops::cumsum(ones, 0), 1);
  return dtype == DType::Int64 ? counted : ops::cast(counted, dtype);
}

Tensor NodeReader::places_along(const Size& size, int64_t axis, int64_t rank, DType dtype) {
  const Tensor counted = size.fixed() ? ops::arange(size.value(), dtype) : places(size, dtype);
  return ops::reshape(counted, along(axis, rank));
}

Tensor NodeReader::zeros(const Sizes& shape, DType dtype) {
  const auto rank = static_cast<int64_t>(shape.size());
  Shape fixed;
  for (const Size& size : shape) fixed.push_back(size.fixed() ? size.value() : 1);
  Tensor result = ops::zeros(fixed, dtype);
  for (int64_t axis = 0; axis < rank; ++axis) {
    const Size& size = shape[static_cast<size_t>(axis)];
    if (size.fixed()) continue;
    result = ops::add(result, ops::reshape(line(size, dtype), along(axis, rank)));
  }
  return result;
}

// Numbers that are constant along their open axes, or a single number that is linear in a size.
Tensor NodeReader::as_placeholder(const ReadValue& value) {
  const Tensor& first = value.known[0];
  if (first.dtype() == DType::Bool) {
    std::array<Tensor, kTraces> numbers;
    for (size_t i = 0; i < kTraces; ++i) numbers[i] = ops::cast(value.known[i], DType::Int32);
    return ops::cast(as_placeholder(ReadValue(std::move(numbers))), DType::Bool);
  }
  const Sizes shape = shape_of(value);
  Ints open;
  for (int64_t axis = 0; axis < first.rank(); ++axis) {
    if (!shape[static_cast<size_t>(axis)].fixed()) open.push_back(axis);
  }
  if (open.empty() && first.num_elements() == 1) {
    const Tensor number = number_of(value.number(0));
    return ops::cast(ops::reshape(number, first.shape()), first.dtype());
  }
  const Tensor corner = first_along(first, open);
  for (const Tensor& known : value.known) {
    if (!ops::all(ops::equal(known, corner)).item<bool>()) {
      refuse("what it reads follows the size of an axis that isn't known");
    }
  }
  return ops::add(corner, zeros(shape, first.dtype()));
}

Tensor NodeReader::take_bias(int64_t size) {
  if (node_.outputs.size() != 1) return {};
  const FileNode* reader = model_.only_reader(node_.outputs[0]);
  if (!reader || reader->op != "Add" || !reader->domain.empty() || reader->inputs.size() != 2 ||
      reader->outputs.size() != 1 || !reader->attributes.empty()) {
    return {};
  }
  const std::string& other = reader->inputs[reader->inputs[0] == node_.outputs[0] ? 1 : 0];
  const ReadValue* bias = model_.find(other);
  if (!bias || !bias->is_known() || bias->follows_sizes()) return {};
  const Tensor& value = bias->known[0];
  const bool is_vector = value.rank() >= 1 && value.shape().back() == size &&
                         value.num_elements() == size && is_floating(value.dtype());
  if (!is_vector || value.rank() > 1) return {};
  bias_ = other;
  giver_ = reader;
  model_.skip(*reader);
  return value;
}

}  // namespace cornu::onnx::reading
