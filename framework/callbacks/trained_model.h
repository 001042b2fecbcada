// SPDX-License-Identifier: Apache-2.0
// What callbacks see of the model in training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/core/variable.h"
#include "framework/metrics/metric.h"
#include "framework/model/layer.h"

namespace cornu {

class FunctionalGraph;
class Model;

class TrainedModel {
 public:
  virtual ~TrainedModel() = default;
  // The whole of it, for users' callbacks.
  virtual Model& model() = 0;
  // Training ends after the batch or epoch in progress.
  virtual void stop_training() = 0;
  virtual std::vector<Metric> metrics() const = 0;
  virtual std::vector<Tensor> get_weights() const = 0;
  virtual void set_weights(const std::vector<Tensor>& weights) = 0;
  // Of its optimizer; as OptimizerImpl has them.
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  virtual int64_t iterations() const = 0;
  // The variables that the optimizer keeps averages of (use_ema), each with its own; none before it
  // is built. InvalidArgument where it keeps none.
  virtual std::vector<std::pair<Variable, Variable>> averages() const = 0;
  // As Model has them.
  virtual std::vector<LayerHandle> layers() const = 0;
  virtual void save(const std::string& path) const = 0;
  virtual void save_weights(const std::string& path) const = 0;
  // Of a functional model, and of a Sequential one whose input is known; null for others. It lives
  // as long as the model isn't changed.
  virtual const FunctionalGraph* graph() const = 0;
  // Keras's to_json of such a model, or of one that will be (Sequential), without the compile
  // arguments; none for others. InvalidArgument or Unimplemented when a layer has no config.
  virtual std::optional<std::string> architecture() const = 0;
};

}  // namespace cornu
