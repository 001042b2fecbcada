// SPDX-License-Identifier: Apache-2.0
#include "framework/train/compiled_loss.h"

#include <algorithm>
#include <tuple>

#include "framework/core/strings.h"
#include "framework/metrics/metrics.h"
#include "framework/ops/ops.h"
#include "framework/strategy/replica_context.h"
#include "framework/train/per_output.h"

namespace cornu {
namespace {

// Appends a number to the name if necessary, so that it isn't `taken`.
template <class F>
std::string unique_log_name(const std::string& name, const F& taken) {
  std::string unique = name;
  for (int number = 1; taken(unique); ++number) unique = name + "_" + std::to_string(number);
  return unique;
}

// Targets or sample weights (`what`) in the order of the outputs; undefined if not given.
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

// A single unnamed weight applies to all outputs.
std::vector<Tensor> weights_in_order(const std::string& who, const Tensors& given,
                                     const std::vector<std::string>& output_names) {
  if (given.size() == 1 && !given.has_names()) {
    return std::vector<Tensor>(output_names.size(), given[0]);
  }
  return in_order(who, "a sample weight", given, output_names);
}

}  // namespace

// On a single device, a loss of the batch is added to each of the per-example losses; this does the
// same, with an equally large gradient.
Tensor joined_loss(const Tensor& total, const Tensor& part) {
  if (!total.defined()) return part;
  if (replicas_in_sync() == 1 || (total.rank() == 0) == (part.rank() == 0)) return total + part;
  const auto& [of_batch, by_example] =
      total.rank() == 0 ? std::tie(total, part) : std::tie(part, total);
  const auto own = static_cast<double>(by_example.num_elements());
  const Tensor all = ops::cast(sum_of_known(own), of_batch.dtype());
  const Tensor whole = ops::stop_gradient(sum_over_replicas(of_batch));
  const Tensor no_value = of_batch - ops::stop_gradient(of_batch);
  return by_example + (whole + no_value * (all / std::max(own, 1.0)));
}

CompiledLoss::CompiledLoss(const PerOutput<Loss>& losses, const PerOutput<double>& weights)
    : given_(losses), given_weights_(weights) {}

void CompiledLoss::match(const std::string& who, const OutputNames& outputs) {
  if (matched_) return;
  const auto losses = by_output(who, "a loss", given_, outputs.list, Loss());
  const auto weights = by_output(who, "a loss weight", given_weights_, outputs.list, 1.0);
  const bool several = std::count_if(losses.begin(), losses.end(),
                                     [](const Loss& loss) { return static_cast<bool>(loss); }) > 1;
  std::vector<std::string> names;
  auto taken = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (size_t i = 0; i < losses.size(); ++i) {
    Entry entry{losses[i], weights[i], {}};
    if (several && losses[i]) {
      const std::string of = outputs.given ? outputs.list[i] : losses[i].name();
      names.push_back(unique_log_name(of + "_loss", taken));
      entry.tracker = metrics::Mean({.name = names.back()});
    }
    entries_.push_back(std::move(entry));
  }
  matched_ = true;
}

Tensor CompiledLoss::call(const std::string& who, const OutputNames& outputs, const Tensors& y,
                          const Tensors& y_pred, const Tensors& sample_weight) {
  match(who, outputs);
  const std::vector<Tensor> targets =
      in_order(who, "a target", with_targets(who, outputs, y), outputs.list);
  const std::vector<Tensor> sample_weights = weights_in_order(who, sample_weight, outputs.list);
  Tensor total;
  std::vector<Metric> trackers;
  std::vector<Tensor> tracked;  // by these trackers: parts of the whole batch's losses
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    if (!entry.loss) continue;
    check<InvalidArgument>(targets[i].defined(),
                           "{}: expected a target for output '{}', which has a loss, got none.",
                           who, outputs.list[i]);
    Tensor value = entry.loss(targets[i], y_pred[i], sample_weights[i]);
    if (entry.tracker && value.rank() > 0) {
      entry.tracker.update_state(value);  // per-example: the metric gets all replicas'
    } else if (entry.tracker) {
      trackers.push_back(entry.tracker);
      tracked.push_back(value);
    }
    if (entry.weight != 1.0) value = value * entry.weight;
    total = joined_loss(total, value);
  }
  const std::vector<Tensor> whole = sum_over_replicas(tracked);
  for (size_t i = 0; i < trackers.size(); ++i) trackers[i].update_state(whole[i]);
  return total;
}

