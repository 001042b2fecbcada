// SPDX-License-Identifier: Apache-2.0
#include "optimizers/muon.h"

#include <algorithm>
#include <cmath>

#include "framework/core/strings.h"
#include "framework/ops/ops.h"
#include "optimizers/path_pattern.h"

namespace cornu::optimizers {
namespace {

class MuonImpl : public OptimizerWith<MuonOptions> {
 public:
  explicit MuonImpl(const MuonOptions& options) : OptimizerWith("Muon", options) {
    check<InvalidArgument>(0 <= options.ns_steps && options.ns_steps <= kMaxSteps,
                           "Muon '{}': expected ns_steps in [0, {}], got {}.", name(), kMaxSteps,
                           options.ns_steps);
    const std::string who = fmt::format("Muon '{}': exclude_layers", name());
    for (const std::string& expression : options.exclude_layers) {
      excluded_.emplace_back(expression, who);
    }
  }

 protected:
  void build_extra() override {
    momentums_.clear();
    velocities_.clear();
    for (const Variable& variable : trainable_variables()) {
      momentums_.push_back(add_like(variable, {"momentum"}));
      velocities_.push_back(is_adams(variable) ? add_like(variable, {"velocity"}) : Variable());
    }
  }

  std::optional<double> weight_decay_of(const Variable& variable) const override {
    return is_adams(variable) ? own_.adam_weight_decay : own_.weight_decay;
  }

  // Muon's rate, and Adam's rate with its bias corrections.
  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    const Tensor number = update_number();
    return {learning_rate, learning_rate * own_.adam_lr_ratio *
                               ops::sqrt(1.0 - ops::power(own_.adam_beta_2, number)) /
                               (1.0 - ops::power(own_.adam_beta_1, number))};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& momentum = momentums_[index];
    if (velocities_[index].defined()) {
      const Tensor m = move_towards(momentum, gradient, 1.0 - own_.adam_beta_1);
      const Tensor v =
          move_towards(velocities_[index], ops::square(gradient), 1.0 - own_.adam_beta_2);
      variable.assign(variable.value() - m * terms[1] / (ops::sqrt(v) + own_.epsilon));
      return;
    }
    const Tensor old = momentum.value();
    const Tensor m = old + (gradient + old * (own_.momentum - 1.0));
    momentum.assign(m);
    const Tensor update = orthogonal(own_.nesterov ? gradient + m * own_.momentum : m);
    variable.assign(variable.value() - update * terms[0] * size_of_update(variable.shape()));
  }

 private:
  bool is_adams(const Variable& variable) const {
    const std::string& path = variable.path();
    if (variable.rank() != 2) return true;
    if (own_.exclude_embeddings && lower_case(path).find("embedding") != std::string::npos) {
      return true;
    }
    return std::ranges::any_of(
        excluded_, [&](const PathPattern& pattern) { return pattern.matches_part(path); });
  }

  double size_of_update(const Shape& shape) const {
    if (!own_.rms_rate) return 1.0;
    return std::sqrt(static_cast<double>(std::max(shape[0], shape[1]))) * *own_.rms_rate;
  }

  // Approximates the nearest matrix with all singular values close to 1, by a Newton-Schulz
  // iteration.
  Tensor orthogonal(const Tensor& matrix) const {
    const bool is_high = matrix.dim(0) > matrix.dim(1);
    Tensor x = is_high ? ops::transpose(matrix) : matrix;
    x = x / (ops::sqrt(ops::sum(ops::square(x))) + 1e-7);
    for (int64_t i = 0; i < own_.ns_steps; ++i) {
      const Tensor square = ops::matmul(x, ops::transpose(x));
      const Tensor higher = square * own_.muon_b + ops::matmul(square * own_.muon_c, square);
      x = x * own_.muon_a + ops::matmul(higher, x);
    }
    return is_high ? ops::transpose(x) : x;
  }

  static constexpr int64_t kMaxSteps = 100;  // each is a few nodes of the graph

  std::vector<PathPattern> excluded_;
  std::vector<Variable> momentums_;
  std::vector<Variable> velocities_;  // undefined for variables updated by Muon
};

}  // namespace

Muon::Muon(const MuonOptions& options) : Optimizer(std::make_shared<MuonImpl>(options)) {}

}  // namespace cornu::optimizers
