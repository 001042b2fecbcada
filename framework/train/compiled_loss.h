// SPDX-License-Identifier: Apache-2.0
// The losses and metrics that compile was given, matched to a model's outputs.
#pragma once

#include <string>
#include <vector>

#include "cornu/train/model.h"

namespace cornu {

// One loss an output, weighted and summed; with several outputs each is tracked by itself.
class CompiledLoss {
 public:
  CompiledLoss(const PerOutput<Loss>& losses, const PerOutput<double>& weights);

  // The weighted sum; undefined when no output has a loss. InvalidArgument, naming the output, when
  // targets are missing or too many.
  Tensor call(const std::string& who, const std::vector<std::string>& output_names,
              const Tensors& y, const Tensors& y_pred, const Tensors& sample_weight);
  const std::vector<Metric>& trackers() const { return trackers_; }

 private:
  void match(const std::string& who, const std::vector<std::string>& output_names);

  PerOutput<Loss> given_;
  PerOutput<double> given_weights_;
  bool matched_ = false;
  std::vector<Loss> losses_;      // by output; may be None
  std::vector<double> weights_;   // by output
  std::vector<Metric> trackers_;  // by output, with several outputs
};

class CompiledMetrics {
 public:
  CompiledMetrics(MetricsArgument metrics, MetricsArgument weighted);

  void update(const std::string& who, const std::vector<std::string>& output_names,
              const Tensors& y, const Tensors& y_pred, const Tensors& sample_weight);
  // Names as in logs ("accuracy"; "digit_accuracy" with several outputs), in compile's order.
  NamedValues<Tensor> results() const;
  std::vector<Metric> metrics() const;

 private:
  struct Entry {
    Metric metric;
    std::string log_name;
    size_t output;
    bool weighted;
  };
  void add(const MetricsArgument& given, bool weighted, const std::string& who,
           const std::vector<std::string>& output_names, const std::vector<Tensor>& y,
           const Tensors& y_pred);

  MetricsArgument given_;
  MetricsArgument given_weighted_;
  bool matched_ = false;
  std::vector<Entry> entries_;
};

}  // namespace cornu
