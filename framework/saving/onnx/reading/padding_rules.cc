// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "framework/core/allocation_limit.h"
#include "framework/core/checked.h"
#include "framework/ops/ops.h"
#include "framework/saving/onnx/reading/rules.h"

namespace cornu::onnx::reading {
namespace {

// The source indices of an axis padded in one of the modes reflect, edge and wrap.
Ints padded_places(const std::string& mode, int64_t size, int64_t before, int64_t after) {
  const int64_t least = mode == "reflect" ? 2 : 1;
  check<InvalidArgument>(size >= least || (before <= 0 && after <= 0),
                         "an axis of {} elements can't be padded in mode '{}'.", size, mode);
  const int64_t total = Checked(size, "Pad") + before + after;
  AllocationLimit::check_bytes(static_cast<size_t>(total) * sizeof(int64_t));
  Ints places;
  places.reserve(static_cast<size_t>(total));
  for (int64_t i = 0; i < total; ++i) {
    const int64_t place = i - before;
    if (mode == "edge") {
      places.push_back(std::clamp<int64_t>(place, 0, size - 1));
    } else if (mode == "wrap") {
      places.push_back((place % size + size) % size);
    } else {
      const int64_t period = 2 * std::max<int64_t>(size - 1, 1);
      const int64_t turn = (place % period + period) % period;
      places.push_back(std::min(turn, period - turn));
    }
  }
  return places;
}

// Adds elements in one of these modes before and after those of an axis.
Tensor continued(NodeReader& n, const Tensor& x, int64_t axis, const std::string& mode,
                 std::pair<int64_t, int64_t> added) {
  const auto [before, after] = added;
  if (x.dim(axis) != kUnknown) {
    return ops::take(x, Tensor::from(padded_places(mode, x.dim(axis), before, after)), axis);
  }
  if (mode == "reflect") {
    std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
    widths[static_cast<size_t>(axis)] = added;
    return ops::pad(x, widths, {.mode = "reflect"});
  }
  if (mode == "wrap") n.refuse("it repeats an axis of unknown size (wrap)");
  std::vector<Tensor> parts = {x};
  const auto repeated = [&](const Tensor& edge, int64_t times) {
    AllocationLimit::check_bytes(static_cast<size_t>(times) * sizeof(int64_t));
    return ops::take(edge, ops::zeros({times}, DType::Int64), axis);
  };
  if (before > 0) parts.insert(parts.begin(), repeated(ops::slice_axis(x, axis, 0, 1), before));
  if (after > 0) {
    const Tensor last = ops::slice_axis(ops::flip(x, axis), axis, 0, 1);
    parts.push_back(repeated(last, after));
  }
  return ops::concatenate(parts, axis);
}

Tensor cut(NodeReader& n, const Tensor& x, int64_t axis, int64_t before, int64_t after) {
  if (before >= 0 && after >= 0) return x;
  if (x.dim(axis) == kUnknown && after < 0)
    n.refuse("it cuts off the end of an axis of unknown size");
  const int64_t begin = std::max<int64_t>(-before, 0);
  if (after >= 0) return ops::slice_axis(x, axis, begin);
  return ops::slice_axis(x, axis, begin, Checked(x.dim(axis), "Pad") + after);
}

void read_pad(NodeReader& n) {
  Tensor x = n.in();
  const std::string mode = n.choice("mode", {"constant", "reflect", "edge", "wrap"});
  const std::optional<Ints> given = n.integers(1, "pads");
  Ints axes;
  if (n.has(3)) {
    axes = n.integers(3);
  } else {
    axes.resize(static_cast<size_t>(x.rank()));
    std::iota(axes.begin(), axes.end(), 0);
  }
  check<InvalidArgument>(given && given->size() == 2 * axes.size(),
                         "expected pads before and after {} axes.", axes.size());
  std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
  bool some = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = n.axis(axes[i], x.rank());
    const int64_t before = (*given)[i], after = (*given)[axes.size() + i];
    x = cut(n, x, axis, before, after);
    const std::pair<int64_t, int64_t> added(std::max<int64_t>(before, 0),
                                            std::max<int64_t>(after, 0));
    if (added.first == 0 && added.second == 0) continue;
    some = true;
    widths[static_cast<size_t>(axis)] = added;
    if (mode == "constant") continue;
    x = continued(n, x, axis, mode, added);
  }
  if (!some || mode != "constant") return n.give(x);
  Tensor value = n.opset() < 11 ? Tensor(n.number("value", 0)) : n.optional(2);
  if (!value.defined()) value = Tensor(0);
  n.give(ops::pad(x, widths,
                  ops::cast(value.is_weak() ? value : ops::reshape(value, Shape()), x.dtype())));
}

const Rule kRulesOfPadding[] = {
    {"Pad", read_pad},
};

}  // namespace

std::span<const Rule> padding_rules() { return kRulesOfPadding; }

}  // namespace cornu::onnx::reading
