// SPDX-License-Identifier: Apache-2.0
// Several optimizers, each for a subset of the variables.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

class PathPattern;

// Maps a variable to its optimizer: the one listed under its path ("encoder/dense/kernel"), or
// under the only regular expression (RE2) that matches the whole path ("encoder/.*");
// otherwise the default. Throws InvalidArgument when several match.
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
  std::vector<std::shared_ptr<const PathPattern>> patterns_;  // of the entries
};

struct MultiOptimizerOptions {
  // A map, or a function that returns the same handle for the same optimizer; with a function, the
  // MultiOptimizer can't be saved.
  std::variant<OptimizerMap, std::function<Optimizer(const Variable&)>> optimizer_map;
  std::optional<double> loss_scale_factor = {};  // replaces those of the optimizers
  std::string name = {};
};

// Passes each variable's gradient to the optimizer that the map selects. The optimizers are
// available through impl().parts(), and each has its own learning rate: querying a common one
// throws FailedPrecondition. LossScaleOptimizer and MultiOptimizer aren't allowed among them.
class MultiOptimizer final : public Optimizer {
 public:
  explicit MultiOptimizer(const MultiOptimizerOptions& options);
};

// Creates the optimizer from its config.
Optimizer multi_optimizer_from_config(const Json& config);

}  // namespace cornu::optimizers
