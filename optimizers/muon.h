// SPDX-License-Identifier: Apache-2.0
// The Muon optimizer: momentum with orthogonalized steps for matrices, AdamW for everything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/train/optimizer.h"

namespace cornu::optimizers {

struct MuonOptions {
  LearningRate learning_rate = 0.001;
  double adam_beta_1 = 0.9;
  double adam_beta_2 = 0.999;
  std::optional<double> adam_weight_decay = 0.004;  // for variables updated by AdamW
  double epsilon = 1e-7;
  std::optional<double> weight_decay = 0.004;  // for matrices
  std::optional<double> clipnorm = {};
  std::optional<double> clipvalue = {};
  std::optional<double> global_clipnorm = {};
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<int64_t> ema_overwrite_frequency = {};
  std::optional<double> loss_scale_factor = {};
  std::optional<int64_t> gradient_accumulation_steps = {};
  std::string name = {};
  // Regular expressions (ECMAScript): variables whose path contains a match are updated by AdamW.
  std::vector<std::string> exclude_layers = {};
  bool exclude_embeddings = true;  // also exclude paths with "embedding"
  double muon_a = 3.4445;          // coefficients of an iteration, a x + b x^3 + c x^5
  double muon_b = -4.7750;
  double muon_c = 2.0315;
  double adam_lr_ratio = 1.0;  // AdamW's learning rate relative to Muon's
  double momentum = 0.95;
  int64_t ns_steps = 5;  // number of iterations
  bool nesterov = true;
  std::optional<double> rms_rate = 0.2;  // scale updates by sqrt(longer side) * rms_rate
};

// Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024; rms_rate: Liu et
// al., "Muon is scalable for LLM training", 2025. Muon updates all variables with two axes that
// aren't excluded: to use AdamW for the last layer, name it in exclude_layers.
class Muon final : public Optimizer {
 public:
  explicit Muon(const MuonOptions& options = {});
};

// For configs: Muon's own options.
template <class Fields>
void visit_fields(Fields& fields, MuonOptions& options) {
  fields("adam_beta_1", options.adam_beta_1);
  fields("adam_beta_2", options.adam_beta_2);
  fields("epsilon", options.epsilon);
  fields("exclude_layers", options.exclude_layers);
  fields("muon_a", options.muon_a);
  fields("muon_b", options.muon_b);
  fields("muon_c", options.muon_c);
  fields("adam_lr_ratio", options.adam_lr_ratio);
  fields("momentum", options.momentum);
  fields("ns_steps", options.ns_steps);
  fields("nesterov", options.nesterov);
  fields("exclude_embeddings", options.exclude_embeddings);
  fields("adam_weight_decay", options.adam_weight_decay);
  fields("rms_rate", options.rms_rate);
}

}  // namespace cornu::optimizers
