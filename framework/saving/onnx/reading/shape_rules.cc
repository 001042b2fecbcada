// SPDX-License-Identifier: Apache-2.0
// Operators that reshape or rearrange elements, or return sizes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "framework/core/checked.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

// ---- sizes ----

void give_sizes(NodeReader& n, const Sizes& sizes) {
  std::array<Tensor, kTraces> known;
  for (size_t i = 0; i < kTraces; ++i) {
    Ints values;
    for (const Size& size : sizes) values.push_back(size.by_trace[i]);
    known[i] = Tensor::from(values);
  }
  n.give_known(std::move(known));
}

void read_shape(NodeReader& n) {
  const Sizes shape = n.shape();
  if (!n.is_known(0)) n.model().shapes().note(n.in());
  const auto rank = static_cast<int64_t>(shape.size());
  const auto place = [&](const char* name, int64_t otherwise) {
    const int64_t given = n.integer(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t begin = place("start", 0), end = std::max(begin, place("end", rank));
  give_sizes(n, Sizes(shape.begin() + begin, shape.begin() + end));
}

void read_size(NodeReader& n) {
  const Size size = product(n.shape());
  std::array<Tensor, kTraces> known;
  for (size_t i = 0; i < kTraces; ++i) known[i] = Tensor::scalar(size.by_trace[i]);
  n.give_known(std::move(known));
}

// For a shape that is an input, for each choice of sizes.
Shape known_shape(NodeReader& n, size_t i) {
  const Ints sizes = n.integers(i);
  for (const int64_t size : sizes) {
    check<InvalidArgument>(size >= 0, "expected sizes from 0, got {}.", Shape(sizes));
  }
  return Shape(sizes);
}

// ---- constants ----

void read_constant(NodeReader& n) {
  if (const Tensor value = n.tensor("value"); value.defined()) return n.give(value);
  if (n.has("value_float")) {
    return n.give(Tensor::scalar(static_cast<float>(n.number("value_float", 0))));
  }
  if (n.has("value_int")) return n.give(Tensor::scalar(n.integer("value_int", 0)));
  if (n.has("value_floats")) return n.give(Tensor::from(n.numbers("value_floats")));
  if (n.has("value_ints")) return n.give(Tensor::from(n.integers("value_ints")));
  n.refuse("its value is a sparse tensor, or of texts");
}

void read_constant_of_shape(NodeReader& n) {
  Tensor value = n.tensor("value");
  if (!value.defined()) value = Tensor::scalar(0.0f);
  check<InvalidArgument>(value.num_elements() == 1, "expected a value of one element, got {}.",
                         value.shape());
  n.give(ops::broadcast_to(ops::reshape(value, Shape()), known_shape(n, 0)));
}

// Equidistant numbers, with as many elements as an open axis.
Tensor open_range(NodeReader& n) {
  const Size start = n.size(0), limit = n.size(1);
  const DType dtype = n.known_dtype(0);
  if (!n.is_constant(2)) n.refuse("its step follows the size of an axis that isn't known");
  const double given = n.number(2, 1);
  if (given < 1 || given > 0x1p53 || given != std::floor(given)) {
    n.refuse("its step isn't a whole number from 1, and its number of elements isn't known");
  }
  const auto step = static_cast<int64_t>(given);
  Size count;
  for (size_t k = 0; k < kTraces; ++k) {
    const int64_t distance = checked_subtract(limit.by_trace[k], start.by_trace[k], "a range");
    count.by_trace[k] = distance / step + (distance % step > 0 ? 1 : 0);
  }
  check<InvalidArgument>(!count.fixed() || count.value() >= 0,
                         "expected a limit from the start on, got a range of {} numbers.",
                         count.value());
  Tensor places = count.fixed() ? ops::arange(count.value(), dtype) : n.places(count, dtype);
  if (step != 1) places = ops::multiply(places, step);
  return start == Size(0) ? places : ops::add(places, n.in(0));
}

void read_range(NodeReader& n) {
  if (!n.folds()) return n.give(open_range(n));
  const Tensor start = n.constant(0), limit = n.constant(1), step = n.constant(2);
  if (is_integer(start.dtype())) {
    return n.give(ops::arange(start.item<int64_t>(), limit.item<int64_t>(), step.item<int64_t>(),
                              start.dtype()));
  }
  n.give(
      ops::arange(start.item<double>(), limit.item<double>(), step.item<double>(), start.dtype()));
}

// ---- other sizes ----

void read_identity(NodeReader& n) { n.give(n.in()); }

// The shape with all axes from the last open one on joined into one, if `to` additionally joins
// those before it, as is common for products with a matrix; otherwise empty.
Sizes before_rows(const Sizes& from, const Sizes& to) {
  if (to.size() != 2 || !to[1].fixed()) return {};
  const auto last =
      std::find_if(from.rbegin(), from.rend(), [](const Size& s) { return !s.fixed(); });
  const auto several = std::ranges::count_if(from, [](const Size& s) { return !s.fixed(); }) > 1;
  if (!several || product(Sizes(from.rbegin(), last)) != to[1]) return {};
  Sizes result(from.begin(), last.base());
  result.push_back(to[1]);
  return result;
}

void read_reshape(NodeReader& n) {
  const Tensor x = n.in();
  const Sizes from = n.shape();
  Sizes to;
  if (n.has(1)) {
    to = n.sizes(1);
  } else {
    for (const int64_t size : n.integers("shape")) to.emplace_back(size);
  }
  const bool keeps = n.integer("allowzero", 0) == 0;
  std::optional<size_t> open;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == Size(0) && keeps) {
      check<InvalidArgument>(i < from.size(), "its size {} is that of an axis that isn't there.",
                             i);
      to[i] = from[i];
    } else if (to[i] == Size(-1)) {
      check<InvalidArgument>(!open, "expected at most one size of -1.");
      open = i;
    }
  }
  if (open) {
    to[*open] = 1;
    const Size all = product(from), others = product(to);
    for (size_t k = 0; k < kTraces; ++k) {
      const int64_t rest = others.by_trace[k];
      check<InvalidArgument>(rest > 0 && all.by_trace[k] % rest == 0,
                             "{} elements can't have a shape with {} of all sizes but one.",
                             all.by_trace[k], rest);
      to[*open].by_trace[k] = all.by_trace[k] / rest;
    }
  }
  const Sizes before = n.folds() ? Sizes() : before_rows(from, to);
  if (before.empty()) return n.give(n.reshaped(x, to));
  const Tensor parted = before == from ? x : n.reshaped(x, before);
  const Tensor rows = n.reshaped(parted, to);
  n.model().set_before_rows(rows, parted);
  n.give(rows);
}

