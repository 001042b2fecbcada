// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/arrange.h"

#include <algorithm>

#include "framework/core/error_place.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/limits.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Ints = std::vector<int64_t>;

Tensor roll_axis(const Tensor& x, int64_t shift, int64_t axis) {
  const int64_t size = x.dim(axis);
  if (size == 0) return x.strong();
  const int64_t cut = (size - shift % size) % size;  // index of the new first element
  if (cut == 0) return x.strong();
  return concatenate({slice_axis(x, axis, cut), slice_axis(x, axis, 0, cut)}, axis);
}

// Adds axes of size 1 before (or after) those of x until it has `rank` axes.
Tensor at_least(const Tensor& x, int64_t rank) {
  Tensor result = x.strong();
  // dstack's rule: (n) -> (1, n, 1), (m, n) -> (m, n, 1)
  while (result.rank() < std::min<int64_t>(rank, 2)) result = expand_dims(result, 0);
  while (result.rank() < rank) result = expand_dims(result, -1);
  return result;
}

std::vector<Tensor> all_at_least(const std::vector<Tensor>& xs, int64_t rank) {
  std::vector<Tensor> result;
  for (const Tensor& x : xs) result.push_back(at_least(x, rank));
  return result;
}

void require_axes(const Tensor& x, int64_t least, std::string_view who) {
  check<InvalidArgument>(x.rank() >= least, "{}: expected at least {} axes, got shape {}.", who,
                         least, x.shape());
}

int64_t horizontal_axis(const Tensor& x, std::string_view who) {
  require_axes(x, 1, who);
  return x.rank() == 1 ? 0 : 1;
}

// Requires (batch, height, width, channels) with sizes that fit, as far as they are known.
void require_blocks(const Tensor& x, int64_t block_size, std::string_view who) {
  require_defined(x, who);
  constexpr int64_t kMax = 1 << 20;  // whose square doesn't overflow
  check<InvalidArgument>(block_size <= kMax, "{}: expected a block_size of at most {}, got {}.",
                         who, kMax, block_size);
  check<InvalidArgument>(x.rank() == 4 && block_size >= 1,
                         "{}: expected (batch, height, width, channels) and a block_size >= 1, got "
                         "shape {} and {}.",
                         who, x.shape(), block_size);
}

KerasForm form_of_blocks(const char* class_name, int64_t block_size) {
  return {"nn", class_name,
          Json::object({{"block_size", block_size}, {"data_format", "channels_last"}})};
}

}  // namespace

Tensor roll(const Tensor& x, const Axes& shift, const Axes& axis) {
  const ErrorPlace scope("roll");
  if (is_open(x)) {
    const Json config = Json::object({{"shift", one_or_list(shift.values())},
                                      {"axis", axis.all() ? Json() : one_or_list(axis.values())}});
    return whole_of("roll", x, {"numpy", "Roll", config},
                    [=](const Tensor& in) { return roll(in, shift, axis); });
  }
  const Ints shifts = shift.values();
  check<InvalidArgument>(!shifts.empty(), "roll: expected a shift, got none.");
  if (axis.all()) {
    Checked total(0, "roll");
    for (int64_t by : shifts) total = total + by;
    return reshape(roll_axis(ravel(x), total, 0), x.shape());
  }
  const Ints axes = axis.values();
  check<InvalidArgument>(shifts.size() == axes.size() || shifts.size() == 1 || axes.size() == 1,
                         "roll: expected one shift, or one for each of {} axes, got {}.",
                         axes.size(), shifts.size());
  Tensor result = x.strong();
  const size_t turns = axes.empty() ? 0 : std::max(axes.size(), shifts.size());
  for (size_t i = 0; i < turns; ++i) {
    result = roll_axis(result, shifts.size() == 1 ? shifts[0] : shifts[i],
                       x.shape().normalize_axis(axes.size() == 1 ? axes[0] : axes[i], "roll"));
  }
  return result;
}

