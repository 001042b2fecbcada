// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/indexing.h"

#include <algorithm>
#include <limits>

#include "framework/core/tensors.h"
#include "framework/core/variable.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"

namespace cornu {
namespace {

using Ints = std::vector<int64_t>;

// ---- masks ----

// The positions where `mask` is true: one tensor of numbers per axis.
std::vector<Tensor> places_of(const Tensor& mask) {
  check<FailedPrecondition>(
      !mask.is_symbolic(),
      "get_item: what the mask {} selects depends on its values, which aren't known here. Use "
      "ops::where, or multiply by the mask.",
      mask);
  const auto rank = static_cast<size_t>(mask.rank());
  std::vector<std::vector<int64_t>> places(rank);
  const std::span<const bool> values = mask.data<bool>();
  Ints at(rank, 0);
  for (bool value : values) {
    for (size_t axis = 0; value && axis < rank; ++axis) places[axis].push_back(at[axis]);
    for (size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < mask.dim(static_cast<int64_t>(axis))) break;
      at[axis] = 0;
    }
  }
  std::vector<Tensor> result;
  for (const auto& axis : places) result.push_back(Tensor::from(axis));
  return result;
}

// ---- the key, with one entry per axis ----

// New axes, and an ellipsis that represents no axes (it separates the tensors on either side).
bool has_no_axis(const Index& entry) { return entry.is_newaxis() || entry.is_ellipsis(); }

// Expands the key to one entry (number, slice or tensor of numbers) per axis of x, and some without
// an axis.
std::vector<Index> spelled_out(const Tensor& x, const std::vector<Index>& key) {
  int64_t used = 0;
  int64_t open = 0;
  bool gathers = false;
  for (const Index& index : key) {
    const Tensor* tensor = index.tensor();
    const bool is_mask = tensor && tensor->dtype() == DType::Bool;
    check<InvalidArgument>(!is_mask || tensor->rank() > 0,
                           "get_item: expected a mask of at least one axis, got a scalar.");
    used += is_mask ? tensor->rank() : (index.is_ellipsis() || index.is_newaxis() ? 0 : 1);
    open += index.is_ellipsis() ? 1 : 0;
    gathers = gathers || tensor;
  }
  check<InvalidArgument>(open <= 1, "get_item: expected at most one ellipsis, got {}.", open);
  check<OutOfRange>(used <= x.rank(), "get_item: expected at most {} indices for shape {}, got {}.",
                    x.rank(), x.shape(), used);
  std::vector<Index> result;
  auto append_whole = [&] {
    result.insert(result.end(), static_cast<size_t>(x.rank() - used), Slice());
  };
  int64_t axis = 0;
  for (const Index& index : key) {
    const Tensor* tensor = index.tensor();
    if (index.is_ellipsis()) {
      if (used == x.rank()) result.push_back(index);
      append_whole();
      axis += x.rank() - used;
    } else if (tensor && tensor->dtype() == DType::Bool) {
      const Shape expected = x.shape().slice(axis, axis + tensor->rank());
      check<InvalidArgument>(tensor->shape() == expected,
                             "get_item: expected a mask of shape {}, the axes from {} on of {}, "
                             "got {}.",
                             expected, axis, x.shape(), tensor->shape());
      for (const Tensor& places : places_of(*tensor)) result.emplace_back(places);
      axis += tensor->rank();
    } else {
      // Combined with tensors, a number is treated as a tensor, as in NumPy.
      result.push_back(gathers && index.number() ? Index(Tensor::scalar(*index.number())) : index);
      axis += index.is_newaxis() ? 0 : 1;
    }
  }
  if (open == 0) append_whole();
  return result;
}

// ---- numbers and slices ----

// A part of one axis: `count` elements (-1: the rest) starting at `begin`, every `stride`-th; if
// `from_end`, of the axis in reverse order.
struct Part {
  int64_t begin = 0;
  int64_t count = kUnknown;
  int64_t stride = 1;
  bool from_end = false;
};

int64_t divided_up(int64_t a, int64_t b) { return a <= 0 ? 0 : (a - 1) / b + 1; }

Part part_of_number(int64_t number, int64_t size, int64_t axis, const Shape& shape) {
  if (size == kUnknown) {
    return number >= 0 ? Part{.begin = number, .count = 1}
                       : Part{.begin = -(number + 1), .count = 1, .from_end = true};
  }
  check<OutOfRange>(number >= -size && number < size,
                    "get_item: index {} is outside of [{}, {}), axis {} of shape {}.", number,
                    -size, size, axis, shape);
  return {.begin = number < 0 ? number + size : number, .count = 1};
}

Part part_of_slice(const Slice& slice, int64_t size) {
  const bool forward = slice.step > 0;
  const int64_t least = forward ? 0 : -1;
  const int64_t most = forward ? size : size - 1;
  auto place = [&](const Slice::Place& given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, least, most);
  };
  const int64_t start = place(slice.start, forward ? 0 : size - 1);
  const int64_t stop = place(slice.stop, forward ? size : -1);
  if (forward) {
    return {.begin = start, .count = divided_up(stop - start, slice.step), .stride = slice.step};
  }
  return {.begin = size - 1 - start,
          .count = divided_up(start - stop, -slice.step),
          .stride = -slice.step,
          .from_end = true};
}

