// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/values.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>

#include "framework/core/error_place.h"
#include "framework/core/threads.h"
#include "framework/ops/arrange.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/statistics.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace internal {

void require_value(const Tensor& x, std::string_view who, std::string_view instead) {
  check<NotTraceable>(!x.is_symbolic(),
                      "{}: the shape of its result depends on values, but {} has none yet. {}", who,
                      x, instead);
}

}  // namespace internal

namespace {

// The number of true flags.
int64_t count_true(std::span<const bool> flags) {
  int64_t count = 0;
  while (flags.size() >= 8) {  // bytes of 0 or 1, whose sum a product has in its highest byte
    uint64_t bytes;
    std::memcpy(&bytes, flags.data(), 8);
    count += static_cast<int64_t>((bytes * 0x0101010101010101u) >> 56);
    flags = flags.subspan(8);
  }
  return count + std::count(flags.begin(), flags.end(), true);
}

// Coordinates of true flags, of an array of so many axes: places[axis][n] is that of number n.
template <class T>
class TruePlaces {
 public:
  TruePlaces(std::span<const bool> flags, const Shape& shape)
      : flags_(flags), shape_(shape), width_(shape.back()) {
    const auto size = std::ssize(flags);
    parts_ = (size + kPart - 1) / kPart;
    std::vector<int64_t> starts(static_cast<size_t>(parts_ + 1), 0);
    const auto part = [&](int64_t i) {
      return std::pair(i * kPart, std::min(size, (i + 1) * kPart));
    };
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto [first, last] = part(i);
        starts[static_cast<size_t>(i + 1)] = count_true(flags.subspan(first, last - first));
      }
    });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      places.push_back(Tensor::empty({starts.back()}, dtype_of<T>));
      to_.push_back(places.back().mutable_data<T>().data());
    }
    parallel_for(parts_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        write(part(i).first, starts[static_cast<size_t>(i)], starts[static_cast<size_t>(i + 1)]);
      }
    });
  }

  std::vector<Tensor> places;

 private:
  static constexpr int64_t kPart = 16384;  // flags that a thread reads, at least

  // Writes numbers [n, end), which are those of the flags from `at` on.
  void write(int64_t at, int64_t n, int64_t end) const {
    while (n < end) {
      const int64_t row = at / width_, first = n;
      const bool* const flags = flags_.data() + row * width_;
      T* const columns = to_.back();
      for (int64_t column = at - row * width_; column < width_ && n < end; ++column) {
        columns[n] = static_cast<T>(column);
        n += flags[column] ? 1 : 0;
      }
      int64_t rest = row;
      for (int64_t axis = shape_.rank() - 1; axis-- > 0; rest /= shape_[axis]) {
        std::fill(to_[static_cast<size_t>(axis)] + first, to_[static_cast<size_t>(axis)] + n,
                  static_cast<T>(rest % shape_[axis]));
      }
      at = (row + 1) * width_;
    }
  }

  std::span<const bool> flags_;
  const Shape& shape_;
  int64_t width_;
  int64_t parts_ = 0;
  std::vector<T*> to_;
};

// The coordinates of true elements, of index_dtype(), by axis of the mask as one of this shape.
std::vector<Tensor> true_places(const Tensor& mask, const Shape& shape) {
  const auto flags = mask.data<bool>();
  return index_dtype(mask.num_elements()) == DType::Int32
             ? TruePlaces<int32_t>(flags, shape).places
             : TruePlaces<int64_t>(flags, shape).places;
}

// The positions of true elements in the flattened mask.
Tensor places_of(const Tensor& mask) { return true_places(mask, {mask.num_elements()}).front(); }

std::vector<Tensor> indices_of_true(const Tensor& x, std::string_view who) {
  require_value(x, who, "Use ops::where(condition, x1, x2), which keeps the shape, instead.");
  if (x.rank() == 0) return {};
  return true_places(x.dtype() == DType::Bool ? x : not_equal(x, 0), x.shape());
}

// The order that sorts the rows of a matrix lexicographically; stable.
Tensor row_order(const Tensor& rows) {
  if (rows.dim(1) == 1) return argsort(squeeze(rows, 1));
  Tensor order = arange(rows.dim(0));
  for (int64_t column = rows.dim(1); column-- > 0;) {
    const Tensor keys = take(squeeze(slice_axis(rows, 1, column, column + 1), 1), order);
    order = take(order, argsort(keys));
  }
  return order;
}

// True for each sorted row that differs from the previous one.
Tensor begins_group(const Tensor& sorted_rows) {
  const int64_t count = sorted_rows.dim(0);
  const Tensor differs =
      any(not_equal(slice_axis(sorted_rows, 0, 1), slice_axis(sorted_rows, 0, 0, count - 1)), 1);
  return concatenate({ones({1}, DType::Bool), differs}, 0);
}

