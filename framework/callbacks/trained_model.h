// SPDX-License-Identifier: Apache-2.0
// The interface of the model in training for callbacks.
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
  // The whole model, for user-defined callbacks.
  virtual Model& model() = 0;
  // Stops training after the current batch or epoch.
  virtual void stop_training() = 0;
  virtual std::vector<Metric> metrics() const = 0;
  virtual std::vector<Tensor> get_weights() const = 0;
  virtual void set_weights(const std::vector<Tensor>& weights) = 0;
  // For its optimizer; see OptimizerImpl.
  virtual double learning_rate() const = 0;
  virtual void set_learning_rate(double rate) = 0;
  virtual int64_t iterations() const = 0;
  // Pairs of variables and their moving averages (use_ema); empty before the optimizer is built.
  // Throws InvalidArgument if the optimizer has no averages.
  virtual std::vector<std::pair<Variable, Variable>> averages() const = 0;
  // See Model.
  virtual std::vector<LayerHandle> layers() const = 0;
  virtual void save(const std::string& path) const = 0;
  virtual void save_weights(const std::string& path) const = 0;
  // The graph of a functional model, or of a Sequential one whose input is known; null for others.
  // Valid as long as the model isn't changed.
  virtual const FunctionalGraph* graph() const = 0;
  // Keras's to_json of such a model, or of a Sequential one that isn't built yet, without the
  // compile arguments; nullopt for others. Throws InvalidArgument or Unimplemented when a layer has
  // no config.
  virtual std::optional<std::string> architecture() const = 0;
};

}  // namespace cornu
