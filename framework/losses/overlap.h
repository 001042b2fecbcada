// SPDX-License-Identifier: Apache-2.0
// Overlap losses for segmentation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/optional_list.h"
#include "framework/losses/loss.h"

namespace cornu::losses {

// ---- unreduced: over `axis`; by default over all axes, which yields a scalar ----

// 1 - 2 |A and B| / (|A| + |B|)
Tensor dice(const Tensor& y_true, const Tensor& y_pred, const OptionalList<int64_t>& axis = {});
// 1 - |A and B| / (|A and B| + alpha |A without B| + beta |B without A|), where A is y_true (Salehi
// et al., "Tversky loss function for image segmentation", 2017).
Tensor tversky(const Tensor& y_true, const Tensor& y_pred, double alpha = 0.5, double beta = 0.5,
               const OptionalList<int64_t>& axis = {});

// ---- losses ----

struct DiceOptions {
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "dice";
  OptionalList<int64_t> axis = {};
  DTypeName dtype = {};
};
class Dice final : public Loss {
 public:
  explicit Dice(const DiceOptions& options = {});
};

struct TverskyOptions {
  double alpha = 0.5;
  double beta = 0.5;
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "tversky";
  OptionalList<int64_t> axis = {};
  DTypeName dtype = {};
};
class Tversky final : public Loss {
 public:
  explicit Tversky(const TverskyOptions& options = {});
};

}  // namespace cornu::losses