// A vector truncated to `size`, or filled up with `fill` after its first `count` elements.
Tensor sized(const Tensor& x, int64_t size, const Tensor& count, const Tensor& fill) {
  const int64_t have = x.dim(0);
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()), {0, 0});
  widths[0].second = std::max<int64_t>(size - have, 0);
  const Tensor cut = pad(slice_axis(x, 0, 0, std::min(size, have)), widths, fill);
  Shape column(std::vector<int64_t>(static_cast<size_t>(x.rank()), 1));
  column[0] = size;
  return where(reshape(arange(size), column) < count, cut, fill);
}

}  // namespace

std::vector<Tensor> nonzero(const Tensor& x) {
  const ErrorPlace scope("nonzero");
  return indices_of_true(x, "nonzero");
}
std::vector<Tensor> where(const Tensor& condition) {
  const ErrorPlace scope("where");
  return indices_of_true(condition, "where(condition)");
}

Tensor boolean_mask(const Tensor& x, const Tensor& mask) {
  require_value(mask, "boolean_mask",
                "Use ops::where(mask, x, 0), which keeps the shape, instead.");
  const int64_t axes = mask.rank();
  check<InvalidArgument>(mask.dtype() == DType::Bool && axes >= 1 && axes <= x.rank() &&
                             mask.shape() == x.shape().slice(0, axes),
                         "boolean_mask: expected a bool mask of the leading axes of {}, got {} of "
                         "shape {}.",
                         x.shape(), mask.dtype(), mask.shape());
  const Tensor rows = reshape(x, Shape{mask.num_elements()}.concat(x.shape().slice(axes)));
  return take(rows, places_of(mask), 0);
}

Tensor unique(const Tensor& x) {
  const ErrorPlace scope("unique");
  return unique(x, UniqueOptions{}).values;
}

UniqueResult unique(const Tensor& x, const UniqueOptions& options) {
  const ErrorPlace scope("unique");
  if (!options.size) {
    require_value(x, "unique", "Give it a size, which is then its result's.");
  }
  check<InvalidArgument>(!options.size || *options.size >= 0,
                         "unique: expected a size from 0, got {}.", options.size.value_or(0));
  require_static(x, "unique");
  const Tensor slices =
      options.axis ? moveaxis(x.strong(), *options.axis, 0) : reshape(x.strong(), {kUnknown});
  const int64_t total = slices.dim(0);
  check<InvalidArgument>(total > 0 || !options.size || *options.size == 0,
                         "unique: expected elements to fill a size of {}, got shape {}.",
                         options.size.value_or(0), x.shape());
  const int64_t width = slices.shape().slice(1).num_elements();
  const Tensor rows = reshape(slices, {total, width});
  const Tensor order = row_order(rows);
  const Tensor first = total == 0 ? zeros({0}, DType::Bool) : begins_group(take(rows, order, 0));
  const Tensor count = sum(cast(first, DType::Int32));
  const int64_t size = options.size ? *options.size : count.item<int64_t>();
  // The sorted positions at which groups begin, in order; with a fixed size, followed by others.
  const Tensor begins =
      options.size ? argsort(cast(logical_not(first), DType::Int32)) : places_of(first);
  Tensor index = take(order, begins);  // of each group's first element: the order is stable
  Tensor appearance;                   // the groups in the order of their first elements
  if (!options.sorted) {
    appearance = argsort(where(arange(begins.dim(0)) < count, index, total));
    index = take(index, appearance);
  }
  Tensor inverse;
  if (options.return_inverse || options.return_counts) {
    Tensor group_of_sorted = cumsum(cast(first, DType::Int32)) - 1;
    if (appearance.defined() && total > 0) {
      group_of_sorted = take(argsort(appearance), group_of_sorted);
    }
    inverse = segment_sum(group_of_sorted, order, total);  // each is alone in its segment
  }
  UniqueResult result;
  result.values =
      sized(take(slices, index, 0), size, count, cast(Tensor(options.fill_value), x.dtype()));
  if (options.axis) result.values = moveaxis(result.values, 0, *options.axis);
  if (options.return_index) result.index = sized(index, size, count, 1);
  if (options.return_inverse) {
    result.inverse = options.axis ? inverse : reshape(inverse, x.shape());
  }
  if (options.return_counts) {
    const Tensor counts = segment_sum(ones({total}, DType::Int32), inverse, total);
    result.counts = sized(counts, size, count, 0);
  }
  return result;
}

Tensor isin(const Tensor& x1, const Tensor& x2, bool assume_unique, bool invert) {
  const ErrorPlace scope("isin");
  if (is_open(x2)) {
    const Json config = Json::object({{"assume_unique", assume_unique}, {"invert", invert}});
    return whole_of(
        "isin", std::vector<Tensor>{x1, x2}, {"numpy", "IsIn", config},
        [=](const std::vector<Tensor>& in) { return isin(in[0], in[1], assume_unique, invert); });
  }
  const auto [a, b] = unify(x1, x2, "isin");
  if (b.num_elements() == 0) return full_like(a, invert, DType::Bool);
  const Tensor sorted = sort(ravel(b));
  const Tensor place = minimum(searchsorted(sorted, a), static_cast<int64_t>(b.num_elements() - 1));
  const Tensor found = equal(take(sorted, place), a);
  return invert ? logical_not(found) : found;
}

}  // namespace cornu::ops
