// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "framework/core/checked.h"
#include "framework/model/input.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

bool may_be_negative(const Tensor& indices) {
  return indices.is_symbolic() ||
         (indices.num_elements() > 0 && ops::min(indices).item<int64_t>() < 0);
}

// Negative indices count from the end of an axis of this size.
Tensor from_front(const Tensor& indices, int64_t size) {
  if (size == kUnknown || !may_be_negative(indices)) return indices;
  return ops::where(ops::less(indices, 0), ops::add(indices, ops::cast(size, indices.dtype())),
                    indices);
}

// Looks up rows of a table at computed indices, in a trainable layer.
void read_embedding(NodeReader& n, const Tensor& table) {
  const Json config = Json::object({{"input_dim", table.dim(0)}, {"output_dim", table.dim(1)}});
  n.give(n.layer("Embedding", config, n.in(1), {{"embeddings", table}}).single());
}

void read_gather(NodeReader& n) {
  Tensor x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", 0), x.rank());
  Tensor indices = n.in(1);
  const bool table = axis == 0 && !is_placeholder(x) && is_placeholder(indices) && x.rank() == 2 &&
                     is_floating(x.dtype()) && x.num_elements() > 0;
  if (table) return read_embedding(n, x);
  if (x.dim(axis) == kUnknown && !is_placeholder(indices)) {
    const Tensor from_end = ops::less(indices, 0);
    if (ops::all(from_end).item<bool>()) {
      x = ops::flip(x, axis);
      indices = ops::subtract(-1, indices);
    } else if (ops::any(from_end).item<bool>()) {
      n.refuse("it counts from both ends of an axis of unknown size");
    }
  }
  n.give(ops::take(x, from_front(indices, x.dim(axis)), axis));
}

void read_gather_elements(NodeReader& n) {
  const Tensor x = n.in(0);
  const int64_t axis = n.axis(n.integer("axis", 0), x.rank());
  n.give(ops::take_along_axis(x, from_front(n.in(1), x.dim(axis)), axis));
}

// The last axis of the indices has an entry for each of x's leading axes.
void require_places(const Tensor& x, const Tensor& indices) {
  check<InvalidArgument>(
      indices.rank() >= 1 && indices.shape().back() >= 1 && indices.shape().back() <= x.rank(),
      "expected indices (…, from 1 to {}), got {}.", x.rank(), indices.shape());
}

// For known indices, counted from the front; when axes are joined, invalid ones would refer to
// other places.
void require_inside(const Tensor& places, int64_t size, int64_t axis) {
  if (places.is_symbolic() || places.num_elements() == 0 || size == kUnknown) return;
  const auto least = ops::min(places).item<int64_t>(), most = ops::max(places).item<int64_t>();
  check<InvalidArgument>(least >= 0 && most < size,
                         "expected places in axis {}, which has {} elements, got {}.", axis, size,
                         least < 0 ? least - size : most);
}

// The indices for the leading axes are combined into a single index into the joined axes.
void read_gather_nd(NodeReader& n) {
  const Tensor x = n.in(0);
  const Tensor indices = n.in(1);
  if (n.integer("batch_dims", 0) != 0) n.refuse("its attribute batch_dims is not 0");
  require_places(x, indices);
  const int64_t depth = indices.shape().back();
  Tensor place;
  Checked joined(1, "GatherND");
  for (int64_t axis = 0; axis < depth; ++axis) {
    const int64_t size = x.dim(axis);
    if (size == kUnknown && axis > 0) n.refuse("it indexes into an axis of unknown size");
    const Tensor column =
        from_front(ops::squeeze(ops::slice_axis(indices, -1, axis, axis + 1), -1), size);
    require_inside(column, size, axis);
    place = place.defined() ? ops::add(ops::multiply(place, size), column) : column;
    joined = size == kUnknown ? Checked(1, "GatherND") : joined * size;
  }
  const bool open = x.dim(0) == kUnknown;
  const Shape rows = Shape({open ? kUnknown : joined.value()}).concat(x.shape().slice(depth));
  n.give(ops::take(ops::reshape(x, rows), place, 0));
}