// ---- slices of axes with unknown sizes ----

// A slice up to the end of the axis. Its attributes are those of the op "slice", which it becomes.
const OpDef& slice_as_far_op() {
  static const auto* op =
      new OpDef{.name = "slice",
                .infer = {},
                .vjp = {},
                .traits = {},
                .expand = [](const std::vector<Tensor>& in, const Attributes& attributes) {
                  const Shape& shape = in[0].shape();
                  Ints begins = attributes.get_ints("begin");
                  Ints counts = attributes.get_ints("size");
                  Ints strides = attributes.get_ints("strides");
                  for (size_t i = 0; i < begins.size(); ++i) {
                    const int64_t size = shape[static_cast<int64_t>(i)];
                    if (is_inferring_types() && size == unknown_size()) {  // so is the part's size
                      begins[i] = 0;
                      counts[i] = size;
                      strides[i] = 1;
                      continue;
                    }
                    begins[i] = std::min(begins[i], size);
                    const int64_t room = divided_up(size - begins[i], strides[i]);
                    counts[i] = counts[i] == kUnknown ? room : std::min(counts[i], room);
                  }
                  return std::vector<Tensor>{ops::slice(in[0], begins, counts, strides)};
                }};
  return *op;
}

Tensor slice_as_far(const Tensor& x, int64_t axis, int64_t begin, int64_t count,
                    int64_t stride = 1) {
  if (begin == 0 && count == kUnknown && stride == 1) return x;
  const auto rank = static_cast<size_t>(x.rank());
  const auto place = static_cast<size_t>(axis);
  Ints begins(rank, 0), counts(rank, kUnknown), strides(rank, 1);
  begins[place] = begin;
  counts[place] = count;
  strides[place] = stride;
  return apply(slice_as_far_op(), {x}, {{"begin", begins}, {"size", counts}, {"strides", strides}})
      .front();
}

