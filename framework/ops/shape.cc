// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "framework/core/error_place.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/indexing.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Ints = std::vector<int64_t>;

int64_t unknown_axes(const Shape& shape) {
  return std::count(shape.begin(), shape.end(), kUnknown);
}

size_t to_index(int64_t axis) { return static_cast<size_t>(axis); }

// The known size of a tensor's axis; the error names the op that needs it.
int64_t known_size(const Tensor& x, int64_t axis, std::string_view who) {
  check<InvalidArgument>(
      x.shape()[axis] != kUnknown,
      "{}: expected a known size of axis {}, got a placeholder of shape {}. Call "
      "it within a layer (in its call method), where it is known.",
      who, axis, x.shape());
  return x.shape()[axis];
}

// The result of an op that changes nothing: without a mask, like any op's result.
Tensor unchanged(const Tensor& x) {
  return x.mask().defined() ? x.strong().with_mask(Tensor()) : x.strong();
}

// The inferred axis of `target` for a tensor without rows: the size it has for any number of rows.
// kUnknown if that can't be determined.
int64_t size_within_rows(const Shape& from, const Shape& target) {
  Checked inner(1, "reshape");
  Checked known(1, "reshape");
  int64_t empty_axes = 0;
  for (const int64_t size : from) {
    if (size == 0) ++empty_axes;
    if (size > 0) inner = inner * size;
  }
  for (const int64_t size : target) {
    if (size == 0) --empty_axes;
    if (size > 0) known = known * size;
  }
  return empty_axes == 0 && inner % known == 0 ? inner / known : kUnknown;
}

// A bool tensor of x's shape that is true everywhere, for shapes that aren't known yet.
Tensor true_like(const Tensor& x) { return logical_or(equal(x, x), not_equal(x, x)); }

}  // namespace

Tensor reshape(const Tensor& x, const Shape& newshape) {
  Shape target = newshape;
  const int64_t open = unknown_axes(target);
  check<InvalidArgument>(open <= 1,
                         "reshape: expected at most one unknown axis (-1), got {} for a tensor of "
                         "shape {}. ops::expand_dims, ops::squeeze and ops::rearrange take any; or "
                         "call it within a layer (in its call method), where sizes are known.",
                         target, x.shape());
  if (x.shape().is_static()) {
    Checked known(1, "reshape");
    for (int64_t size : target) known = known * (size == kUnknown ? 1 : size);
    const int64_t count = x.num_elements();
    for (int64_t axis = 0; axis < target.rank(); ++axis) {
      if (target[axis] != kUnknown) continue;
      if (known > 0 && count % known == 0) target[axis] = count / known;
      if (known == 0 && count == 0) target[axis] = size_within_rows(x.shape(), target);
    }
    // Of the possible numbers of rows, some may fit: the op decides.
    check<InvalidArgument>((target.is_static() && target.num_elements() == count) ||
                               (open == 1 && is_inferring_types()),
                           "reshape: expected a shape of {} elements, as {} has, got {}.", count,
                           x.shape(), newshape);
    if (target == x.shape()) return unchanged(x);
  }
  return call<"reshape">({x}, {{"shape", target.dims()}});
}

Tensor ravel(const Tensor& x) { return reshape(x, {kUnknown}); }

Tensor transpose(const Tensor& x, const std::vector<int64_t>& axes) {
  Ints permutation(to_index(x.rank()));
  if (axes.empty()) {
    std::iota(permutation.rbegin(), permutation.rend(), 0);
  } else {
    const Ints sorted = Axes(axes).normalized(x.shape(), "transpose");
    check<InvalidArgument>(sorted.size() == permutation.size(),
                           "transpose: expected a permutation of {} axes for shape {}, got {}.",
                           x.rank(), x.shape(), Shape(axes));
    for (size_t i = 0; i < axes.size(); ++i) {
      permutation[i] = x.shape().normalize_axis(axes[i], "transpose");
    }
  }
  if (std::is_sorted(permutation.begin(), permutation.end())) return unchanged(x);
  return call<"transpose">({x}, {{"permutation", permutation}});
}