// Writes `updates` to x at these positions, or combines them with the existing elements.
void give_scattered(NodeReader& n, const Tensor& x, const Tensor& indices, const Tensor& updates) {
  const std::string reduction = n.choice("reduction", {"none", "add", "mul", "max", "min"});
  Json config = Json::object();
  if (reduction != "none") config.set("reduction", reduction);
  n.give(n.keras_op("ScatterUpdate", std::move(config), {x, indices, updates}).single());
}

// The size of an axis, which may be open, as a vector with one element.
Tensor size_along(const Tensor& x, int64_t axis, DType dtype) {
  if (x.dim(axis) != kUnknown) return ops::cast(Tensor::from(Ints{x.dim(axis)}), dtype);
  return ops::sum(ops::ones_like(first_line(x, axis), dtype), 0, true);
}

void read_scatter_nd(NodeReader& n) {
  const Tensor x = n.in(0);
  Tensor indices = n.in(1);
  require_places(x, indices);
  if (may_be_negative(indices)) {
    std::vector<Tensor> sizes;
    for (int64_t axis = 0; axis < indices.shape().back(); ++axis) {
      sizes.push_back(size_along(x, axis, indices.dtype()));
    }
    indices =
        ops::where(ops::less(indices, 0), ops::add(indices, ops::concatenate(sizes, 0)), indices);
  }
  give_scattered(n, x, indices, n.in(2));
}

// Writes to the places that have these indices along an axis.
void read_scatter_elements(NodeReader& n) {
  const Tensor x = n.in(0), updates = n.in(2);
  const int64_t rank = x.rank(), axis = n.axis(n.integer("axis", 0), rank);
  const Sizes sizes = n.shape(2);
  Tensor given = n.in(1);
  if (may_be_negative(given)) {
    const Tensor size = ops::reshape(size_along(x, axis, given.dtype()), Shape());
    given = ops::where(ops::less(given, 0), ops::add(given, size), given);
  }
  // The position in each axis, as for ScatterND.
  std::vector<Tensor> columns;
  for (int64_t other = 0; other < rank; ++other) {
    const auto place = static_cast<size_t>(other);
    const Tensor column = other == axis
                              ? given
                              : ops::add(n.places_along(sizes[place], other, rank, given.dtype()),
                                         ops::zeros_like(given));
    columns.push_back(ops::expand_dims(column, -1));
  }
  const int64_t count = updates.shape().is_static() ? updates.num_elements() : kUnknown;
  const Tensor indices = ops::reshape(ops::concatenate(columns, -1), {count, rank});
  give_scattered(n, x, indices, ops::reshape(updates, {count}));
}

// Negative indices count from the last class; others out of range yield only `off`.
void read_one_hot(NodeReader& n) {
  const int64_t depth = n.whole_number(1, 0);
  const Tensor values = n.constant(2);
  check<InvalidArgument>(depth > 0 && values.num_elements() == 2,
                         "expected a depth above 0 and two values, got {} and {}.", depth,
                         values.shape());
  const Tensor off = ops::slice_axis(values, 0, 0, 1), on = ops::slice_axis(values, 0, 1, 2);
  const Tensor given = ops::cast(n.in(0), DType::Int64);
  const int64_t axis = n.axis(n.integer("axis", -1), given.rank() + 1);
  const Tensor ones = ops::one_hot(from_front(given, depth), depth, axis, values.dtype());
  if (off.item<double>() == 0 && on.item<double>() == 1) return n.give(ones);
  n.give(ops::where(ops::cast(ones, DType::Bool), on, off));
}

const Rule kRulesOfIndices[] = {
    {"Gather", read_gather},
    {"GatherElements", read_gather_elements},
    {"GatherND", read_gather_nd},
    {"OneHot", read_one_hot},
    {"Scatter", read_scatter_elements},
    {"ScatterElements", read_scatter_elements},
    {"ScatterND", read_scatter_nd},
};

}  // namespace

std::span<const Rule> index_rules() { return kRulesOfIndices; }

}  // namespace cornu::onnx::reading
