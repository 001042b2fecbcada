// SPDX-License-Identifier: Apache-2.0
#include "cornu/train/compiled_loss.h"

#include <algorithm>

#include "cornu/core/strings.h"
#include "cornu/ops/ops.h"
#include "cornu/train/metrics/metrics.h"

namespace cornu {
namespace {

size_t output_index(const std::string& who, const char* what, const std::string& name,
                    const std::vector<std::string>& output_names) {
  const auto it = std::find(output_names.begin(), output_names.end(), name);
  check<InvalidArgument>(it != output_names.end(),
                         "{}: {} is given for an output '{}', which it "
                         "doesn't have.{}",
                         who, what, name, did_you_mean(name, output_names));
  return static_cast<size_t>(it - output_names.begin());
}

// What was given, by output.
template <class T>
std::vector<T> by_output(const std::string& who, const char* what, const PerOutput<T>& given,
                         const std::vector<std::string>& output_names, const T& standard) {
  std::vector<T> result(output_names.size(), standard);
  if (given.has_names()) {
    for (size_t i = 0; i < given.list().size(); ++i) {
      result[output_index(who, what, given.names()[i], output_names)] = given.list()[i];
    }
  } else if (given.list().size() == 1) {
    std::fill(result.begin(), result.end(), given.list()[0]);
  } else if (!given.empty()) {
    check<InvalidArgument>(given.list().size() == output_names.size(),
                           "{}: expected {} for each of its {} outputs, got {} of them.", who, what,
                           output_names.size(), given.list().size());
    result = given.list();
  }
  return result;
}

// Targets or sample weights (`what`) in the order of the outputs; undefined where there are none.
std::vector<Tensor> in_order(const std::string& who, const char* what, const Tensors& given,
                             const std::vector<std::string>& output_names) {
  std::vector<Tensor> result(output_names.size());
  if (given.has_names()) {
    for (size_t i = 0; i < given.size(); ++i) {
      result[output_index(who, what, given.names()[i], output_names)] = given[i];
    }
    return result;
  }
  check<InvalidArgument>(given.empty() || given.size() == output_names.size(),
                         "{}: expected {} for each of its outputs ({}), got {} of them. Give one "
                         "array for each, in this order or by name.",
                         who, what, join(output_names, ", "), given.size());
  for (size_t i = 0; i < given.size(); ++i) result[i] = given[i];
  return result;
}

// A single weight without a name is for all outputs.
std::vector<Tensor> weights_in_order(const std::string& who, const Tensors& given,
                                     const std::vector<std::string>& output_names) {
  if (given.size() == 1 && !given.has_names()) {
    return std::vector<Tensor>(output_names.size(), given[0]);
  }
  return in_order(who, "a sample weight", given, output_names);
}

}  // namespace

CompiledLoss::CompiledLoss(const PerOutput<Loss>& losses, const PerOutput<double>& weights)
    : given_(losses), given_weights_(weights) {}

void CompiledLoss::match(const std::string& who, const std::vector<std::string>& output_names) {
  if (matched_) return;
  losses_ = by_output(who, "a loss", given_, output_names, Loss());
  weights_ = by_output(who, "a loss weight", given_weights_, output_names, 1.0);
  if (output_names.size() > 1) {
    for (size_t i = 0; i < output_names.size(); ++i) {
      trackers_.push_back(losses_[i] ? Metric(metrics::Mean({.name = output_names[i] + "_loss"}))
                                     : Metric());
    }
  }
  matched_ = true;
}

Tensor CompiledLoss::call(const std::string& who, const std::vector<std::string>& output_names,
                          const Tensors& y, const Tensors& y_pred, const Tensors& sample_weight) {
  match(who, output_names);
  const std::vector<Tensor> targets = in_order(who, "a target", y, output_names);
  const std::vector<Tensor> sample_weights = weights_in_order(who, sample_weight, output_names);
  Tensor total;
  for (size_t i = 0; i < losses_.size(); ++i) {
    if (!losses_[i]) continue;
    check<InvalidArgument>(targets[i].defined(),
                           "{}: expected a target for output '{}', which has a loss, got none.",
                           who, output_names[i]);
    Tensor value = losses_[i](targets[i], y_pred[i], sample_weights[i]);
    if (i < trackers_.size()) {
      const auto examples = static_cast<float>(y_pred[i].shape().front());
      trackers_[i].impl().update_values(value, examples);
    }
    if (weights_[i] != 1.0) value = value * weights_[i];
    total = total.defined() ? total + value : value;
  }
  return total;
}

CompiledMetrics::CompiledMetrics(MetricsArgument metrics, MetricsArgument weighted)
    : given_(std::move(metrics)), given_weighted_(std::move(weighted)) {}

void CompiledMetrics::add(const MetricsArgument& given, bool weighted, const std::string& who,
                          const std::vector<std::string>& output_names,
                          const std::vector<Tensor>& y, const Tensors& y_pred) {
  for (size_t i = 0; i < given.lists().size(); ++i) {
    const size_t output =
        given.has_names() ? output_index(who, "a metric", given.names()[i], output_names) : i;
    check<InvalidArgument>(output < output_names.size(),
                           "{}: metrics are given for {} outputs, but it has {}.", who,
                           given.lists().size(), output_names.size());
    for (const Metric& metric : given.lists()[i]) {
      check<InvalidArgument>(y[output].defined(),
                             "{}: expected a target for output '{}', which has a metric, got none.",
                             who, output_names[output]);
      const Metric resolved = metric.resolve(y[output].shape(), y_pred[output].shape());
      std::string name = resolved.name();
      if (output_names.size() > 1) name = output_names[output] + "_" + name;
      auto taken = [&](const std::string& candidate) {
        return std::any_of(entries_.begin(), entries_.end(),
                           [&](const Entry& entry) { return entry.log_name == candidate; });
      };
      if (weighted && taken(name)) name = "weighted_" + name;
      std::string unique = name;
      for (int number = 1; taken(unique); ++number) unique = name + "_" + std::to_string(number);
      entries_.push_back({resolved, unique, output, weighted});
    }
  }
}

void CompiledMetrics::update(const std::string& who, const std::vector<std::string>& output_names,
                             const Tensors& y, const Tensors& y_pred,
                             const Tensors& sample_weight) {
  if (given_.empty() && given_weighted_.empty()) return;
  const std::vector<Tensor> targets = in_order(who, "a target", y, output_names);
  const std::vector<Tensor> sample_weights = weights_in_order(who, sample_weight, output_names);
  if (!matched_) {
    entries_.clear();  // what a failed attempt left
    add(given_, false, who, output_names, targets, y_pred);
    add(given_weighted_, true, who, output_names, targets, y_pred);
    matched_ = true;
  }
  for (const Entry& entry : entries_) {
    entry.metric.update_state(targets[entry.output], y_pred[entry.output],
                              entry.weighted ? sample_weights[entry.output] : Tensor());
  }
}

NamedValues<Tensor> CompiledMetrics::results() const {
  NamedValues<Tensor> results;
  for (const Entry& entry : entries_) results[entry.log_name] = entry.metric.result();
  return results;
}

std::vector<Metric> CompiledMetrics::metrics() const {
  std::vector<Metric> result;
  for (const Entry& entry : entries_) result.push_back(entry.metric);
  return result;
}

}  // namespace cornu
