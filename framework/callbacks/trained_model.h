// SPDX-License-Identifier: Apache-2.0
// What callbacks see of the model in training.
#pragma once

#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/metrics/metric.h"

namespace cornu {

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
  // As Model has them.
  virtual void save(const std::string& path) const = 0;
  virtual void save_weights(const std::string& path) const = 0;
};

}  // namespace cornu
