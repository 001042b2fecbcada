// SPDX-License-Identifier: Apache-2.0
// The losses and metrics passed to compile, matched to a model's outputs.
#pragma once

#include <string>
#include <vector>

#include "framework/train/model.h"

namespace cornu {

// Names of a model's outputs, in order.
struct OutputNames {
  std::vector<std::string> list;
  // False if the model doesn't name its outputs; logs then omit the names, as in Keras.
  bool given = true;
  // Prefix of the log names of the `index`-th output's metrics: "" for a single output.
  std::string prefix(size_t index) const {
    return given && list.size() > 1 ? list[index] + "_" : std::string();
  }
};

// Adds two parts of a step's loss, each either a loss of the whole batch or per-example losses
// (Reduction::None). The result is the same as that of total + part on a single device. For a loss
// of the whole batch, each replica passes its own part.
Tensor joined_loss(const Tensor& total, const Tensor& part);

// Computes the weighted sum of one loss per output; if there are several, each is also tracked
// separately.
class CompiledLoss {
 public:
  CompiledLoss(const PerOutput<Loss>& losses, const PerOutput<double>& weights);

  // Returns the weighted sum, or an undefined tensor when no output has a loss. Throws
  // InvalidArgument, naming the output, when there are too few or too many targets.
  Tensor call(const std::string& who, const OutputNames& outputs, const Tensors& y,
              const Tensors& y_pred, const Tensors& sample_weight);
  // Aligns targets with outputs: as in Keras, unnamed targets may be given only for the outputs
  // that have a loss, in order. Returns any others unchanged.
  Tensors with_targets(const std::string& who, const OutputNames& outputs, const Tensors& y);
  // Trackers of the individual losses if there are several: means over batches, all of which have
  // equal weight.
  std::vector<Metric> trackers() const;

 private:
  struct Entry {
    Loss loss;  // may be None
    double weight = 1;
    Metric tracker;  // empty unless there are several losses
  };
  void match(const std::string& who, const OutputNames& outputs);

  PerOutput<Loss> given_;
  PerOutput<double> given_weights_;
  bool matched_ = false;
  std::vector<Entry> entries_;  // one per output
};

// The metrics of each output. They are matched to the outputs in the first update.
class CompiledMetrics {
 public:
  CompiledMetrics(const MetricsArgument& metrics, const MetricsArgument& weighted);

  // Throws InvalidArgument unless there is one entry (a metric or a list) for each output, or for
  // an output that the model doesn't have.
  void update(const std::string& who, const OutputNames& outputs, const Tensors& y,
              const Tensors& y_pred, const Tensors& sample_weight);
  // All metrics, in the order passed to compile.
  std::vector<Metric> metrics() const;
  // The metric's name in logs ("accuracy"; "digit_accuracy" with several outputs); "" for a metric
  // that isn't one of these.
  std::string log_name(const Metric& metric) const;

 private:
  struct Entry {
    Metric metric;
    size_t place;  // index of the argument's entry; once matched, of the output
    bool weighted;
    std::string log_name;
  };
  struct Given {
    std::vector<std::string> outputs;  // one per entry; "" if unnamed
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