Tensor swapaxes(const Tensor& x, int64_t axis1, int64_t axis2) {
  const ErrorPlace scope("swapaxes");
  Ints permutation(to_index(x.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[to_index(x.shape().normalize_axis(axis1, "swapaxes"))],
            permutation[to_index(x.shape().normalize_axis(axis2, "swapaxes"))]);
  return transpose(x, permutation);
}

Tensor moveaxis(const Tensor& x, int64_t source, int64_t destination) {
  Ints permutation(to_index(x.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  const int64_t from = x.shape().normalize_axis(source, "moveaxis");
  const int64_t to = x.shape().normalize_axis(destination, "moveaxis");
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, permutation);
}

Tensor expand_dims(const Tensor& x, const Axes& axis) {
  const Ints given = axis.values();
  check<InvalidArgument>(!axis.all(), "expand_dims: expected an axis, got none.");
  Shape shape(Ints(to_index(x.rank()) + given.size(), 0));
  const Ints added = axis.normalized(shape, "expand_dims");
  if (unknown_axes(x.shape()) > 1 && is_open(x)) {  // can't be expressed as a reshape
    Tensor result = x.strong();
    for (int64_t one : added) {
      result =
          whole_of("expand_dims", result, {"numpy", "ExpandDims", Json::object({{"axis", one}})},
                   [one](const Tensor& in) { return expand_dims(in, one); });
    }
    return result;
  }
  for (int64_t one : added) shape[one] = 1;
  int64_t next = 0;
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 0) shape[i] = x.shape()[next++];
  }
  return reshape(x, shape);
}

Tensor squeeze(const Tensor& x, const Axes& axis) {
  Ints axes;
  for (int64_t i : axis.normalized(x.shape(), "squeeze")) {
    check<InvalidArgument>(axis.all() || x.shape()[i] == 1,
                           "squeeze: expected axes of size 1, got axis {} of shape {}.", i,
                           x.shape());
    if (x.shape()[i] == 1) axes.push_back(i);
  }
  if (unknown_axes(x.shape()) > 1 && is_open(x)) {
    Tensor result = x.strong();
    for (auto i = axes.rbegin(); i != axes.rend(); ++i) {
      result = whole_of("squeeze", result, {"numpy", "Squeeze", Json::object({{"axis", *i}})},
                        [one = *i](const Tensor& in) { return squeeze(in, one); });
    }
    return result;
  }
  Shape shape;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (!std::binary_search(axes.begin(), axes.end(), i)) shape.push_back(x.shape()[i]);
  }
  return reshape(x, shape);
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape && shape.is_static()) return unchanged(x);
  return call<"broadcast_to">({x}, {{"shape", shape.dims()}});
}

Tensor concatenate(const std::vector<Tensor>& xs, int64_t axis) {
  const ErrorPlace scope("concatenate");
  check<InvalidArgument>(!xs.empty(), "concatenate: expected at least one tensor, got none.");
  DType dtype = xs[0].dtype();
  for (const Tensor& x : xs) dtype = promote(dtype, x.dtype());
  std::vector<Tensor> parts;
  for (const Tensor& x : xs) parts.push_back(cast(x, dtype));
  const int64_t normalized = xs[0].shape().normalize_axis(axis, "concatenate");
  if (parts.size() == 1) return parts[0];
  return call<"concatenate">(parts, {{"axis", normalized}});
}

Tensor stack(const std::vector<Tensor>& xs, int64_t axis) {
  check<InvalidArgument>(!xs.empty(), "stack: expected at least one tensor, got none.");
  for (const Tensor& x : xs) {
    check<InvalidArgument>(x.rank() == xs[0].rank(),
                           "stack: expected tensors of one shape, got {} and {}.", xs[0].shape(),
                           x.shape());
  }
  if (any_placeholder(xs)) {  // a single op, as in Keras
    return whole_of("stack", xs, {"numpy", "Stack", Json::object({{"axis", axis}})},
                    [axis](const std::vector<Tensor>& in) { return stack(in, axis); });
  }
  std::vector<Tensor> parts;
  for (const Tensor& x : xs) parts.push_back(expand_dims(x, axis));
  return concatenate(parts, axis);
}

