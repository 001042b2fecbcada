// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification: labels without an alignment in time.
#pragma once

#include <string>

#include "framework/losses/loss.h"

namespace cornu::losses {

// The negative log likelihood of each label sequence (Graves et al., "Connectionist temporal
// classification", ICML 2006), summed over all alignments with the steps, in which labels may be
// repeated and separated by blanks.
//
// y_true: (batch, length) class indices in [1, classes), padded with zeros at the end; 0 is the
// blank. y_pred: (batch, steps, classes), logits. Returns (batch,). If there are too few steps for
// the labels (one each, plus one between equal neighbors), the loss is about 707 higher than for
// labels that fit, so that a batch's loss stays finite.
Tensor ctc(const Tensor& y_true, const Tensor& y_pred);

struct CTCOptions {
  Reduction reduction = Reduction::SumOverBatchSize;
  std::string name = "ctc";
  DTypeName dtype = {};
};
class CTC final : public Loss {
 public:
  explicit CTC(const CTCOptions& options = {});
};

}  // namespace cornu::losses
