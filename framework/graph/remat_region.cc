// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/remat_region.h"

#include <atomic>
#include <utility>

#include "framework/graph/trace.h"

namespace cornu {
namespace {

std::atomic<int64_t> regions{0};
thread_local int64_t region = 0;
thread_local bool in_gradient = false;

}  // namespace

RematRegion::RematRegion() : outer_(region) {
  if (!outer_) region = ++regions;
}
RematRegion::~RematRegion() { region = outer_; }

void RematRegion::give_up() {
  if (!outer_) leave_region(region);
}
int64_t RematRegion::current() { return region; }

GradientScope::GradientScope() : outer_(std::exchange(in_gradient, true)) {}
GradientScope::~GradientScope() { in_gradient = outer_; }
bool GradientScope::is_active() { return in_gradient; }

}  // namespace cornu
