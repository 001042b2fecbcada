// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/arguments.h"

#include <algorithm>
#include <array>

#include "framework/core/checked.h"
#include "framework/core/random.h"
#include "framework/core/strings.h"
#include "framework/graph/trace.h"
#include "framework/ops/math.h"
#include "framework/ops/random.h"

namespace cornu {

std::vector<int64_t> Axes::normalized(const Shape& shape, std::string_view who) const {
  std::vector<int64_t> result;
  if (!axes_) {
    for (int64_t axis = 0; axis < shape.rank(); ++axis) result.push_back(axis);
    return result;
  }
  for (int64_t axis : *axes_) result.push_back(shape.normalize_axis(axis, who));
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  check<InvalidArgument>(twice == result.end(),
                         "{}: expected different axes, got axis {} of shape {} twice.", who,
                         twice == result.end() ? 0 : *twice, shape);
  return result;
}

std::vector<int64_t> Sizes::spread(int64_t count, std::string_view who, std::string_view what,
                                   int64_t least) const {
  std::vector<int64_t> result = sizes_;
  if (for_all_) result.assign(static_cast<size_t>(count), sizes_.front());
  check<InvalidArgument>(static_cast<int64_t>(result.size()) == count,
                         "{}: expected {} of {} numbers, one for each spatial axis, got {}.", who,
                         what, count, Shape(sizes_));
  check<InvalidArgument>(
      std::all_of(result.begin(), result.end(), [&](int64_t n) { return n >= least; }),
      "{}: expected {} of at least {}, got {}.", who, what, least, Shape(result));
  return result;
}

Padding::Padding(const char* name) : Padding(std::string(given_text(name, "padding"))) {}

Padding::Padding(const std::string& name) {
  const std::array<std::string, 2> known = {"valid", "same"};
  const std::string lower = lower_case(name);
  check<InvalidArgument>(std::count(known.begin(), known.end(), lower) > 0,
                         "Unknown padding '{}'.{}", name, did_you_mean(name, known));
  kind_ = lower == "same" ? Kind::Same : Kind::Valid;
}

Padding::Padding(Pairs pairs) : kind_(Kind::Explicit), pairs_(std::move(pairs)) {
  for (const auto& [before, after] : pairs_) {
    check<InvalidArgument>(before >= 0 && after >= 0,
                           "Padding: expected pairs of numbers from 0, got ({}, {}).", before,
                           after);
  }
}

std::optional<int64_t> places_of_window(int64_t size, int64_t padded, int64_t extent,
                                        int64_t stride) {
  if (padded >= extent) return (padded - extent) / stride + 1;
  if (size == 0 && padded >= extent - stride) return 0;
  return std::nullopt;
}

std::vector<int64_t> Padding::resolve(const std::vector<int64_t>& sizes,
                                      const std::vector<int64_t>& window,
                                      const std::vector<int64_t>& strides,
                                      const std::vector<int64_t>& dilation,
                                      std::string_view who) const {
  std::vector<int64_t> result(2 * sizes.size(), 0);
  if (kind_ == Kind::Explicit) {
    check<InvalidArgument>(pairs_.size() == sizes.size(),
                           "{}: expected a padding of {} pairs, one for each spatial axis, got {}.",
                           who, sizes.size(), pairs_.size());
    for (size_t i = 0; i < pairs_.size(); ++i) {
      result[2 * i] = pairs_[i].first;
      result[2 * i + 1] = pairs_[i].second;
    }
  }
  if (kind_ != Kind::Same) return result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    check<InvalidArgument>(sizes[i] != kUnknown || strides[i] == 1,
                           "{}: padding \"same\" with stride {} needs the size of spatial axis {}, "
                           "which isn't known of this placeholder. Give Input its size.",
                           who, strides[i], i);
    const int64_t extent = dilated_extent(window[i], dilation[i], who);
    const int64_t rest = sizes[i] % strides[i];
    const int64_t last = rest <= 0 ? strides[i] : rest;  // number of elements in the last stride
    const int64_t total = std::max<int64_t>(extent - last, 0);
    result[2 * i] = total / 2;
    result[2 * i + 1] = total - total / 2;
  }
  return result;
}

int64_t dilated_extent(int64_t window, int64_t dilation, std::string_view who) {
  return (Checked(window, who) - 1) * dilation + 1;
}

Seed::Seed(const random::SeedGenerator& generator) : key_(generator.next()), is_generators_(true) {}

Tensor Seed::key() const {
  if (key_.defined()) {
    check<InvalidArgument>(key_.dtype() == DType::UInt32 && key_.shape() == Shape{2},
                           "random: expected a key of dtype uint32 and shape (2,), got {} {}.",
                           key_.dtype(), key_.shape());
    return key_;
  }
  if (!value_) {
    if (const auto draw = next_traced_draw()) {
      return ops::add(draw->key, Tensor::from<uint32_t>({draw->number, 0}));
    }
  }
  const uint64_t seed = seed_or_next(value_);
  return Tensor::from<uint32_t>({static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
}

}  // namespace cornu
