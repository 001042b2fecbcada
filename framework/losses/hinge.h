// SPDX-License-Identifier: Apache-2.0
// Hinge losses.
#pragma once

#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

// ---- unreduced: the mean over the last axis. Labels are -1 and 1; labels that are all 0 or 1 are
// converted. ----

Tensor hinge(const Tensor& y_true, const Tensor& y_pred);          // max(1 - y_true * y_pred, 0)
Tensor squared_hinge(const Tensor& y_true, const Tensor& y_pred);  // max(1 - y_true * y_pred, 0)^2

// max(1 + largest y_pred of a wrong class - y_pred of the right class, 0); y_true is one-hot.
Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred);

// ---- losses ----

class Hinge final : public Loss {
 public:
  explicit Hinge(const LossOptions& options = {});
};

class SquaredHinge final : public Loss {
 public:
  explicit SquaredHinge(const LossOptions& options = {});
};

class CategoricalHinge final : public Loss {
 public:
  explicit CategoricalHinge(const LossOptions& options = {});
};

}  // namespace cornu::losses
