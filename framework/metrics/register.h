// SPDX-License-Identifier: Apache-2.0
// Registers the metrics in this directory by name.
#pragma once

#include "framework/losses/dtype_option.h"
#include "framework/metrics/metric.h"
#include "framework/model/serialized.h"

namespace cornu {
// Defined by framework/registration.
void register_builtins(Registry<MetricFactory>& registry);
}  // namespace cornu

namespace cornu::metrics {

// Registers all metrics in this directory; the others register those of one file.
void register_all(Registry<MetricFactory>& registry);
void register_accuracy(Registry<MetricFactory>& registry);
void register_auc(Registry<MetricFactory>& registry);
void register_confusion(Registry<MetricFactory>& registry);
void register_correlation(Registry<MetricFactory>& registry);
void register_f_score(Registry<MetricFactory>& registry);
void register_iou(Registry<MetricFactory>& registry);
void register_of_losses(Registry<MetricFactory>& registry);
void register_operating_point(Registry<MetricFactory>& registry);
void register_r2_score(Registry<MetricFactory>& registry);
void register_reduction(Registry<MetricFactory>& registry);

// The config of an options struct's own fields (visit_fields; name and dtype are added elsewhere).
template <class Options>
Json config_of(const Options& options) {
  Json config = Json::object();
  write_options(config, options);
  return config;
}

// Options that all metrics share.
template <class Options>
MetricOptions base_options(const Options& options) {
  return {.name = options.name, .dtype = options.dtype};
}
template <class Options>
void read_base_options(const Json& config, Options& options) {
  ConfigReader{config}("name", options.name);
  options.dtype = dtype_in_config(config);
}

// Creates a `Handle` from its config.
template <class Handle, class Options = MetricOptions>
Metric metric_from_config(const Json& config) {
  Options options;
  read_base_options(config, options);
  ConfigReader fields(config);
  if constexpr (!std::is_same_v<Options, MetricOptions>) visit_fields(fields, options);
  return Handle(options);
}

}  // namespace cornu::metrics