Tensors CompiledLoss::with_targets(const std::string& who, const OutputNames& outputs,
                                   const Tensors& y) {
  if (y.empty() || y.has_names() || y.size() == outputs.list.size()) return y;
  match(who, outputs);
  const auto with_loss = static_cast<size_t>(
      std::ranges::count_if(entries_, [](const Entry& entry) { return bool{entry.loss}; }));
  if (y.size() != with_loss) return y;
  std::vector<Tensor> targets;
  size_t next = 0;
  for (const Entry& entry : entries_) targets.push_back(entry.loss ? y[next++] : Tensor());
  return targets;
}

std::vector<Metric> CompiledLoss::trackers() const {
  std::vector<Metric> result;
  for (const Entry& entry : entries_) {
    if (entry.tracker) result.push_back(entry.tracker);
  }
  return result;
}

CompiledMetrics::CompiledMetrics(const MetricsArgument& metrics, const MetricsArgument& weighted)
    : given_{{{}, "metrics"}, {{}, "weighted_metrics"}} {
  add(metrics, false);
  add(weighted, true);
}

void CompiledMetrics::add(const MetricsArgument& given, bool weighted) {
  std::vector<std::string>& outputs = given_[weighted].outputs;
  for (const MetricsArgument::Entry& entry : given.entries()) {
    for (const Metric& metric : entry.list) {
      // A name means a metric of this model's own, even if the options are used again.
      const Metric own = metric.spelling().empty() ? metric : Metric(metric.spelling());
      entries_.push_back({own, outputs.size(), weighted, own.name()});
    }
    outputs.push_back(entry.output);
  }
}

size_t CompiledMetrics::output_of(const Given& given, size_t place, const std::string& who,
                                  const OutputNames& outputs) {
  if (!given.outputs[place].empty()) {
    return output_index(who, "a metric", given.outputs[place], outputs.list);
  }
  if (outputs.list.size() == 1) return 0;
  check<InvalidArgument>(
      given.outputs.size() == outputs.list.size(),
      "{}: {}: expected one entry for each of its {} outputs ({}), got {}. Give a metric or a "
      "list of them for each, in this order: {{{{…}}, {{…}}}}; or name outputs: {{{{\"{}\", "
      "{{…}}}}}}.",
      who, given.what, outputs.list.size(), join(outputs.list, ", "), given.outputs.size(),
      outputs.list[0]);
  return place;
}

void CompiledMetrics::match(const std::string& who, const OutputNames& outputs) {
  if (matched_) return;
  std::vector<Entry> matched;
  for (Entry entry : entries_) {
    entry.place = output_of(given_[entry.weighted], entry.place, who, outputs);
    const std::string prefix = outputs.prefix(entry.place);
    auto taken = [&](const std::string& candidate) {
      return std::any_of(matched.begin(), matched.end(),
                         [&](const Entry& other) { return other.log_name == candidate; });
    };
    std::string name = prefix + entry.metric.name();
    if (entry.weighted && taken(name)) name = prefix + "weighted_" + entry.metric.name();
    entry.log_name = unique_log_name(name, taken);
    matched.push_back(std::move(entry));
  }
  entries_ = std::move(matched);
  matched_ = true;
}

void CompiledMetrics::update(const std::string& who, const OutputNames& outputs, const Tensors& y,
                             const Tensors& y_pred, const Tensors& sample_weight) {
  if (entries_.empty()) return;
  const std::vector<Tensor> targets = in_order(who, "a target", y, outputs.list);
  const std::vector<Tensor> sample_weights = weights_in_order(who, sample_weight, outputs.list);
  match(who, outputs);
  for (const Entry& entry : entries_) {
    check<InvalidArgument>(targets[entry.place].defined(),
                           "{}: expected a target for output '{}', which has a metric, got none.",
                           who, outputs.list[entry.place]);
    entry.metric.update_state(targets[entry.place], y_pred[entry.place],
                              entry.weighted ? sample_weights[entry.place] : Tensor());
  }
}

std::vector<Metric> CompiledMetrics::metrics() const {
  std::vector<Metric> result;
  for (const Entry& entry : entries_) result.push_back(entry.metric);
  return result;
}

std::string CompiledMetrics::log_name(const Metric& metric) const {
  for (const Entry& entry : entries_) {
    if (entry.metric.shared() == metric.shared()) return entry.log_name;
  }
  return "";
}

}  // namespace cornu
