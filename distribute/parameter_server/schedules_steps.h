// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cornu::distribute {

class StepScheduler;

// A strategy whose steps can be scheduled by a ClusterCoordinator.
class SchedulesSteps {
 public:
  virtual ~SchedulesSteps() = default;
  virtual StepScheduler& scheduler() = 0;
};

}  // namespace cornu::distribute
