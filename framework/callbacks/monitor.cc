// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/monitor.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "framework/core/logging.h"
#include "framework/core/strings.h"

namespace cornu::callbacks {
namespace {

// Keras's metrics, by the suffixes of their class names.
constexpr std::string_view kUp[] = {
    "Accuracy", "AUC",         "Precision", "Recall", "AtSpecificity",    "AtSensitivity",
    "AtRecall", "AtPrecision", "IoU",       "Score",  "CosineSimilarity", "Correlation"};
constexpr std::string_view kDown[] = {"Error", "Hinge", "Crossentropy", "KLDivergence", "Poisson"};

template <size_t kCount>
bool ends_with_any(std::string_view text, const std::string_view (&ends)[kCount]) {
  return std::any_of(std::begin(ends), std::end(ends),
                     [&](std::string_view end) { return text.ends_with(end); });
}

}  // namespace

Monitor::Monitor(std::string who, std::string name, const std::string& mode, double min_delta)
    : who_(std::move(who)), name_(std::move(name)), min_delta_(std::abs(min_delta)) {
  check<InvalidArgument>(mode == "auto" || mode == "min" || mode == "max",
                         "{}: expected mode \"auto\", \"min\" or \"max\", got \"{}\".", who_, mode);
  if (mode == "min") direction_ = Direction::Down;
  if (mode == "max") direction_ = Direction::Up;
}

void Monitor::require_same(const std::string& saved) const {
  check<FailedPrecondition>(
      saved == name_,
      "{}: the saved run monitored '{}', but this program monitors '{}'. Restart the original "
      "program, or delete the saved state to start over.",
      who_, saved, name_);
}

std::optional<double> Monitor::value(const Logs& logs) {
  if (const double* found = logs.find(name_)) return *found;
  if (!std::exchange(warned_, true)) {
    const std::vector<std::string> known = logs.names();
    const auto of_validation = [](const std::string& name) { return name.rfind("val_", 0) == 0; };
    const bool unvalidated =
        of_validation(name_) && std::none_of(known.begin(), known.end(), of_validation);
    logging::warn(fmt::format("{}: there is no metric '{}' to watch.{}{}", who_, name_,
                              did_you_mean(name_, known),
                              unvalidated ? " Give fit validation data." : ""));
  }
  return {};
}

Monitor::Direction Monitor::find_direction(const std::vector<Metric>& metrics) const {
  const std::string figure = name_.rfind("val_", 0) == 0 ? name_.substr(4) : name_;
  if (figure == "loss" || figure.ends_with("_loss")) return Direction::Down;
  for (const Metric& metric : metrics) {
    // With several outputs, a metric's name also contains its output's: "digit_accuracy".
    if (figure != metric.name() && !figure.ends_with("_" + metric.name())) continue;
    const std::string class_name = metric.impl().class_name();
    if (ends_with_any(class_name, kUp)) return Direction::Up;
    if (ends_with_any(class_name, kDown)) return Direction::Down;
  }
  raise<InvalidArgument>(
      "{}: can't tell whether '{}' should go up or down. Set mode to \"max\" or "
      "\"min\".",
      who_, name_);
}

bool Monitor::improves(double value, std::optional<double> reference,
                       const std::vector<Metric>& metrics) {
  if (!reference) return true;
  if (direction_ == Direction::Unknown) direction_ = find_direction(metrics);
  // Compares in float32, the precision of the metrics, so that a baseline of 0.97 equals the 0.97
  // of a log.
  const auto limit = static_cast<float>(*reference);
  return direction_ == Direction::Down ? static_cast<float>(value + min_delta_) < limit
                                       : static_cast<float>(value - min_delta_) > limit;
}

}  // namespace cornu::callbacks