void read_flatten(NodeReader& n) {
  const Tensor x = n.in();
  const Sizes from = n.shape();
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = n.integer("axis", 1);
  if (axis != rank) axis = n.axis(axis, std::max<int64_t>(rank, 1));
  if (axis == 1 && rank > 1 && !n.folds()) {
    return n.give(n.layer("Flatten", Json::object(), x).single());
  }
  const auto middle = from.begin() + axis;
  n.give(n.reshaped(x, {product({from.begin(), middle}), product({middle, from.end()})}));
}

void read_squeeze(NodeReader& n) {
  const Tensor x = n.in();
  const std::optional<Ints> given = n.integers(1, "axes");
  Sizes to;
  if (!given || given->empty()) {
    for (const Size& size : n.shape()) {
      if (!size.fixed())
        n.refuse("it takes away all axes of size 1, and the size of one isn't known");
      if (size != Size(1)) to.push_back(size);
    }
    return n.give(n.reshaped(x, to));
  }
  n.give(ops::squeeze(x, *given));
}

void read_unsqueeze(NodeReader& n) {
  const Tensor x = n.in();
  const std::optional<Ints> given = n.integers(1, "axes");
  check<InvalidArgument>(given.has_value(), "expected axes, got none.");
  const Sizes from = n.shape();
  const auto rank = static_cast<int64_t>(from.size() + given->size());
  Sizes to(from.size() + given->size(), Size(kUnknown));
  for (const int64_t axis : *given) to[static_cast<size_t>(n.axis(axis, rank))] = 1;
  size_t next = 0;
  for (Size& size : to) {
    if (size != Size(kUnknown)) continue;
    check<InvalidArgument>(next < from.size(), "expected axes that differ, got {}.", Shape(*given));
    size = from[next++];
  }
  n.give(n.reshaped(x, to));
}

void read_transpose(NodeReader& n) { n.give(ops::transpose(n.in(), n.integers("perm"))); }

