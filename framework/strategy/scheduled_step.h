// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cornu {

// While it lives, this thread traces a step that a coordinator schedules: as tf.distribute has it,
// the step may run another one on the strategy's replicas, of which there is one, and reduce what
// that gives.
class [[nodiscard]] ScheduledStepScope {
 public:
  ScheduledStepScope();
  ~ScheduledStepScope();
  ScheduledStepScope(const ScheduledStepScope&) = delete;
  ScheduledStepScope& operator=(const ScheduledStepScope&) = delete;

  static bool is_open();
};

}  // namespace cornu
