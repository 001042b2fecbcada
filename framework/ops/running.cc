// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/running.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/core/checked.h"
#include "framework/ops/math.h"
#include "framework/ops/shape.h"

namespace cornu::ops::internal {
namespace {

constexpr int64_t kFew = 16;  // elements for which doubling takes less time than pairs

Tensor padded(const Tensor& x, int64_t axis, int64_t before, int64_t behind, double fill) {
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()), {0, 0});
  widths[static_cast<size_t>(axis)] = {before, behind};
  return before + behind == 0 ? x : pad(x, widths, fill);
}

// The elements along an axis in pairs, for recursion (Brent and Kung 1982): each step has half the
// work of the previous one, whereas doubling goes over everything each time.
class Pairs {
 public:
  Pairs(const Shape& shape, int64_t axis)
      : axis_(axis), size_(shape[axis]), whole_(shape), divided_(shape.slice(0, axis)) {
    const int64_t pairs = (size_ + 1) / 2;
    whole_[axis] = Checked(pairs, "cumprod") * 2;
    divided_ = divided_.concat({pairs, 2}).concat(shape.slice(axis + 1));
  }

  // The first and the second ones; `fill` is the second one of the last pair if there is none.
  std::pair<Tensor, Tensor> split(const Tensor& x, double fill) const {
    const auto both = unstack(reshape(padded(x, axis_, 0, size_ % 2, fill), divided_), axis_ + 1);
    return {both[0], both[1]};
  }
  Tensor join(const Tensor& firsts, const Tensor& seconds) const {
    const Tensor all = reshape(stack({firsts, seconds}, axis_ + 1), whole_);
    return slice_axis(all, axis_, 0, size_);
  }

 private:
  int64_t axis_;
  int64_t size_;
  Shape whole_;    // with the last pair's second one
  Shape divided_;  // (…, pairs, 2, …)
};

}  // namespace

Tensor moved_back(const Tensor& x, int64_t axis, int64_t by, double fill) {
  const int64_t size = x.shape()[axis];
  const int64_t moved = std::min(by, size);
  return padded(slice_axis(x, axis, 0, size - moved), axis, moved, 0, fill);
}

Tensor moved_forward(const Tensor& x, int64_t axis, int64_t by) {
  return padded(slice_axis(x, axis, by), axis, 0, by, 0);
}

Tensor products_by_doubling(const Tensor& x, int64_t axis) {
  const int64_t size = x.shape()[axis];
  Tensor products = x;
  for (int64_t by = 1; by < size; by = Checked(by, "cumprod") * 2) {
    products = products * moved_back(products, axis, by, 1);
  }
  return products;
}

Tensor running_products(const Tensor& x, int64_t axis) {
  if (x.shape()[axis] <= kFew) return products_by_doubling(x, axis);
  const Pairs pairs(x.shape(), axis);
  const auto [firsts, seconds] = pairs.split(x, 1);
  const Tensor ends = running_products(firsts * seconds, axis);  // up to each pair's end
  return pairs.join(moved_back(ends, axis, 1, 1) * firsts, ends);
}

Tensor backward_recurrence(const Tensor& factors, const Tensor& added, int64_t axis) {
  const int64_t size = added.shape()[axis];
  if (size <= kFew) {
    Tensor sums = added, products = factors;
    for (int64_t by = 1; by < size; by *= 2) {
      sums = sums + products * moved_forward(sums, axis, by);
      products = products * moved_forward(products, axis, by);
    }
    return sums;
  }
  const Pairs pairs(added.shape(), axis);
  const auto [f0, f1] = pairs.split(factors, 0);
  const auto [a0, a1] = pairs.split(added, 0);
  const Tensor firsts = backward_recurrence(f0 * f1, a0 + f0 * a1, axis);
  return pairs.join(firsts, a1 + f1 * moved_forward(firsts, axis, 1));
}

}  // namespace cornu::ops::internal
