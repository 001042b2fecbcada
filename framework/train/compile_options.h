// SPDX-License-Identifier: Apache-2.0
// The arguments of Model::compile.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/losses/loss.h"
#include "framework/metrics/metric.h"
#include "framework/train/optimizer.h"

namespace cornu {

// A compile argument with one value per output, in the forms that Keras accepts:
//   .loss = "mse"                              for the only output, or for every one
//   .loss = {"mse", losses::Huber()}           one each, in the outputs' order
//   .loss = {{"price", "mse"}, {"kind", "ce"}} by output name
template <class T>
class PerOutput {
 public:
  using Named = std::pair<std::string, T>;
  PerOutput() = default;
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, PerOutput>)
      PerOutput(U&& value)
      : list_{T(std::forward<U>(value))}, for_all_(true) {}       // NOLINT: implicit
  PerOutput(std::initializer_list<T> values) : list_(values) {}   // NOLINT
  PerOutput(std::vector<T> values) : list_(std::move(values)) {}  // NOLINT
  PerOutput(std::initializer_list<Named> named) {                 // NOLINT
    for (const Named& entry : named) add(entry.first, entry.second);
  }
  PerOutput(const std::map<std::string, T>& named) {  // NOLINT
    for (const auto& [name, value] : named) add(name, value);
  }
  bool empty() const { return list_.empty(); }
  bool has_names() const { return !names_.empty(); }
  // True for a single value that isn't in a list.
  bool is_for_all() const { return for_all_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<T>& list() const { return list_; }
  void add(std::string name, T value) {
    names_.push_back(std::move(name));
    list_.push_back(std::move(value));
  }

 private:
  std::vector<std::string> names_;
  std::vector<T> list_;
  bool for_all_ = false;
};

// Metrics, in the forms that Keras accepts:
//   .metrics = {"accuracy", metrics::AUC()}      all for the only output; or one for each output
//   .metrics = {{"mae", "mse"}, {}}              a list for each output, in their order
//   .metrics = {{"price", {"mae"}}, {"kind", {"accuracy"}}}   by output name
class MetricsArgument {
 public:
  // The metrics of one entry of the list.
  struct Entry {
    Entry() = default;
    template <class... M>
    requires(sizeof...(M) > 0 && (std::is_convertible_v<M, Metric> && ...)) Entry(M&&... metrics)
        : list{Metric(std::forward<M>(metrics))...} {}                // NOLINT: implicit on purpose
    Entry(std::vector<Metric> metrics) : list(std::move(metrics)) {}  // NOLINT
    Entry(std::string output, std::vector<Metric> metrics)
        : output(std::move(output)), list(std::move(metrics)) {}

    std::string output = {};  // "": by position
    std::vector<Metric> list = {};
  };
  MetricsArgument() = default;
  MetricsArgument(std::initializer_list<Entry> entries) : entries_(entries) {}   // NOLINT
  MetricsArgument(std::vector<Entry> entries) : entries_(std::move(entries)) {}  // NOLINT
  MetricsArgument(const std::vector<Metric>& metrics)                            // NOLINT
      : entries_(metrics.begin(), metrics.end()) {}
  MetricsArgument(const std::vector<std::string>& names)  // NOLINT
      : entries_(names.begin(), names.end()) {}
  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Arguments of compile, in Keras's order.
struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  PerOutput<Loss> loss = {};
  PerOutput<double> loss_weights = {};
  MetricsArgument metrics = {};           // unweighted
  MetricsArgument weighted_metrics = {};  // weighted by sample_weight and class_weight
  bool run_eagerly = false;               // run the step op by op, for debugging
  int64_t steps_per_execution = 1;        // between calls of callbacks' batch methods
  bool jit_compile = true;                // false: compile without graph passes
  bool auto_scale_loss = true;            // use a LossScaleOptimizer with "mixed_float16"
};

}  // namespace cornu