std::vector<Tensor> unstack(const Tensor& x, int64_t axis) {
  const int64_t normalized = x.shape().normalize_axis(axis, "unstack");
  const int64_t count = known_size(x, normalized, "unstack");
  require_few(count, "parts", "unstack");
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(squeeze(slice_axis(x, normalized, i, i + 1), normalized));
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& x, int64_t sections, int64_t axis) {
  const int64_t size = x.shape()[x.shape().normalize_axis(axis, "split")];
  const bool open = is_open(x, axis);
  // Of the possible sizes, some may fit.
  const bool may_fit = open || (is_inferring_types() && size == unknown_size());
  check<InvalidArgument>(sections > 0 && (size % sections == 0 || may_fit),
                         "split: expected a number of equal parts of axis {} of shape {}, got {}. "
                         "For unequal parts, give the places where they begin.",
                         axis, x.shape(), sections);
  require_few(sections, "parts", "split");
  if (open) {
    const Json config = Json::object({{"indices_or_sections", sections}, {"axis", axis}});
    return apply_whole("split", {x}, {"numpy", "Split", config},
                       [=](const std::vector<Tensor>& in) { return split(in[0], sections, axis); });
  }
  if (size % sections != 0) return std::vector<Tensor>(to_index(sections), x.strong());
  Ints indices;
  for (int64_t i = 1; i < sections; ++i) indices.push_back(i * (size / sections));
  return split(x, indices, axis);
}

std::vector<Tensor> split(const Tensor& x, const std::vector<int64_t>& indices, int64_t axis) {
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t end : indices) {
    parts.push_back(slice_axis(x, axis, begin, end));
    begin = end;
  }
  parts.push_back(slice_axis(x, axis, begin));
  return parts;
}

Tensor slice(const Tensor& x, const std::vector<int64_t>& start_indices,
             const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  Ints steps = strides;
  if (steps.empty()) steps.assign(start_indices.size(), 1);
  const auto rank = to_index(x.rank());
  check<InvalidArgument>(
      start_indices.size() == rank && shape.size() == rank && steps.size() == rank,
      "slice: expected start_indices, shape and strides of {} numbers for shape "
      "{}, got {}, {} and {}.",
      rank, x.shape(), listed(start_indices), Shape(shape), listed(steps));
  Ints sizes = shape;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = x.shape()[static_cast<int64_t>(i)];
    if (sizes[i] == kUnknown && size != kUnknown && steps[i] > 0) {
      const int64_t room = Checked(size, "slice") - start_indices[i];
      sizes[i] = room <= 0 ? 0 : (room - 1) / steps[i] + 1;
    }
    if (sizes[i] == 0 || sizes[i] == 1) steps[i] = std::min<int64_t>(steps[i], 1);  // no steps
  }
  return call<"slice">({x}, {{"begin", start_indices}, {"size", sizes}, {"strides", steps}});
}

Tensor slice_axis(const Tensor& x, int64_t axis, int64_t begin, std::optional<int64_t> end) {
  const int64_t normalized = x.shape().normalize_axis(axis, "slice_axis");
  if (is_open(x, normalized) && (begin < 0 || end.value_or(0) < 0)) {
    std::vector<Index> key(to_index(normalized), Slice());
    key.push_back(Slice(begin, end));
    return get_item(x, key);
  }
  auto place = [&](int64_t index) {
    return index < 0 ? index + known_size(x, normalized, "slice_axis") : index;
  };
  Ints starts(to_index(x.rank()), 0);
  Ints sizes(to_index(x.rank()), kUnknown);
  starts[to_index(normalized)] = place(begin);
  if (end) {
    const int64_t size = Checked(place(*end), "slice_axis") - place(begin);
    check<InvalidArgument>(size >= 0,
                           "slice_axis: expected begin <= end, got [{}, {}) of shape {}.", begin,
                           *end, x.shape());
    sizes[to_index(normalized)] = size;
  }
  if (x.shape().is_static() && place(begin) == 0 &&
      (!end || place(*end) == x.shape()[normalized])) {
    return x.strong();
  }
  return slice(x, starts, sizes);
}

Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const Tensor& constant_values) {
  check<InvalidArgument>(static_cast<int64_t>(pad_width.size()) == x.rank(),
                         "pad: expected {} pairs for shape {}, got {}.", x.rank(), x.shape(),
                         pad_width.size());
  Ints low;
  Ints high;
  for (const auto& [before, after] : pad_width) {
    low.push_back(before);
    high.push_back(after);
  }
  return call<"pad">({x, cast(constant_values, x.dtype())},
                     {{"low", low}, {"high", high}, {"interior", Ints(low.size(), 0)}});
}