// Axes of size 1 take the other operand's size.
void read_expand(NodeReader& n) {
  const Tensor x = n.in();
  Sizes to = n.sizes(1);
  Sizes from = n.shape();
  const size_t rank = std::max(to.size(), from.size());
  to.insert(to.begin(), rank - to.size(), Size(1));
  from.insert(from.begin(), rank - from.size(), Size(1));
  Sizes added(rank, Size(1));
  bool same = rank == static_cast<size_t>(x.rank());
  Shape result;
  for (size_t i = 0; i < rank; ++i) {
    if (to[i] == Size(1)) to[i] = from[i];
    check<InvalidArgument>(from[i] == to[i] || from[i] == Size(1),
                           "axis {} has not the size that it is expanded to, and isn't 1.", i);
    if (from[i] != to[i]) added[i] = to[i];
    same = same && from[i] == to[i];
    result.push_back(to[i].value());
  }
  if (same) return n.give(x);
  if (!is_placeholder(x)) return n.give(ops::broadcast_to(x, result));
  const Tensor zeros = n.zeros(added, x.dtype() == DType::Bool ? DType::Int32 : x.dtype());
  if (x.dtype() != DType::Bool) return n.give(ops::add(x, zeros));
  n.give(ops::logical_or(x, ops::cast(zeros, DType::Bool)));
}

void read_tile(NodeReader& n) {
  const Tensor x = n.in();
  const Ints repeats = n.integers(1);
  check<InvalidArgument>(static_cast<int64_t>(repeats.size()) == x.rank(),
                         "expected {} repeats, got {}.", x.rank(), repeats.size());
  n.give(ops::tile(x, repeats));
}

void read_concat(NodeReader& n) {
  check<InvalidArgument>(n.count() > 0, "expected at least one input, got none.");
  const auto rank = static_cast<int64_t>(n.shape().size());
  const int64_t axis = n.axis(n.integer("axis", 1), rank);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < n.count(); ++i) {
    const Sizes shape = n.shape(i);
    const bool empty =
        std::ssize(shape) == rank && shape[static_cast<size_t>(axis)] == Size(0) && !n.folds();
    if (!empty || (parts.empty() && i + 1 == n.count())) parts.push_back(n.in(i));
  }
  n.give(ops::concatenate(parts, axis));
}

// ---- parts ----

void read_split(NodeReader& n) {
  const Tensor x = n.in();
  const int64_t axis = n.axis(n.integer("axis", 0), x.rank());
  const auto count = static_cast<int64_t>(n.node().outputs.size());
  const int64_t size = x.dim(axis);
  Ints sizes;
  if (const std::optional<Ints> given = n.integers(1, "split")) {
    sizes = *given;
  } else {
    if (size == kUnknown) n.refuse("it splits an axis of unknown size into equal parts");
    const int64_t part = (size + count - 1) / std::max<int64_t>(count, 1);
    for (int64_t i = 0; i < count; ++i) {
      sizes.push_back(std::clamp<int64_t>(size - i * part, 0, part));
    }
  }
  check<InvalidArgument>(std::ssize(sizes) == count, "expected {} parts, got sizes of {}.", count,
                         sizes.size());
  std::vector<Tensor> parts;
  Checked begin(0, "its parts");
  for (const int64_t part : sizes) {
    check<InvalidArgument>(part >= 0, "expected parts of sizes from 0, got {}.", part);
    const int64_t end = begin + part;
    check<InvalidArgument>(size == kUnknown || end <= size,
                           "its parts are larger than axis {} of {}.", axis, x.shape());
    parts.push_back(ops::slice_axis(x, axis, begin, end));
    begin = begin + part;
  }
  n.give_all(parts);
}

struct Range {
  int64_t axis = 0;
  Size begin = 0, end = 0;
  int64_t step = 1;
};

