// SPDX-License-Identifier: Apache-2.0
// The losses and metrics that compile was given, matched to a model's outputs.
#pragma once

#include <string>
#include <vector>

#include "framework/train/model.h"

namespace cornu {

// A model's outputs, in their order.
struct OutputNames {
  std::vector<std::string> list;
  // False where the model gives its outputs no names: logs then leave them out, as Keras does.
  bool given = true;
  // What metrics of the `index`-th output begin with: "" for the only output.
  std::string prefix(size_t index) const {
    return given && list.size() > 1 ? list[index] + "_" : std::string();
  }
};

// A step's loss with another part of it: of the whole batch, or by example (Reduction::None), as
// total + part is on one device. Each replica has its part of what is of the whole batch.
Tensor joined_loss(const Tensor& total, const Tensor& part);

// One loss an output, weighted and summed; several are tracked by themselves, too.
class CompiledLoss {
 public:
  CompiledLoss(const PerOutput<Loss>& losses, const PerOutput<double>& weights);

  // The weighted sum; undefined when no output has a loss. InvalidArgument, naming the output, when
  // targets are missing or too many.
  Tensor call(const std::string& who, const OutputNames& outputs, const Tensors& y,
              const Tensors& y_pred, const Tensors& sample_weight);
  // Targets by output, where only as many are given, without names, as outputs have a loss: Keras
  // takes them in that order. All others are as they are.
  Tensors with_targets(const std::string& who, const OutputNames& outputs, const Tensors& y);
  // One for each of several losses: the mean over batches, each of which counts once.
  std::vector<Metric> trackers() const;

 private:
  struct Entry {
    Loss loss;  // may be None
    double weight = 1;
    Metric tracker;  // none unless there are several losses
  };
  void match(const std::string& who, const OutputNames& outputs);

  PerOutput<Loss> given_;
  PerOutput<double> given_weights_;
  bool matched_ = false;
  std::vector<Entry> entries_;  // by output
};

// The metrics of each output. They are matched to the outputs in the first update.
class CompiledMetrics {
 public:
  CompiledMetrics(const MetricsArgument& metrics, const MetricsArgument& weighted);

  // InvalidArgument where there isn't one entry (a metric or a list) for each output, or for an
  // output that the model doesn't have.
  void update(const std::string& who, const OutputNames& outputs, const Tensors& y,
              const Tensors& y_pred, const Tensors& sample_weight);
  // All of them, in compile's order.
  std::vector<Metric> metrics() const;
  // The metric's name in logs ("accuracy"; "digit_accuracy" with several outputs); "" for another's
  // metric.
  std::string log_name(const Metric& metric) const;

 private:
  struct Entry {
    Metric metric;
    size_t place;  // of the argument's entry; then the number of the output
    bool weighted;
    std::string log_name;
  };
  struct Given {
    std::vector<std::string> outputs;  // by place; "" where no name was given
    const char* what;
  };
  void add(const MetricsArgument& given, bool weighted);
  void match(const std::string& who, const OutputNames& outputs);
  static size_t output_of(const Given& given, size_t place, const std::string& who,
                          const OutputNames& outputs);

  Given given_[2];  // metrics, weighted_metrics
  bool matched_ = false;
  std::vector<Entry> entries_;
};

}  // namespace cornu
