// SPDX-License-Identifier: Apache-2.0
// Constraints (keras.constraints): projections applied to weights after each update. Norms are
// Euclidean and computed over `axis`, one axis or several (0 for a Dense kernel, {0, 1, 2} for a
// Conv2D kernel).
#pragma once

#include <string>
#include <vector>

#include "framework/model/parts.h"

namespace cornu::constraints {

struct MaxNormOptions {
  double max_value = 2;
  std::vector<int64_t> axis = {0};
};

// Scales down weights whose norm exceeds max_value.
class MaxNorm : public ConstraintImpl {
 public:
  explicit MaxNorm(const MaxNormOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& weight) const override;
  std::string class_name() const override { return "MaxNorm"; }
  Json get_config() const override;

 private:
  MaxNormOptions options_;
};

// Sets negative weights to 0.
class NonNeg : public ConstraintImpl {
 public:
  Tensor operator()(const Tensor& weight) const override;
  std::string class_name() const override { return "NonNeg"; }
};

struct UnitNormOptions {
  std::vector<int64_t> axis = {0};
};

// Scales weights to unit norm.
class UnitNorm : public ConstraintImpl {
 public:
  explicit UnitNorm(const UnitNormOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& weight) const override;
  std::string class_name() const override { return "UnitNorm"; }
  Json get_config() const override;

 private:
  UnitNormOptions options_;
};

struct MinMaxNormOptions {
  double min_value = 0.0;
  double max_value = 1.0;
  double rate = 1.0;  // how far to move toward the bounds: 1 enforces them in a single step
  std::vector<int64_t> axis = {0};
};

// Scales weights so that their norm is between min_value and max_value.
class MinMaxNorm : public ConstraintImpl {
 public:
  explicit MinMaxNorm(const MinMaxNormOptions& options = {}) : options_(options) {}
  Tensor operator()(const Tensor& weight) const override;
  std::string class_name() const override { return "MinMaxNorm"; }
  Json get_config() const override;

 private:
  MinMaxNormOptions options_;
};

}  // namespace cornu::constraints
