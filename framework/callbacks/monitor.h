// SPDX-License-Identifier: Apache-2.0
// What callbacks share that watch one metric.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/callbacks/logs.h"
#include "framework/metrics/metric.h"

namespace cornu::callbacks {

// A metric and which way it should go. The direction of mode "auto" is found when it's first
// needed: down for losses, else by the class of the metric.
class Monitor {
 public:
  // InvalidArgument unless mode is "auto", "min" or "max". `who`: the callback, for messages.
  Monitor(std::string who, std::string name, const std::string& mode, double min_delta);

  // The metric's value; none, with a warning (once) that names what there is, when it's missing.
  std::optional<double> value(const Logs& logs);
  // Whether `value` is better than `reference` by more than min_delta; true without a reference.
  // `metrics`: the model's. InvalidArgument where "auto" knows none of the metric's name.
  bool improves(double value, std::optional<double> reference, const std::vector<Metric>& metrics);
  const std::string& name() const { return name_; }
  // For states of runs that resume: FailedPrecondition unless `saved` is this metric's name, since
  // what was best of one says nothing about another.
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
