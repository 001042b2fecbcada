// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/scatter.h"

#include <algorithm>
#include <optional>

#include "framework/core/error_place.h"
#include "framework/core/strings.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/register.h"
#include "framework/ops/shape.h"
#include "framework/ops/statistics.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Ints = std::vector<int64_t>;

Types infer_segment_reduce(TypeSpan inputs, const Attributes& attributes) {
  require_inputs(inputs, 2, "segment_reduce");
  require_index(inputs[0], "segment_reduce");
  const int64_t count = attributes.get_int("count");
  const std::string& kind = attributes.get_string("reduction");
  check<InvalidArgument>(kind == "max" || kind == "min" || kind == "prod",
                         "segment_reduce: unknown reduction '{}'.", kind);
  const Shape& data = inputs[1].shape;
  check<InvalidArgument>(
      data.rank() >= 1 && inputs[0].shape == data.slice(0, 1),
      "segment_{}: expected one segment id for each slice of data of shape {}, got shape {}.", kind,
      data, inputs[0].shape);
  check<InvalidArgument>(inputs[1].dtype != DType::Bool,
                         "segment_{}: expected numbers, got bool of shape {}. Cast it first.", kind,
                         data);
  const Shape shape = Shape{count}.concat(data.slice(1));
  require_sizes(shape, "segment_reduce");
  return {{inputs[1].dtype, shape}};
}

Tensor segment_reduce(const Tensor& data, const Tensor& ids, int64_t count,
                      const std::string& kind) {
  const Tensor numbers = data.dtype() == DType::Bool ? cast(data, DType::Int32) : data;
  const bool plain = ids.dtype() == DType::Int32 || !is_integer(ids.dtype());
  return call<"segment_reduce">({plain ? ids : cast(ids, DType::Int64), numbers},
                                {{"count", count}, {"reduction", kind}});
}

// Equal extremes share the gradient, as in TensorFlow. For a product, it is the product of the
// other factors: that of the non-zero ones, or 0 if another factor is 0.
Gradients vjp_segment_reduce(const VjpContext& c) {
  const Tensor& ids = c.in(0);
  const Tensor& data = c.in(1);
  const int64_t count = c.attributes.get_int("count");
  const Tensor dy = take(c.gradient(), ids, 0);
  if (c.attributes.get_string("reduction") != "prod") {
    const Tensor chosen = equal(data, take(c.out(), ids, 0));
    const Tensor shares = segment_sum(cast(chosen, data.dtype()), ids, count);
    return {Tensor(), where(chosen, dy / take(maximum(shares, 1), ids, 0), 0)};
  }
  const Tensor zero = equal(data, 0);
  const Tensor zeros = take(segment_sum(cast(zero, data.dtype()), ids, count), ids, 0);
  const Tensor factor = where(zero, 1, data);
  const Tensor product = take(segment_prod(factor, ids, count), ids, 0);
  const Tensor only_zero = logical_and(zero, equal(zeros, 1));
  return {Tensor(), dy * where(only_zero, product, where(equal(zeros, 0), product / factor, 0))};
}

// Positions in the flattened leading axes; for an out-of-range index, the number of positions.
struct Places {
  Tensor flat;     // of all updates, a vector
  int64_t count;   // number of positions
  Shape trailing;  // shape of the elements at each position
};

Places places_of(const Tensor& indices, const Shape& shape, std::string_view who) {
  require_defined(indices, who);
  check<InvalidArgument>(
      indices.rank() >= 1 && is_integer(indices.dtype()) && indices.dim(-1) <= shape.rank(),
      "{}: expected integer indices of shape (..., axes), at most {} axes for shape {}, got {} of "
      "shape {}.",
      who, shape.rank(), shape, indices.dtype(), indices.shape());
  require_static(indices, who);
  const int64_t depth = indices.dim(-1);
  const int64_t count = shape.slice(0, depth).num_elements();
  const Tensor rows = reshape(indices, {-1, depth});
  const Shape leading = shape.slice(0, depth);
  const Tensor places =
      at_once<"places">({rows}, {{"shape", leading.dims()}}, [&](const std::vector<Tensor>& in) {
        Tensor flat = zeros({in[0].dim(0)}, DType::Int64);
        Tensor valid = ones({in[0].dim(0)}, DType::Bool);
        for (int64_t axis = 0; axis < depth; ++axis) {
          const Tensor column = slice_axis(in[0], 1, axis, axis + 1);
          const Tensor index = cast(squeeze(column, 1), DType::Int64);
          valid = logical_and(valid, logical_and(index >= 0, index < leading[axis]));
          flat = flat * leading[axis] + index;
        }
        return where(valid, flat, count);
      });
  return {places, count, shape.slice(depth)};
}

