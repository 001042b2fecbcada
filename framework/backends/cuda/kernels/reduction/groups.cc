// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/reduction/groups.h"

#include <algorithm>
#include <bit>

namespace cornu::cuda {
namespace {

constexpr int64_t kEnoughThreads = 1024 * kGroupBlock;  // enough to keep a GPU busy
constexpr int64_t kLongestRun = 512;  // elements that a thread adds up in sequence

int64_t power_of_two(int64_t count, int64_t most) {
  const auto at_least = static_cast<uint64_t>(std::clamp<int64_t>(count, 1, most));
  return static_cast<int64_t>(std::bit_ceil(at_least));
}

}  // namespace

Groups::Groups(int64_t outer_count, int64_t axis_count, int64_t inner_count,
               const GroupGrain& grain)
    : outer(outer_count), count(axis_count), inner(inner_count), each(axis_count) {
  width = power_of_two(quotient_up(inner, grain.columns), grain.most_width);
  depth = power_of_two(quotient_up(count, grain.unit * grain.steps), kGroupBlock / width);
  tiles = quotient_up(inner, width * grain.columns);
}

Groups Groups::along(const Shape& shape, int64_t axis) {
  return {shape.slice(0, axis).num_elements(), shape[axis], shape.slice(axis + 1).num_elements()};
}

void Groups::divide(const GroupGrain& grain) {
  const int64_t steps = quotient_up(count, depth * grain.unit);
  const int64_t most = steps / grain.steps;
  if (most <= 1) return;
  const int64_t threads = std::max<int64_t>(outer * tiles * width * depth, 1);
  const int64_t wanted =
      std::max(quotient_up(kEnoughThreads, threads), steps * grain.unit / kLongestRun);
  each = quotient_up(quotient_up(count, std::min(most, wanted)), grain.unit) * grain.unit;
  parts = quotient_up(count, each);
}

}  // namespace cornu::cuda
