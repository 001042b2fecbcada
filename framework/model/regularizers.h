// SPDX-License-Identifier: Apache-2.0
// Regularizers (keras.regularizers): penalties on weights and activities. Factors must be >= 0;
// otherwise constructors throw InvalidArgument.
#pragma once

#include <string>

#include "framework/model/parts.h"

namespace cornu::regularizers {

// l1 * sum(|x|)
class L1 : public RegularizerImpl {
 public:
  explicit L1(double l1 = 0.01);
  Tensor operator()(const Tensor& x) const override;
  std::string class_name() const override { return "L1"; }
  Json get_config() const override;

 private:
  double l1_;
};

// l2 * sum(x^2)
class L2 : public RegularizerImpl {
 public:
  explicit L2(double l2 = 0.01);
  Tensor operator()(const Tensor& x) const override;
  std::string class_name() const override { return "L2"; }
  Json get_config() const override;

 private:
  double l2_;
};

struct L1L2Options {
  double l1 = 0.0;
  double l2 = 0.0;
};

// l1 * sum(|x|) + l2 * sum(x^2)
class L1L2 : public RegularizerImpl {
 public:
  explicit L1L2(const L1L2Options& options = {});
  Tensor operator()(const Tensor& x) const override;
  std::string class_name() const override { return "L1L2"; }
  Json get_config() const override;

 private:
  L1L2Options options_;
};

struct OrthogonalRegularizerOptions {
  double factor = 0.01;
  std::string mode = "rows";  // or "columns"
};

// factor times the mean |cosine| between distinct rows (or columns) of a matrix.
class OrthogonalRegularizer : public RegularizerImpl {
 public:
  explicit OrthogonalRegularizer(const OrthogonalRegularizerOptions& options = {});
  Tensor operator()(const Tensor& x) const override;
  std::string class_name() const override { return "OrthogonalRegularizer"; }
  Json get_config() const override;

 private:
  OrthogonalRegularizerOptions options_;
};

}  // namespace cornu::regularizers
