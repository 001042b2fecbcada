// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/circle.h"

#include <limits>

#include "framework/losses/function_loss.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

// Returns the labels as a column with one row per embedding.
Tensor label_column(const Tensor& labels, const Tensor& embeddings, const char* which) {
  check<InvalidArgument>(embeddings.rank() == 2 && labels.num_elements() == embeddings.dim(0),
                         "expected {} of shape (batch) or (batch, 1), a label for each embedding, "
                         "and embeddings of shape (batch, size), got {} and {}.",
                         which, labels.shape(), embeddings.shape());
  return ops::reshape(ops::cast(labels, DType::Int64), {-1, 1});
}

// log(sum(exp(x))) of each row, over the elements in `which`; minus infinity if there are none.
Tensor log_sum_of(const Tensor& which, const Tensor& x) {
  return ops::logsumexp(ops::where(which, x, -std::numeric_limits<double>::infinity()), 1);
}

}  // namespace

Tensor circle(const Tensor& y_true, const Tensor& y_pred, const CircleArguments& arguments) {
  const Tensor references = arguments.ref_embeddings.defined() ? arguments.ref_embeddings : y_pred;
  const Tensor labels = label_column(y_true, y_pred, "y_true");
  const Tensor others = arguments.ref_labels.defined() ? arguments.ref_labels : y_true;
  const Tensor same =
      ops::equal(labels, ops::transpose(label_column(others, references, "labels of references")));
  Tensor counted = same;
  if (arguments.remove_diagonal) {
    const Tensor diagonal =
        ops::equal(ops::expand_dims(ops::arange(y_pred.dim(0)), 1), ops::arange(references.dim(0)));
    counted = ops::logical_and(same, ops::logical_not(diagonal));
  }
  const Tensor distance = ops::maximum(1.0 - ops::matmul(y_pred, ops::transpose(references)), 0.0);
  // Weights each distance by how far it is from its target.
  const double margin = arguments.margin;
  const Tensor pull = ops::maximum(margin + distance, 0.0) * (distance - margin);
  const Tensor push = ops::maximum(1.0 + margin - distance, 0.0) * (1.0 - margin - distance);
  const Tensor loss = ops::softplus(log_sum_of(counted, pull * arguments.gamma) +
                                    log_sum_of(ops::logical_not(same), push * arguments.gamma));
  return loss.with_mask(loss > 0);
}

template <class Fields>
void visit_fields(Fields& fields, CircleOptions& options) {
  fields("gamma", options.gamma);
  fields("margin", options.margin);
  fields("remove_diagonal", options.remove_diagonal);
}

Circle::Circle(const CircleOptions& options)
    : Loss(make_loss("Circle", options, [options](const Tensor& y_true, const Tensor& y_pred) {
        return circle(y_true, y_pred,
                      {.remove_diagonal = options.remove_diagonal,
                       .gamma = options.gamma,
                       .margin = options.margin});
      })) {}

void register_circle(Registry<LossFactory>& registry) {
  registry.add("Circle", loss_from_config<Circle, CircleOptions>);
}

}  // namespace cornu::losses