// The updates with one row per position.
Tensor rows_of(const Tensor& updates, const Tensor& indices, const Places& places,
               std::string_view who) {
  const Shape expected = indices.shape().slice(0, indices.rank() - 1).concat(places.trailing);
  check<InvalidArgument>(updates.shape() == expected,
                         "{}: expected values of shape {} for indices of shape {}, got {}.", who,
                         expected, indices.shape(), updates.shape());
  return reshape(updates, Shape{places.flat.dim(0)}.concat(places.trailing));
}

// For each position, the sum of the rows that are added there.
Tensor sums_at(const Places& places, const Tensor& rows) {
  return call<"scatter_add">({places.flat, rows},
                             {{"shape", Shape{places.count}.concat(places.trailing).dims()},
                              {"axis", int64_t{0}},
                              {"segments", true}});
}

// For each position, the last of the rows that are written there; -1 if there is none.
Tensor last_rows(const Places& places) {
  const int64_t updates = places.flat.dim(0);
  return segment_max(arange(updates), places.flat, places.count);
}

Tensor replaced(const Tensor& rows, const Tensor& updates, const Places& places) {
  if (places.flat.dim(0) == 0) return rows;
  const Tensor last = last_rows(places);
  Shape column(Ints(static_cast<size_t>(rows.rank()), 1));
  column[0] = places.count;
  const Tensor written = reshape(last >= 0, column);
  return where(written, take(updates, maximum(last, 0), 0), rows);
}

// The start of a block along one axis, clamped such that the block is inside.
Tensor clamped_start(const Tensor& start, int64_t size, int64_t length) {
  return clip(cast(start, DType::Int64), 0, size - length);
}

void require_block(const Tensor& x, const Tensor& starts, const Ints& block, std::string_view who) {
  require_static(x, who);
  bool fits = static_cast<int64_t>(block.size()) == x.rank();
  for (size_t i = 0; fits && i < block.size(); ++i) {
    fits = block[i] >= 0 && block[i] <= x.dim(static_cast<int64_t>(i));
  }
  check<InvalidArgument>(fits && starts.shape() == Shape{x.rank()} && is_integer(starts.dtype()),
                         "{}: expected a block that fits into shape {} and one integer start for "
                         "each axis, got a block of {} and starts of {} {}.",
                         who, x.shape(), Shape(block), starts.dtype(), starts.shape());
}

// The start of a block along each axis, an int64 scalar.
std::vector<Tensor> starts_in(const Tensor& x, const Tensor& starts, const Ints& block,
                              std::string_view who) {
  require_block(x, starts, block, who);
  std::vector<Tensor> result;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Tensor start = squeeze(slice_axis(starts, 0, axis, axis + 1), 0);
    result.push_back(clamped_start(start, x.dim(axis), block[static_cast<size_t>(axis)]));
  }
  return result;
}

using SliceStarts = std::initializer_list<SliceStart>;

// The starts if all are numbers.
std::optional<Ints> numbers_of(SliceStarts starts) {
  Ints numbers;
  for (const SliceStart& start : starts) {
    if (!start.number()) return {};
    numbers.push_back(*start.number());
  }
  return numbers;
}

std::string listed_starts(SliceStarts starts) {
  std::vector<std::string> texts;
  for (const SliceStart& start : starts) {
    const Tensor* const tensor = start.tensor();
    texts.push_back(!tensor             ? std::to_string(*start.number())
                    : tensor->defined() ? fmt::format("{} {}", tensor->dtype(), tensor->shape())
                                        : "undefined");
  }
  return "(" + join(texts, ", ") + ")";
}