namespace {

// x with `before` and `after` of its own elements added at the ends of one axis, mirrored.
Tensor mirrored(const Tensor& x, int64_t axis, std::pair<int64_t, int64_t> width, int64_t edge) {
  const auto [before, after] = width;
  if (before == 0 && after == 0) return x;
  const int64_t size = known_size(x, axis, "pad");
  check<InvalidArgument>(
      before >= 0 && after >= 0 && std::max(before, after) <= size - edge,
      "pad: expected from 0 to {} elements to be mirrored at the ends of axis {} of shape {} (mode "
      "\"{}\"), got {} and {}.",
      size - edge, axis, x.shape(), edge == 1 ? "reflect" : "symmetric", before, after);
  std::vector<Tensor> parts;
  if (before > 0) parts.push_back(flip(slice_axis(x, axis, edge, before + edge), axis));
  parts.push_back(x);
  if (after > 0) {
    parts.push_back(flip(slice_axis(x, axis, size - edge - after, size - edge), axis));
  }
  return concatenate(parts, axis);
}

}  // namespace

Tensor pad(const Tensor& x, const std::vector<std::pair<int64_t, int64_t>>& pad_width,
           const PadOptions& options) {
  if (options.mode == "constant") return pad(x, pad_width, options.constant_values);
  check<InvalidArgument>(
      options.mode == "reflect" || options.mode == "symmetric",
      "pad: expected mode \"constant\", \"reflect\" or \"symmetric\", got \"{}\".", options.mode);
  check<InvalidArgument>(static_cast<int64_t>(pad_width.size()) == x.rank(),
                         "pad: expected {} pairs for shape {}, got {}.", x.rank(), x.shape(),
                         pad_width.size());
  const bool is_mirrored_open = [&] {
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (pad_width[to_index(axis)] != std::pair<int64_t, int64_t>() && is_open(x, axis))
        return true;
    }
    return false;
  }();
  if (is_mirrored_open) {
    Json::Array widths;
    for (const auto& [before, after] : pad_width) widths.push_back(Json::array({before, after}));
    const Json config = Json::object({{"pad_width", std::move(widths)}, {"mode", options.mode}});
    return whole_of("mirrored_pad", x, {"numpy", "Pad", config},
                    [=](const Tensor& in) { return pad(in, pad_width, options); });
  }
  Tensor result = x.strong();
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    result = mirrored(result, axis, pad_width[to_index(axis)], options.mode == "reflect" ? 1 : 0);
  }
  return result;
}

Tensor flip(const Tensor& x, const Axes& axis) {
  const Ints axes = axis.normalized(x.shape(), "flip");
  return axes.empty() ? x.strong() : call<"reverse">({x}, {{"axes", axes}});
}

namespace {

// For a placeholder: axes of unknown size are kept.
Tensor tiled(const Tensor& x, const std::vector<int64_t>& repeats) {
  const int64_t first = x.rank() - std::ssize(repeats);
  bool known = first >= 0;
  for (int64_t axis = std::max<int64_t>(first, 0); known && axis < x.rank(); ++axis) {
    known = repeats[to_index(axis - first)] == 1 || x.shape()[axis] != kUnknown;
  }
  if (!known) {
    return whole_of("tile", x, {"numpy", "Tile", Json::object({{"repeats", repeats}})},
                    [=](const Tensor& in) { return tile(in, repeats); });
  }
  Tensor result = x.strong();
  for (int64_t axis = std::max<int64_t>(first, 0); axis < x.rank(); ++axis) {
    const int64_t copies = repeats[to_index(axis - first)];
    if (copies == 1) continue;
    const int64_t size = known_size(x, axis, "tile");
    const int64_t total = Checked(size, "tile") * copies;
    require_table(total);
    std::vector<int64_t> places(to_index(total));
    for (int64_t i = 0; i < total; ++i) places[to_index(i)] = i % size;
    result = take(result, Tensor::from(places), axis);
  }
  return result;
}

}  // namespace

