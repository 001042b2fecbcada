// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification: labels without a place in time.
#pragma once

#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

// The negative log likelihood of each sequence of labels (Graves et al., "Connectionist temporal
// classification", ICML 2006): of all ways to spread them over the steps, in which labels may last
// and blanks lie between them.
//
// y_true: (batch, length) class indices in [1, classes), followed by zeros where a sequence is
// shorter; 0 is the blank. y_pred: (batch, steps, classes), logits. Gives (batch,). Where there are
// too few steps for the labels (one each, and one between equal neighbours), about 707 more than
// for those that fit, so that a batch's loss stays finite.
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);

struct CTCOptions {
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "ctc";
  DTypeName dtype = {};
};
class CTC : public Loss {
 public:
  explicit CTC(const CTCOptions& options = {});
};

}  // namespace cornu::losses