// As above; undefined for an axis that the block has as a whole.
std::vector<Tensor> starts_in(const Tensor& x, SliceStarts starts, const Ints& block,
                              std::string_view who) {
  bool fits = static_cast<int64_t>(starts.size()) == x.rank() && block.size() == starts.size();
  std::vector<Tensor> result;
  for (size_t i = 0; fits && i < starts.size(); ++i) {
    const int64_t* const number = starts.begin()[i].number();
    const int64_t size = x.dim(static_cast<int64_t>(i));
    result.emplace_back();
    if (number && *number == 0 && block[i] == size) continue;
    require_static(x, who);
    const int64_t room = block[i] < 0 ? -1 : size - block[i];
    if (number) {
      fits = *number >= 0 && *number <= room;
      result.back() = Tensor::scalar(*number);
    } else {
      const Tensor& start = *starts.begin()[i].tensor();
      fits = room >= 0 && start.defined() && start.rank() == 0 && is_integer(start.dtype());
      if (fits) result.back() = clamped_start(start, size, block[i]);
    }
  }
  check<InvalidArgument>(fits,
                         "{}: expected a block that lies within shape {}, and starts that are "
                         "numbers or integer tensors of shape (), got starts {} of a block of {}.",
                         who, x.shape(), listed_starts(starts), Shape(block));
  return result;
}

Tensor written_at(const Tensor& inputs, const std::vector<Tensor>& starts, const Tensor& updates) {
  if (updates.num_elements() == 0) return inputs.strong();
  Tensor spread = cast(updates, inputs.dtype());
  Tensor inside = true;
  for (int64_t axis = 0; axis < inputs.rank(); ++axis) {
    const Tensor& start = starts[static_cast<size_t>(axis)];
    if (!start.defined()) continue;
    const int64_t length = updates.dim(axis);
    const Tensor from = arange(inputs.dim(axis), DType::Int64) - start;
    spread = take(spread, clip(from, 0, length - 1), axis);
    Shape along(Ints(static_cast<size_t>(inputs.rank()), 1));
    along[axis] = inputs.dim(axis);
    const Tensor covered = logical_and(from >= 0, from < length);
    inside = logical_and(inside, reshape(covered, along));
  }
  return where(inside, spread, inputs);
}

Tensor read_at(const Tensor& x, const std::vector<Tensor>& starts, const Ints& shape) {
  Tensor result = x.strong();
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Tensor& start = starts[static_cast<size_t>(axis)];
    if (!start.defined()) continue;
    const int64_t length = shape[static_cast<size_t>(axis)];
    result = take(result, arange(length, DType::Int64) + start, axis);
  }
  return result;
}

}  // namespace

void register_scatter(OpRegistry& registry) {
  registry.add({.name = "segment_reduce",
                .infer = infer_segment_reduce,
                .vjp = vjp_segment_reduce,
                .traits = {.checks_values = true}});
}

Tensor segment_max(const Tensor& data, const Tensor& segment_ids, int64_t num_segments) {
  const ErrorPlace scope("segment_max");
  return segment_reduce(data, segment_ids, num_segments, "max");
}
Tensor segment_min(const Tensor& data, const Tensor& segment_ids, int64_t num_segments) {
  const ErrorPlace scope("segment_min");
  return segment_reduce(data, segment_ids, num_segments, "min");
}
Tensor segment_prod(const Tensor& data, const Tensor& segment_ids, int64_t num_segments) {
  const ErrorPlace scope("segment_prod");
  return segment_reduce(data, segment_ids, num_segments, "prod");
}

Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape) {
  if (values.dtype() == DType::Bool) {  // true if any value for a position is
    return cast(scatter(indices, cast(values, DType::Int32), shape), DType::Bool);
  }
  const Places places = places_of(indices, shape, "scatter");
  const Tensor rows = rows_of(values.strong(), indices, places, "scatter");
  return reshape(sums_at(places, rows), shape);
}