Tensor rot90(const Tensor& x, int64_t k, std::pair<int64_t, int64_t> axes) {
  const ErrorPlace scope("rot90");
  require_axes(x, 2, "rot90");
  const int64_t first = x.shape().normalize_axis(axes.first, "rot90");
  const int64_t second = x.shape().normalize_axis(axes.second, "rot90");
  check<InvalidArgument>(first != second, "rot90: expected two different axes, got {} and {}.",
                         axes.first, axes.second);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return swapaxes(flip(x, second), first, second);
    case 2:
      return flip(x, {first, second});
    case 3:
      return flip(swapaxes(x, first, second), second);
    default:
      return x.strong();
  }
}

Tensor fliplr(const Tensor& x) {
  const ErrorPlace scope("fliplr");
  require_axes(x, 2, "fliplr");
  return flip(x, 1);
}
Tensor flipud(const Tensor& x) {
  const ErrorPlace scope("flipud");
  require_axes(x, 1, "flipud");
  return flip(x, 0);
}

Tensor moveaxis(const Tensor& x, const Ints& source, const Ints& destination) {
  check<InvalidArgument>(source.size() == destination.size(),
                         "moveaxis: expected as many destinations as sources, got {} and {}.",
                         Shape(destination), Shape(source));
  const Ints moved = Axes(source).normalized(x.shape(), "moveaxis");
  Axes(destination).normalized(x.shape(), "moveaxis");
  Ints order(static_cast<size_t>(x.rank()), -1);
  for (size_t i = 0; i < source.size(); ++i) {
    order[static_cast<size_t>(x.shape().normalize_axis(destination[i], "moveaxis"))] =
        x.shape().normalize_axis(source[i], "moveaxis");
  }
  int64_t next = 0;
  for (int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::binary_search(moved.begin(), moved.end(), next)) ++next;
    axis = next++;
  }
  return transpose(x, order);
}

Tensor append(const Tensor& x1, const Tensor& x2, std::optional<int64_t> axis) {
  const ErrorPlace scope("append");
  const auto [a, b] = unify(x1, x2, "append");
  return axis ? concatenate({a, b}, *axis) : concatenate({ravel(a), ravel(b)}, 0);
}

Tensor hstack(const std::vector<Tensor>& xs) {
  const ErrorPlace scope("hstack");
  const std::vector<Tensor> parts = all_at_least(xs, 1);
  return concatenate(parts, !parts.empty() && parts[0].rank() == 1 ? 0 : 1);
}
Tensor vstack(const std::vector<Tensor>& xs) {
  const ErrorPlace scope("vstack");
  return concatenate(all_at_least(xs, 2), 0);
}
Tensor dstack(const std::vector<Tensor>& xs) {
  const ErrorPlace scope("dstack");
  return concatenate(all_at_least(xs, 3), 2);
}

std::vector<Tensor> array_split(const Tensor& x, int64_t sections, int64_t axis) {
  const ErrorPlace scope("array_split");
  check<InvalidArgument>(sections >= 1, "array_split: expected at least 1 part, got {}.", sections);
  require_few(sections, "parts", "array_split");
  if (is_open(x, axis)) {
    const Json config = Json::object({{"indices_or_sections", sections}, {"axis", axis}});
    return apply_whole(
        "array_split", {x}, {"numpy", "ArraySplit", config},
        [=](const std::vector<Tensor>& in) { return array_split(in[0], sections, axis); });
  }
  const int64_t size = x.dim(axis);
  Ints indices;
  for (int64_t i = 1; i < sections; ++i) {
    indices.push_back(i * (size / sections) + std::min(i, size % sections));
  }
  return split(x, indices, axis);
}

std::vector<Tensor> array_split(const Tensor& x, const Ints& indices, int64_t axis) {
  const ErrorPlace scope("array_split");
  return split(x, indices, axis);
}

