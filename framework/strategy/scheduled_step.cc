// SPDX-License-Identifier: Apache-2.0
#include "framework/strategy/scheduled_step.h"

namespace cornu {
namespace {

thread_local int open = 0;  // traces nest

}  // namespace

ScheduledStepScope::ScheduledStepScope() { ++open; }
ScheduledStepScope::~ScheduledStepScope() { --open; }
bool ScheduledStepScope::is_open() { return open > 0; }

}  // namespace cornu
