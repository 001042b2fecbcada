// SPDX-License-Identifier: Apache-2.0
#include "framework/metrics/register.h"

namespace cornu::metrics {

void register_all(Registry<MetricFactory>& registry) {
  register_accuracy(registry);
  register_auc(registry);
  register_confusion(registry);
  register_correlation(registry);
  register_f_score(registry);
  register_iou(registry);
  register_of_losses(registry);
  register_operating_point(registry);
  register_r2_score(registry);
  register_reduction(registry);
}

}  // namespace cornu::metrics