Tensor tile(const Tensor& x, const std::vector<int64_t>& repeats) {
  check<InvalidArgument>(
      std::all_of(repeats.begin(), repeats.end(), [](int64_t n) { return n >= 0; }),
      "tile: expected repeats from 0, got {}.", Shape(repeats));
  if (!x.shape().is_static()) return tiled(x, repeats);
  const auto rank = std::max(repeats.size(), to_index(x.rank()));
  Ints copies(rank - repeats.size(), 1);
  copies.insert(copies.end(), repeats.begin(), repeats.end());
  Ints sizes(rank - to_index(x.rank()), 1);
  sizes.insert(sizes.end(), x.shape().begin(), x.shape().end());
  Shape apart;
  Shape repeated;
  Shape joined;
  for (size_t i = 0; i < rank; ++i) {
    apart = apart.concat({1, sizes[i]});
    repeated = repeated.concat({copies[i], sizes[i]});
    joined.push_back(Checked(copies[i], "tile") * sizes[i]);
  }
  return reshape(broadcast_to(reshape(x, apart), repeated), joined);
}

namespace {

int64_t total_of(const std::vector<int64_t>& repeats) {
  Checked total(0, "repeat");
  for (int64_t n : repeats) total = total + n;
  return total;
}

// Repeats element i of the axis repeats[i] times.
Tensor repeated(const Tensor& x, const std::vector<int64_t>& repeats, int64_t axis) {
  const int64_t total = total_of(repeats);
  require_table(total);
  std::vector<int64_t> places;
  places.reserve(to_index(total));
  for (size_t i = 0; i < repeats.size(); ++i) {
    places.insert(places.end(), to_index(repeats[i]), static_cast<int64_t>(i));
  }
  return take(x, Tensor::from(places), axis);
}

}  // namespace

Tensor repeat(const Tensor& x, int64_t repeats, std::optional<int64_t> axis) {
  check<InvalidArgument>(repeats >= 0, "repeat: expected repeats from 0, got {}.", repeats);
  if (!axis) return repeat(ravel(x), repeats, 0);
  const int64_t normalized = x.shape().normalize_axis(*axis, "repeat");
  if (is_open(x, normalized)) {
    const Json config = Json::object({{"repeats", repeats}, {"axis", normalized}});
    return whole_of("repeat", x, {"numpy", "Repeat", config},
                    [=](const Tensor& in) { return repeat(in, repeats, normalized); });
  }
  if (!x.shape().is_static()) {
    require_table(x.shape()[normalized]);
    return repeated(x, std::vector<int64_t>(to_index(x.shape()[normalized]), repeats), normalized);
  }
  const Shape before = x.shape().slice(0, normalized + 1);
  const Shape after = x.shape().slice(normalized + 1);
  Shape joined = x.shape();
  joined[normalized] = Checked(joined[normalized], "repeat") * repeats;
  const Tensor apart = reshape(x, before.concat({1}).concat(after));
  return reshape(broadcast_to(apart, before.concat({repeats}).concat(after)), joined);
}

Tensor repeat(const Tensor& x, const std::vector<int64_t>& repeats, std::optional<int64_t> axis) {
  if (repeats.size() == 1) return repeat(x, repeats[0], axis);
  if (!axis) return repeat(ravel(x), repeats, 0);
  const int64_t normalized = x.shape().normalize_axis(*axis, "repeat");
  if (is_open(x, normalized)) {
    const Json config = Json::object({{"repeats", one_or_list(repeats)}, {"axis", normalized}});
    return whole_of("repeat", x, {"numpy", "Repeat", config}, [=](const Tensor& in) {
      const bool inferred = is_inferring_types();  // with a size substituted for the unknown one
      return inferred ? repeat(slice_axis(in, normalized, 0, 1), total_of(repeats), normalized)
                      : repeat(in, repeats, normalized);
    });
  }
  const int64_t size = known_size(x, normalized, "repeat");
  check<InvalidArgument>(
      static_cast<int64_t>(repeats.size()) == size &&
          std::all_of(repeats.begin(), repeats.end(), [](int64_t n) { return n >= 0; }),
      "repeat: expected one number, or {} numbers from 0 for axis {} of shape {}, got {}.", size,
      normalized, x.shape(), listed(repeats));
  return repeated(x, repeats, normalized);
}

