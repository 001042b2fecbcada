// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/ctc.h"

#include "framework/losses/function_loss.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {

Tensor ctc(const Tensor& y_true, const Tensor& y_pred) {
  check<InvalidArgument>(y_true.rank() == 2,
                         "expected y_true of shape (batch, length), class indices with zeros "
                         "behind them, got {}.",
                         y_true.shape());
  check<InvalidArgument>(y_pred.rank() == 3,
                         "expected y_pred of shape (batch, steps, classes), logits, got {}.",
                         y_pred.shape());
  check<InvalidArgument>(y_true.dim(0) == y_pred.dim(0),
                         "expected as many sequences in y_true as in y_pred, got {} and {}.",
                         y_true.dim(0), y_pred.dim(0));
  const Tensor lengths = ops::sum(ops::cast(ops::not_equal(y_true, 0), DType::Int32), 1);
  const Tensor steps =
      ops::full({y_pred.dim(0)}, static_cast<int32_t>(y_pred.dim(1)), DType::Int32);
  return ops::ctc_loss(y_true, y_pred, lengths, steps);
}

template <class Fields>
void visit_fields(Fields&, CTCOptions&) {}

CTC::CTC(const CTCOptions& options) : Loss(make_loss("CTC", options, ctc)) {}

void register_ctc(Registry<LossFactory>& registry) {
  registry.add("CTC", loss_from_config<CTC, CTCOptions>);
}

}  // namespace cornu::losses
