// SPDX-License-Identifier: Apache-2.0
// A metric of all four counts of a confusion matrix. Internal to metrics.
#pragma once

#include "framework/metrics/confusion.h"

namespace cornu::metrics {

// Adds up the counts of batches.
class FourCounts : public MetricImpl {
 protected:
  using MetricImpl::MetricImpl;

  // Creates the variables, in Keras's order, for counts of this shape.
  void make_counts(const Shape& shape) {
    true_positives_ = add_variable(shape, "true_positives");
    false_positives_ = add_variable(shape, "false_positives");
    true_negatives_ = add_variable(shape, "true_negatives");
    false_negatives_ = add_variable(shape, "false_negatives");
  }
  bool has_counts() const { return true_positives_.defined(); }

  void add_counts(const ConfusionCounts& counts) {
    add_to(true_positives_, counts.true_positives);
    add_to(false_positives_, counts.false_positives);
    add_to(true_negatives_, counts.true_negatives);
    add_to(false_negatives_, counts.false_negatives);
  }
  ConfusionCounts counts() const {
    return {.true_positives = true_positives_.value(),
            .false_positives = false_positives_.value(),
            .true_negatives = true_negatives_.value(),
            .false_negatives = false_negatives_.value()};
  }

 private:
  Variable true_positives_;
  Variable false_positives_;
  Variable true_negatives_;
  Variable false_negatives_;
};

}  // namespace cornu::metrics