// The slice, in steps that are the same for any size.
Tensor sliced_open(const Tensor& x, const Slice& slice, int64_t axis) {
  const auto then = [&](const Slice& first, const Slice& second) {
    return sliced_open(sliced_open(x, first, axis), second, axis);
  };
  // Elements counted from the end are the first ones of the reversed axis.
  const auto from_end = [&](int64_t begin, int64_t count) {
    return ops::flip(slice_as_far(ops::flip(x, axis), axis, begin, count), axis);
  };
  const int64_t start = slice.start.value_or(0);
  const bool is_counted_from_end = start < 0 || slice.stop.value_or(0) < 0;
  if (slice.step < 0) {
    if (!slice.start && !slice.stop) {
      return slice_as_far(ops::flip(x, axis), axis, 0, kUnknown, -slice.step);
    }
    if (slice.stop == -1) return slice_as_far(x, axis, 0, 0);
    const auto next = [](const Slice::Place& place) {  // None after the last
      return place && *place != -1 ? Slice::Place(Checked(*place, "get_item") + 1) : std::nullopt;
    };
    return then(Slice(next(slice.stop), next(slice.start)), Slice({}, {}, slice.step));
  }
  if (!is_counted_from_end) {
    const int64_t count = slice.stop ? divided_up(*slice.stop - start, slice.step) : kUnknown;
    return slice_as_far(x, axis, start, count, slice.step);
  }
  if (slice.step > 1) return then(Slice(slice.start, slice.stop), Slice({}, {}, slice.step));
  if (start >= 0) {
    if (start > 0) return then(Slice({}, slice.stop), Slice(start, {}));
    return from_end(-Checked(*slice.stop, "get_item"), kUnknown);
  }
  if (!slice.stop) return from_end(0, -Checked(start, "get_item"));
  check<InvalidArgument>(
      *slice.stop < 0,
      "get_item: the slice from {} to {} depends on the size of axis {}, which is unknown for a "
      "placeholder of shape {}. Slice within a layer (in its call method), where it is known.",
      start, *slice.stop, axis, x.shape());
  return from_end(-Checked(*slice.stop, "get_item"),
                  std::max<int64_t>(Checked(*slice.stop, "get_item") - start, 0));
}

// Numbers leave an axis of size 1; axes indexed by tensors stay whole.
Tensor with_parts(const Tensor& given, const std::vector<Index>& entries) {
  Tensor x = given;
  Ints reversed;
  Ints begins;
  Ints counts;
  Ints strides;
  bool whole = true;
  for (const Index& entry : entries) {
    if (has_no_axis(entry)) continue;
    const auto axis = static_cast<int64_t>(begins.size());
    const int64_t size = x.shape()[axis];
    Part part{.count = size};
    if (entry.number()) part = part_of_number(*entry.number(), size, axis, x.shape());
    if (const Slice* slice = entry.slice()) {
      check<InvalidArgument>(
          slice->step != 0 && slice->step >= -std::numeric_limits<int64_t>::max(),
          "get_item: expected a step other than 0, got {}.", slice->step);
      if (size == kUnknown) {
        x = sliced_open(x, *slice, axis);
      } else {
        part = part_of_slice(*slice, size);
      }
    }
    if (part.from_end) reversed.push_back(axis);
    begins.push_back(part.begin);
    counts.push_back(part.count);
    strides.push_back(part.stride);
    whole = whole && part.begin == 0 && part.count == size && part.stride == 1;
  }
  const Tensor along = reversed.empty() ? x : ops::flip(x, reversed);
  return whole ? along : ops::slice(along, begins, counts, strides);
}

// ---- tensors of numbers ----

// One tensor of indices into the merged `axes` (of known sizes), equivalent to `indices` into each.
Tensor joined_indices(const std::vector<Tensor>& indices, const Ints& sizes) {
  Tensor joined = Tensor::scalar(int64_t{0});
  Tensor valid = true;
  Checked total(1, "get_item");
  for (size_t i = 0; i < indices.size(); ++i) {
    const Tensor index = ops::cast(indices[i], DType::Int64);
    valid = valid & (index >= -sizes[i]) & (index < sizes[i]);
    joined = joined * sizes[i] + ops::where(index < 0, index + sizes[i], index);
    total = total * sizes[i];
  }
  return ops::where(valid, joined, total.value());  // out-of-range values are detected when taking
}

