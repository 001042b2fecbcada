// SPDX-License-Identifier: Apache-2.0
// Common parts of callbacks that monitor a metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/metrics/metric.h"

namespace cornu::callbacks {

// A metric and its direction of improvement. For mode "auto", the direction is determined when
// first needed: down for losses, otherwise by the metric's class.
class Monitor {
 public:
  // Throws InvalidArgument unless mode is "auto", "min" or "max". `who`: the callback, for
  // messages.
  Monitor(std::string who, std::string name, const std::string& mode, double min_delta);

  // The metric's value. If it is missing, returns nullopt and logs a warning (once) with the
  // existing metrics.
  std::optional<double> value(const Logs& logs);
  // Whether `value` is better than `reference` by more than min_delta; true without a reference.
  // `metrics`: the model's. Throws InvalidArgument when mode is "auto" and none has this name.
  bool improves(double value, std::optional<double> reference, const std::vector<Metric>& metrics);
  const std::string& name() const { return name_; }
  // For restoring states: throws FailedPrecondition unless `saved` is this metric's name, since the
  // best value of one metric says nothing about another.
  void require_same(const std::string& saved) const;

 private:
  enum class Direction { Unknown, Down, Up };
  Direction find_direction(const std::vector<Metric>& metrics) const;

  std::string who_;
  std::string name_;
  double min_delta_;
  Direction direction_ = Direction::Unknown;
  bool warned_ = false;
};

}  // namespace cornu::callbacks