std::vector<Tensor> hsplit(const Tensor& x, int64_t sections) {
  const ErrorPlace scope("hsplit");
  return split(x, sections, horizontal_axis(x, "hsplit"));
}
std::vector<Tensor> hsplit(const Tensor& x, const Ints& indices) {
  const ErrorPlace scope("hsplit");
  return split(x, indices, horizontal_axis(x, "hsplit"));
}
std::vector<Tensor> vsplit(const Tensor& x, int64_t sections) {
  const ErrorPlace scope("vsplit");
  require_axes(x, 2, "vsplit");
  return split(x, sections, 0);
}
std::vector<Tensor> vsplit(const Tensor& x, const Ints& indices) {
  const ErrorPlace scope("vsplit");
  require_axes(x, 2, "vsplit");
  return split(x, indices, 0);
}
std::vector<Tensor> dsplit(const Tensor& x, int64_t sections) {
  const ErrorPlace scope("dsplit");
  require_axes(x, 3, "dsplit");
  return split(x, sections, 2);
}
std::vector<Tensor> dsplit(const Tensor& x, const Ints& indices) {
  const ErrorPlace scope("dsplit");
  require_axes(x, 3, "dsplit");
  return split(x, indices, 2);
}

std::vector<Tensor> unravel_index(const Tensor& indices, const Shape& shape) {
  check<InvalidArgument>(is_integer(indices.dtype()),
                         "unravel_index: expected integers, got {} of shape {}.", indices.dtype(),
                         indices.shape());
  const int64_t count = shape.num_elements();
  // Sizes may exceed the range of the dtype of the indices, which is also the result's.
  const Tensor places = indices.dtype() == DType::UInt64 ? indices : cast(indices, DType::Int64);
  Tensor left = where(places < 0, places + count, places);
  std::vector<Tensor> result(static_cast<size_t>(shape.rank()));
  for (int64_t axis = shape.rank(); axis-- > 0;) {
    result[static_cast<size_t>(axis)] = cast(mod(left, shape[axis]), indices.dtype());
    left = floor_divide(left, shape[axis]);
  }
  return result;
}

Tensor depth_to_space(const Tensor& x, int64_t block_size) {
  require_blocks(x, block_size, "depth_to_space");
  if (is_open(x)) {
    return whole_of("depth_to_space", x, form_of_blocks("DepthToSpace", block_size),
                    [=](const Tensor& in) { return depth_to_space(in, block_size); });
  }
  const Shape& shape = x.shape();
  const int64_t channels = shape[3] / (block_size * block_size);
  check<InvalidArgument>(channels * block_size * block_size == shape[3],
                         "depth_to_space: expected channels that {} (block_size squared) divides, "
                         "got shape {}.",
                         block_size * block_size, shape);
  const Tensor apart = reshape(x, {shape[0], shape[1], shape[2], block_size, block_size, channels});
  return reshape(transpose(apart, {0, 1, 3, 2, 4, 5}),
                 {shape[0], Checked(shape[1], "depth_to_space") * block_size,
                  Checked(shape[2], "depth_to_space") * block_size, channels});
}

Tensor space_to_depth(const Tensor& x, int64_t block_size) {
  require_blocks(x, block_size, "space_to_depth");
  if (is_open(x)) {
    return whole_of("space_to_depth", x, form_of_blocks("SpaceToDepth", block_size),
                    [=](const Tensor& in) { return space_to_depth(in, block_size); });
  }
  const Shape& shape = x.shape();
  // Of the unknown sizes, some may fit.
  const auto fits = [&](int64_t size) {
    return size % block_size == 0 || (is_inferring_types() && size == unknown_size());
  };
  check<InvalidArgument>(fits(shape[1]) && fits(shape[2]),
                         "space_to_depth: expected a height and width that block_size {} divides, "
                         "got shape {}.",
                         block_size, shape);
  const int64_t height = shape[1] / block_size;
  const int64_t width = shape[2] / block_size;
  const Tensor even =
      slice_axis(slice_axis(x, 1, 0, height * block_size), 2, 0, width * block_size);
  const Tensor apart = reshape(even, {shape[0], height, block_size, width, block_size, shape[3]});
  return reshape(
      transpose(apart, {0, 1, 3, 2, 4, 5}),
      {shape[0], height, width, Checked(shape[3], "space_to_depth") * block_size * block_size});
}

}  // namespace cornu::ops