// The elements of y selected by the tensors among `entries`; their axes end up at `position`.
Tensor gathered(const Tensor& y, const std::vector<Index>& entries, int64_t position) {
  Ints axes;
  Ints others;
  std::vector<Tensor> indices;
  for (const Index& entry : entries) {
    if (has_no_axis(entry)) continue;
    const auto axis = static_cast<int64_t>(axes.size() + others.size());
    (entry.tensor() ? axes : others).push_back(axis);
    if (entry.tensor()) indices.push_back(*entry.tensor());
  }
  if (indices.size() == 1 && axes[0] == position) return ops::take(y, indices[0], position);
  Ints order(others.begin(), others.begin() + position);
  order.insert(order.end(), axes.begin(), axes.end());
  order.insert(order.end(), others.begin() + position, others.end());
  const Tensor ordered = ops::transpose(y, order);
  if (indices.size() == 1) return ops::take(ordered, indices[0], position);
  Ints sizes;
  Checked joined_size(1, "get_item");
  for (int64_t axis : axes) {
    check<InvalidArgument>(y.shape()[axis] != kUnknown,
                           "get_item: expected known sizes of axes that several tensors index, got "
                           "a placeholder of shape {}.",
                           y.shape());
    sizes.push_back(y.shape()[axis]);
    joined_size = joined_size * sizes.back();
  }
  const Shape shape = ordered.shape();
  const Shape joined = shape.slice(0, position)
                           .concat({joined_size})
                           .concat(shape.slice(position + static_cast<int64_t>(axes.size())));
  return ops::take(ops::reshape(ordered, joined), joined_indices(indices, sizes), position);
}

}  // namespace

namespace ops {

Tensor get_item(const Tensor& x, const std::vector<Index>& key) {
  internal::require_defined(x, "get_item");
  const std::vector<Index> entries = spelled_out(x, key);
  Tensor y = with_parts(x, entries);
  // NumPy puts the axes of tensors where the tensors were, or first if they were not adjacent.
  int64_t blocks = 0;
  int64_t position = 0;
  int64_t indices_rank = 0;
  bool in_block = false;
  Ints numbers;
  int64_t axis = 0;
  for (const Index& entry : entries) {
    if (entry.tensor()) {
      blocks += in_block ? 0 : 1;
      indices_rank = std::max(indices_rank, entry.tensor()->rank());
    } else if (blocks == 0 && !has_no_axis(entry)) {
      ++position;
    }
    in_block = entry.tensor() != nullptr;
    if (entry.number()) numbers.push_back(axis);
    axis += has_no_axis(entry) ? 0 : 1;
  }
  if (blocks > 0) y = gathered(y, entries, blocks > 1 ? 0 : position);
  if (!numbers.empty()) y = squeeze(y, numbers);
  Ints added;
  int64_t place = blocks > 1 ? indices_rank : 0;
  bool block_done = blocks != 1;
  for (const Index& entry : entries) {
    if (entry.is_newaxis()) added.push_back(place);
    if (entry.is_newaxis() || entry.slice()) ++place;
    if (entry.tensor() && !block_done) {
      place += indices_rank;
      block_done = true;
    }
  }
  return added.empty() ? y : expand_dims(y, added);
}

}  // namespace ops

Tensor Tensor::operator[](const Index& index) const { return ops::get_item(*this, {index}); }

Tensor Tensor::item_at(std::initializer_list<Index> indices) const {
  return ops::get_item(*this, indices);
}

// ---- variables, in terms of ops ----

Tensor Variable::as_dtype(const Tensor& value, DType dtype) { return ops::cast(value, dtype); }

Tensor Variable::fitted(const Tensor& value) const {
  check<InvalidArgument>(value.shape() == shape(),
                         "Variable '{}': expected a value of shape {}, got {}.", path(), shape(),
                         value.shape());
  return value.dtype() == dtype() ? value.strong() : ops::cast(value, dtype());
}

namespace {

// What a variable is changed by.
Tensor change_of(const Variable& variable, const Tensor& value) {
  check<FailedPrecondition>(!value.is_symbolic() || current_variable_hooks() != nullptr,
                            "Variable '{}': {} was assigned outside of the trace it belongs to.",
                            variable.path(), value);
  return ops::cast(value, variable.dtype());
}

}  // namespace

void Variable::assign_add(const Tensor& value) const {
  const Tensor change = change_of(*this, value);
  update([&](const Tensor& now) { return ops::add(now, change); }, true);
}

void Variable::assign_sub(const Tensor& value) const {
  const Tensor change = change_of(*this, value);
  update([&](const Tensor& now) { return ops::subtract(now, change); }, true);
}

const Variable& Variable::operator+=(const Tensor& value) const {
  assign_add(value);
  return *this;
}

const Variable& Variable::operator-=(const Tensor& value) const {
  assign_sub(value);
  return *this;
}

}  // namespace cornu
