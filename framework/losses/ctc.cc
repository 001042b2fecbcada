// SPDX-License-Identifier: Apache-2.0
#include "framework/losses/ctc.h"

#include "framework/losses/function_loss.h"
#include "framework/losses/register.h"
#include "framework/ops/ops.h"

namespace cornu::losses {
namespace {

// The logarithm of a probability of zero. Finite, so that no difference of two is NaN, and so large
// that what a sequence adds to it is lost in rounding.
constexpr double kNever = -1e30;
// log(1e-307), which Keras's TensorFlow backend gives paths that end in the midst of the labels:
// they decide where there are too few steps for all.
constexpr double kInTheMidst = -706.8936235;

// What a path through a sequence may be at: before each label a blank, and one after the last.
struct Places {
  Tensor classes;  // (batch, 2 * length + 1)
  Tensor skips;    // bool: whether the blank before a label may be left out
  Tensor last;     // bool: where a path may end, the last label or the blank after it
};

Places places_of(const Tensor& labels) {
  const int64_t batch = labels.dim(0);
  const int64_t length = labels.dim(1);
  const Tensor blank = ops::zeros({batch, 1}, labels.dtype());
  auto with_blanks = [&](const Tensor& of_labels) {
    const Tensor pairs = ops::stack({ops::zeros_like(of_labels), of_labels}, 2);
    return ops::concatenate(
        {ops::reshape(pairs, {batch, 2 * length}), ops::cast(blank, of_labels.dtype())}, 1);
  };
  const Tensor before =
      ops::slice_axis(ops::concatenate({blank, labels}, 1), 1, 0, length);  // of each, 0 at first
  const Tensor count =
      ops::sum(ops::cast(ops::not_equal(labels, 0), DType::Int32), 1, true) * int64_t{2};
  const Tensor place = ops::expand_dims(ops::arange(2 * length + 1), 0);
  return {with_blanks(labels), with_blanks(ops::not_equal(labels, before)),
          ops::logical_or(ops::equal(place, count), ops::equal(place, count - 1))};
}

// log(exp(a) + exp(b) + exp(c))
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor largest = ops::stop_gradient(ops::maximum(ops::maximum(a, b), c));
  return largest + ops::log(ops::exp(a - largest) + ops::exp(b - largest) + ops::exp(c - largest));
}

// x moved on by `count` places.
Tensor moved_on(const Tensor& x, int64_t count) {
  const int64_t kept = std::max<int64_t>(0, x.dim(1) - count);
  const Tensor before = ops::full({x.dim(0), x.dim(1) - kept}, kNever, x.dtype());
  return ops::concatenate({before, ops::slice_axis(x, 1, 0, kept)}, 1);
}

}  // namespace

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
  // No label counts from the last class.
  const Tensor labels = ops::cast(y_true, DType::Int32);
  const Places places = places_of(ops::where(labels < 0, labels - y_pred.dim(2), labels));
  const int64_t batch = y_pred.dim(0);
  const int64_t count = places.classes.dim(1);
  const Tensor classes =
      ops::broadcast_to(ops::expand_dims(places.classes, 1), {batch, y_pred.dim(1), count});
  const Tensor given = ops::take_along_axis(ops::log_softmax(y_pred), classes, 2);
  const Tensor first = ops::zeros({batch, 1}, y_pred.dtype());
  const Tensor others = ops::full({batch, count - 1}, kNever, y_pred.dtype());
  // The log probabilities of being at each place, having said all before it, without the largest of
  // each step, which are added up apart: differences of small numbers are exact in float32.
  auto step =
      [&](const std::vector<Tensor>& carries,
          const std::vector<Tensor>& said) -> std::pair<std::vector<Tensor>, std::vector<Tensor>> {
    const Tensor& at = carries[0];
    const Tensor skipping = ops::where(places.skips, moved_on(at, 2), kNever);
    const Tensor next = log_sum(at, moved_on(at, 1), skipping) + said[0];
    const Tensor largest = ops::stop_gradient(ops::max(next, 1, true));
    return {{next - largest, carries[1] + largest}, {}};
  };
  const std::vector<Tensor> ends = ops::scan(step, {ops::concatenate({first, others}, 1), first},
                                             {ops::transpose(given, {1, 0, 2})})
                                       .first;
  const Tensor ended = ops::where(places.last, ends[0], ends[0] + kInTheMidst);
  return 0.0 - (ops::logsumexp(ended, 1) + ops::squeeze(ends[1], 1));
}

template <class Fields>
void visit_fields(Fields&, CTCOptions&) {}

CTC::CTC(const CTCOptions& options) : Loss(make_loss("CTC", options, ctc)) {}

void register_ctc(Registry<LossFactory>& registry) {
  registry.add("CTC", loss_from_config<CTC, CTCOptions>);
}

}  // namespace cornu::losses
