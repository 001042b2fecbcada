// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cornu {

// While alive, this thread traces a step that a coordinator schedules: as in tf.distribute, the
// step may run another one on the strategy's replicas (of which there is only one), and reduce its
// results.
class [[nodiscard]] ScheduledStepScope {
 public:
  ScheduledStepScope();
  ~ScheduledStepScope();
  ScheduledStepScope(const ScheduledStepScope&) = delete;
  ScheduledStepScope& operator=(const ScheduledStepScope&) = delete;

  static bool is_open();
};

}  // namespace cornu