Tensor scatter_update(const Tensor& inputs, const Tensor& indices, const Tensor& updates,
                      const std::string& reduction) {
  const std::vector<std::string> known = {"", "add", "max", "min", "mul"};
  check<InvalidArgument>(std::count(known.begin(), known.end(), reduction) > 0,
                         "scatter_update: unknown reduction '{}'.{}", reduction,
                         did_you_mean(reduction, known));
  require_static(inputs, "scatter_update");
  if (inputs.dtype() == DType::Bool && !reduction.empty()) {
    const Tensor numbers = cast(cast(updates, DType::Bool), DType::Int32);
    return cast(scatter_update(cast(inputs, DType::Int32), indices, numbers, reduction),
                DType::Bool);
  }
  const Places places = places_of(indices, inputs.shape(), "scatter_update");
  const Tensor values = rows_of(cast(updates, inputs.dtype()), indices, places, "scatter_update");
  const Tensor rows = reshape(inputs.strong(), Shape{places.count}.concat(places.trailing));
  Tensor result;
  if (reduction.empty()) {
    result = replaced(rows, values, places);
  } else if (reduction == "add") {
    result = rows + sums_at(places, values);
  } else if (reduction == "max") {
    result = maximum(rows, segment_max(values, places.flat, places.count));
  } else if (reduction == "min") {
    result = minimum(rows, segment_min(values, places.flat, places.count));
  } else {
    result = rows * segment_prod(values, places.flat, places.count);
  }
  return reshape(result, inputs.shape());
}

Tensor slice_update(const Tensor& inputs, const Ints& start_indices, const Tensor& updates) {
  require_static(inputs, "slice_update");
  std::vector<std::pair<int64_t, int64_t>> widths;
  bool fits = static_cast<int64_t>(start_indices.size()) == inputs.rank() &&
              updates.rank() == inputs.rank();
  for (size_t i = 0; fits && i < start_indices.size(); ++i) {
    const auto axis = static_cast<int64_t>(i);
    const int64_t room = inputs.dim(axis) - updates.dim(axis);
    fits = start_indices[i] >= 0 && start_indices[i] <= room;
    widths.emplace_back(start_indices[i], room - start_indices[i]);
  }
  check<InvalidArgument>(
      fits, "slice_update: expected a block within shape {}, got start {} and updates of shape {}.",
      inputs.shape(), listed(start_indices), updates.shape());
  const Tensor inside = pad(ones(updates.shape(), DType::Bool), widths, false);
  return where(inside, pad(cast(updates, inputs.dtype()), widths), inputs);
}

namespace internal {

Tensor slice_update_at(const Tensor& inputs, const Tensor& start_indices, const Tensor& updates) {
  const auto starts = starts_in(inputs, start_indices, updates.shape().dims(), "slice_update");
  return written_at(inputs, starts, updates);
}

Tensor slice_at(const Tensor& x, const Tensor& start_indices, const Ints& shape) {
  return read_at(x, starts_in(x, start_indices, shape, "slice"), shape);
}

}  // namespace internal

Tensor slice_update(const Tensor& inputs, SliceStarts start_indices, const Tensor& updates) {
  if (const auto numbers = numbers_of(start_indices)) {
    return slice_update(inputs, *numbers, updates);
  }
  require_static(inputs, "slice_update");
  const auto starts = starts_in(inputs, start_indices, updates.shape().dims(), "slice_update");
  return written_at(inputs, starts, updates);
}

Tensor slice(const Tensor& x, SliceStarts start_indices, const Ints& shape) {
  if (const auto numbers = numbers_of(start_indices)) return slice(x, *numbers, shape);
  Ints sizes = shape;
  for (size_t i = 0; i < sizes.size() && i < start_indices.size(); ++i) {
    const int64_t* const number = start_indices.begin()[i].number();
    const auto axis = static_cast<int64_t>(i);
    if (sizes[i] != kUnknown || !number || axis >= x.rank()) continue;
    if (*number >= 0 && *number <= x.dim(axis)) sizes[i] = x.dim(axis) - *number;
  }
  return read_at(x, starts_in(x, start_indices, sizes, "slice"), sizes);
}

Tensor multi_hot(const Tensor& x, int64_t num_classes, int64_t axis, DTypeLike dtype) {
  check<InvalidArgument>(x.rank() >= 1,
                         "multi_hot: expected class numbers along an axis, got a "
                         "scalar.");
  return max(one_hot(x, num_classes, axis, dtype), x.rank() > 1 ? 1 : 0);
}

}  // namespace cornu::ops
