// SPDX-License-Identifier: Apache-2.0
// Several optimizers, each for some of the variables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

// Which optimizer a variable has: the one under its path ("encoder/dense/kernel"), or under the one
// regular expression (ECMAScript) that matches all of it ("encoder/.*"); else the default.
// InvalidArgument where several match.
class OptimizerMap {
 public:
  using Entries = std::vector<std::pair<std::string, Optimizer>>;
  OptimizerMap(Optimizer default_optimizer, Entries optimizer_map = {});

  Optimizer operator()(const Variable& variable) const;
  const Optimizer& default_optimizer() const { return default_optimizer_; }
  const Entries& entries() const { return entries_; }

 private:
  Optimizer default_optimizer_;
  Entries entries_;
};

struct MultiOptimizerOptions {
  // Or a function of one's own, which gives equal handles for equal optimizers; such a
  // MultiOptimizer can't be saved.
  std::variant<OptimizerMap, std::function<Optimizer(const Variable&)>> optimizer_map;
  std::optional<double> loss_scale_factor = {};  // instead of those of the optimizers
  std::string name = {};
};

// Gives each variable's gradient to the optimizer that the map names. Those are what
// impl().parts() gives, each with a learning rate of its own: asking for the learning rate of all
// is FailedPrecondition. No LossScaleOptimizer or MultiOptimizer may be among them.
class MultiOptimizer : public Optimizer {
 public:
  explicit MultiOptimizer(const MultiOptimizerOptions& options);
};

// From its config.
Optimizer multi_optimizer_from_config(const Json& config);

}  // namespace cornu::optimizers