std::vector<Range> ranges_of(NodeReader& n, int64_t rank) {
  const bool inputs = n.opset() >= 10;
  const auto listed = [&](size_t i, const char* name) {
    if (inputs) return n.sizes(i);
    Sizes sizes;
    for (const int64_t value : n.integers(name)) sizes.emplace_back(value);
    return sizes;
  };
  const Sizes begins = listed(1, "starts"), ends = listed(2, "ends");
  Ints axes, steps;
  if (inputs ? n.has(3) : n.has("axes")) {
    axes = inputs ? n.integers(3) : n.integers("axes");
  } else {
    axes.resize(begins.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (n.has(4)) steps = n.integers(4);
  if (steps.empty()) steps.assign(axes.size(), 1);
  check<InvalidArgument>(
      begins.size() == ends.size() && begins.size() == axes.size() && steps.size() == axes.size(),
      "expected as many starts, ends, axes and steps, got {}, {}, {} and {}.", begins.size(),
      ends.size(), axes.size(), steps.size());
  std::vector<Range> ranges;
  for (size_t i = 0; i < axes.size(); ++i) {
    check<InvalidArgument>(steps[i] != 0, "expected steps other than 0.");
    ranges.push_back({n.axis(axes[i], rank), begins[i], ends[i], steps[i]});
  }
  return ranges;
}

// `size` elements starting at `begin`, or all elements up to the end, whatever the size.
struct Part {
  int64_t begin = 0;
  int64_t size = kUnknown;
};

Part clamped(const Range& range, int64_t size, size_t choice) {
  const auto place = [&](int64_t value) {
    const int64_t from_front = value < 0 ? checked_add(value, size, "a slice") : value;
    return range.step > 0 ? std::clamp<int64_t>(from_front, 0, size)
                          : std::clamp<int64_t>(from_front, -1, size - 1);
  };
  const int64_t begin = place(range.begin.by_trace[choice]);
  const int64_t end =
      range.step < 0 && range.end.by_trace[choice] < -size ? -1 : place(range.end.by_trace[choice]);
  const int64_t distance = range.step > 0 ? end - begin : begin - end;
  const int64_t stride = range.step > 0 ? range.step : -std::max(range.step, -(int64_t{1} << 62));
  return {begin, distance <= 0 ? 0 : (distance - 1) / stride + 1};
}

// The range in a form that is the same for all sizes: at a fixed distance from the start of the
// axis, or from its end if `from_end`. nullopt if there is none.
std::optional<Part> part_of_open(const Range& range, const Size& size, bool from_end) {
  Part part;
  bool same_begin = true, same_size = true, to_end = range.step == 1;
  for (size_t k = 0; k < kTraces; ++k) {
    const Part one = clamped(range, size.by_trace[k], k);
    const int64_t behind = size.by_trace[k] - one.begin - one.size;
    const int64_t begin = from_end ? behind : one.begin;
    if (k == 0) part = {begin, one.size};
    same_begin = same_begin && begin == part.begin;
    same_size = same_size && one.size == part.size;
    to_end = to_end && (from_end ? one.begin : behind) == 0;
  }
  if (to_end) part.size = kUnknown;
  if (!same_begin || !(same_size || to_end) || range.step < 0) return {};
  if (from_end && range.step != 1) return {};
  return part;
}

// Whether the range is the whole axis in reverse, whatever the size.
bool reverses(const Range& range, const Size& size) {
  bool all = range.step == -1;
  for (size_t k = 0; k < kTraces; ++k) {
    all = all && clamped(range, size.by_trace[k], k).size == size.by_trace[k];
  }
  return all;
}

bool is_negative_size(NodeReader& n, const Size& place) {
  return std::ranges::any_of(n.model().shapes().open_axes(), [&](const OpenShapes::Axis& axis) {
    bool same = true;
    for (size_t k = 0; k < kTraces; ++k) {
      same = same && axis.size.by_trace[k] == -place.by_trace[k];
    }
    return same;
  });
}

// Whether a position is within the axis for each of these sizes; or, if not, beyond its end or
// start for all sizes. A position that depends on sizes mustn't be negative for some of them.
bool is_reached(NodeReader& n, const Size& place, const Size& size) {
  constexpr int64_t kEndless = std::numeric_limits<int32_t>::max();
  if (place.fixed() && (place.value() >= kEndless || place.value() <= -kEndless)) return true;
  bool inside = true;
  Size beyond;
  const bool may_be_negative = place.fixed() || is_negative_size(n, place);
  for (size_t k = 0; k < kTraces; ++k) {
    beyond.by_trace[k] = checked_subtract(place.by_trace[k], size.by_trace[k], "a slice");
    const int64_t least = may_be_negative ? -size.by_trace[k] : 0;
    inside = inside && beyond.by_trace[k] <= 0 && place.by_trace[k] >= least;
  }
  return inside || (beyond.fixed() && beyond.value() >= 0);
}

// Whether the start is before or after the end for all sizes.
bool is_in_order(const Range& range, const Size& size) {
  if (range.step < 0) return true;
  const auto from_front = [&](const Size& place, size_t k) {
    const int64_t value = place.by_trace[k];
    return value < 0 ? checked_add(value, size.by_trace[k], "a slice") : value;
  };
  bool forwards = true;
  for (size_t k = 0; k < kTraces; ++k) {
    forwards = forwards && from_front(range.begin, k) <= from_front(range.end, k);
  }
  const bool fixed = range.begin.fixed() && range.end.fixed();
  return forwards || (fixed && (range.begin.value() < 0) == (range.end.value() < 0));
}

Tensor sliced(NodeReader& n, const Tensor& x, const Range& range, const Size& size) {
  const auto rank = static_cast<size_t>(x.rank());
  const auto axis = static_cast<size_t>(range.axis);
  Ints begins(rank, 0), sizes(rank, kUnknown), steps(rank, 1);
  for (size_t i = 0; i < rank; ++i) sizes[i] = x.dim(static_cast<int64_t>(i));
  if (!size.fixed()) {
    if (!is_reached(n, range.begin, size) || !is_reached(n, range.end, size) ||
        !is_in_order(range, size)) {
      n.refuse("it takes a part of an axis of unknown size that may end before the part does");
    }
    if (reverses(range, size)) return ops::flip(x, range.axis);
    const std::optional<Part> front = part_of_open(range, size, false);
    const std::optional<Part> part = front ? front : part_of_open(range, size, true);
    if (!part) n.refuse("it takes a part of an axis of unknown size that follows this size");
    if (part->begin == 0 && part->size == kUnknown) return x;
    begins[axis] = part->begin;
    sizes[axis] = part->size;
    steps[axis] = range.step;
    if (front) return ops::slice(x, begins, sizes, steps);
    return ops::flip(ops::slice(ops::flip(x, range.axis), begins, sizes, steps), range.axis);
  }
  const Part part = clamped(range, size.value(), 0);
  if (part.begin == 0 && part.size == size.value() && range.step == 1) return x;
  sizes[axis] = part.size;
  begins[axis] = part.size == 0 ? 0 : part.begin;
  steps[axis] = range.step;
  if (range.step > 0) return ops::slice(x, begins, sizes, steps);
  begins[axis] = part.size == 0 ? 0 : size.value() - 1 - part.begin;
  steps[axis] = -std::max(range.step, -size.value() - 1);
  return ops::slice(ops::flip(x, range.axis), begins, sizes, steps);
}

// Takes as many elements as another axis of unknown size has.
Tensor as_many(NodeReader& n, const Tensor& x, const Range& range, int64_t size) {
  const int64_t begin = clamped(range, size, 0).begin;
  Size count;
  bool fits = range.step == 1 && is_in_order(range, size);
  for (size_t k = 0; k < kTraces; ++k) {
    const Part part = clamped(range, size, k);
    check<InvalidArgument>(range.end.by_trace[k] <= size,
                           "it takes as many elements of an axis as another one has, of which it "
                           "has {}.",
                           size);
    fits = fits && part.begin == begin && range.end.by_trace[k] >= 0;
    count.by_trace[k] = part.size;
  }
  if (!fits) n.refuse("it takes a part that follows the size of another axis");
  if (count.fixed()) return ops::slice_axis(x, range.axis, begin, begin + count.value());
  return ops::take(x, ops::add(n.places(count, DType::Int64), begin), range.axis);
}

void read_slice(NodeReader& n) {
  Tensor x = n.in();
  const Sizes shape = n.shape();
  std::vector<bool> known(shape.size());
  for (const Range& range : ranges_of(n, x.rank())) {
    const auto axis = static_cast<size_t>(range.axis);
    check<InvalidArgument>(!known[axis], "expected axes that differ, got {} twice.", axis);
    known[axis] = true;
    if (shape[axis].fixed() && !(range.begin.fixed() && range.end.fixed())) {
      x = as_many(n, x, range, shape[axis].value());
      continue;
    }
    x = sliced(n, x, range, shape[axis]);
  }
  n.give(x);
}

void read_trilu(NodeReader& n) {
  const int64_t k = n.whole_number(1, 0);
  const char* name = n.integer("upper", 1) != 0 ? "Triu" : "Tril";
  n.give(n.keras_op(name, Json::object({{"k", k}}), {n.in()}).single());
}

const Rule kRulesOfShapes[] = {
    {"Concat", read_concat},
    {"Constant", read_constant},
    {"ConstantOfShape", read_constant_of_shape},
    {"Expand", read_expand},
    {"Flatten", read_flatten},
    {"Identity", read_identity},
    {"Range", read_range},
    {"Reshape", read_reshape},
    {"Shape", read_shape},
    {"Size", read_size},
    {"Slice", read_slice},
    {"Split", read_split},
    {"Squeeze", read_squeeze},
    {"Tile", read_tile},
    {"Transpose", read_transpose},
    {"Trilu", read_trilu},
    {"Unsqueeze", read_unsqueeze},
};

}  // namespace

std::span<const Rule> shape_rules() { return kRulesOfShapes; }

}  // namespace cornu::onnx::reading