Tensor zeros(const Shape& shape, DTypeLike dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DTypeLike dtype) { return full(shape, 1, dtype); }

Tensor full(const Shape& shape, const Tensor& fill_value, std::optional<DTypeLike> dtype) {
  return broadcast_to(cast(fill_value, dtype.value_or(DType::Float32)), shape);
}

Tensor zeros_like(const Tensor& x, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("zeros_like");
  return full_like(x, 0, dtype);
}
Tensor ones_like(const Tensor& x, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("ones_like");
  return full_like(x, 1, dtype);
}

Tensor full_like(const Tensor& x, const Tensor& fill_value, std::optional<DTypeLike> dtype) {
  const ErrorPlace scope("full_like");
  const Tensor value = cast(fill_value, dtype.value_or(x.dtype()));
  const bool placeholder =
      x.is_symbolic() && !current_tracer();  // then the result must be one, too
  const bool constant = x.shape().is_static() && !placeholder;
  return constant ? broadcast_to(value, x.shape()) : where(true_like(x), value, value);
}

namespace {

// start + n * step, which an int64 holds although the product may not be held.
int64_t nth_after(int64_t start, int64_t step, uint64_t n) {
  return static_cast<int64_t>(static_cast<uint64_t>(start) + n * static_cast<uint64_t>(step));
}

void require_held(DType dtype, int64_t first, int64_t last) {
  const bool held = dispatch_dtype(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      return std::in_range<T>(first) && std::in_range<T>(last);
    }
    return true;
  });
  check<InvalidArgument>(held,
                         "arange: expected a dtype that holds the numbers from {} to {}, got {}. "
                         "Give it another, for example DType::Int64.",
                         first, last, dtype);
}

}  // namespace

Tensor arange(int64_t start, int64_t stop, int64_t step, DTypeLike dtype) {
  check<InvalidArgument>(step != 0, "arange: expected a step other than 0.");
  // Unsigned, so that the distance of any two numbers fits.
  const bool some = step > 0 ? start < stop : stop < start;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  const uint64_t count = some ? (distance - 1) / stride + 1 : 0;
  check<InvalidArgument>(count <= uint64_t{1} << 48,
                         "arange: expected a number of elements that memory can hold, got {}.",
                         count);
  if (count > 0) require_held(dtype, start, nth_after(start, step, count - 1));
  // In 16 bits, neither the step nor the index need be exact.
  const DType wide = promote(dtype, size_of(dtype) == 2 ? DType::Float32 : DType(dtype));
  Tensor result = call<"iota">(
      {}, {{"shape", Ints{static_cast<int64_t>(count)}}, {"axis", int64_t{0}}, {"dtype", wide}});
  // Unsigned numbers count down by wrapping around.
  const bool wraps = step < 0 && is_integer(wide) && !is_signed(wide);
  if (step != 1 && count > 1) {
    result = result * (wraps ? cast(Tensor(step), wide) : Tensor(step));
  }
  return cast(start == 0 || count == 0 ? result : result + start, dtype);
}

Tensor arange(double start, double stop, double step, DTypeLike dtype) {
  const double count = std::ceil((stop - start) / step);
  check<InvalidArgument>(
      step != 0 && count <= 0x1p48,
      "arange: expected numbers from {} to {} by a step other than 0, got a step "
      "of {}.",
      start, stop, step);
  Tensor values = Tensor::empty({static_cast<int64_t>(std::max(count, 0.0))}, DType::Float64);
  double place = 0;
  for (double& value : values.mutable_data<double>()) value = start + step * place++;
  return cast(values, dtype);
}

Tensor eye(int64_t n, DTypeLike dtype) {
  const ErrorPlace scope("eye");
  return one_hot(arange(n), n, -1, dtype);
}
Tensor eye(int64_t n, const EyeOptions& options) {
  const ErrorPlace scope("eye");
  const int64_t columns = options.m.value_or(n);
  check<InvalidArgument>(n >= 0 && columns >= 0, "eye: expected sizes from 0, got {} and {}.", n,
                         columns);
  const Tensor places = cast(arange(n), DType::Int64) + options.k;
  return one_hot(places, columns, -1, options.dtype);
}

}  // namespace cornu::ops
