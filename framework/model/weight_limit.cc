// SPDX-License-Identifier: Apache-2.0
#include "framework/model/weight_limit.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu {
namespace {

constexpr uint64_t kMinDeferred = uint64_t{64} << 10;
constexpr uint64_t kMaxGrowth = 8;  // a stored bool that becomes a float64
constexpr uint64_t kMaxAllowed = uint64_t{64} << 20;
thread_local WeightLimit* current = nullptr;

}  // namespace

WeightLimit::WeightLimit(uint64_t stored) : stored_(stored), outer_(current) { current = this; }

WeightLimit::~WeightLimit() { current = outer_; }

void WeightLimit::add(uint64_t bytes) {
  if (!current) return;
  const uint64_t left = kMaxGrowth * current->stored_ + current->allowed_ - current->added_;
  check<InvalidArgument>(bytes <= left,
                         "a weight of {} bytes, after {} bytes of others, isn't in the file, whose "
                         "weights have {} bytes in all. The config is another model's.",
                         bytes, current->added_, current->stored_);
  current->added_ += bytes;
}

void WeightLimit::allow(uint64_t bytes) {
  if (current) current->allowed_ += std::min(bytes, kMaxAllowed - current->allowed_);
}

bool WeightLimit::defers(uint64_t bytes) { return current && bytes >= kMinDeferred; }

void WeightLimit::defer(const Variable& variable, std::function<Tensor()> initial_value) {
  current->deferred_.push_back({variable, variable.version(), std::move(initial_value)});
}

void WeightLimit::finish() {
  for (const Deferred& weight : std::exchange(deferred_, {})) {
    if (weight.variable.version() == weight.version) weight.variable.store(weight.initial_value());
  }
}

}  // namespace cornu
