// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/ctc.h"

#include <algorithm>
#include <vector>

#include "framework/ops/control.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/loops.h"
#include "framework/ops/math.h"
#include "framework/ops/nn.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

// The logarithm of a zero probability. It is finite, so that no difference of two is NaN, and so
// large that anything a sequence adds to it is lost in rounding.
constexpr double kNever = -1e30;
// log(1e-307): the value that Keras's TensorFlow backend assigns to paths that end in the middle of
// the labels. These paths dominate when there are too few steps for all labels.
constexpr double kInTheMidst = -706.8936235;

// The positions of a path through a sequence: a blank before each label, and one after the last.
struct Places {
  Tensor classes;  // (batch, 2 * length + 1)
  Tensor skips;    // bool: whether the blank before a label may be skipped
  Tensor last;     // bool: where a path may end: the last label or the blank after it
};

Places places_of(const Tensor& labels, const Tensor& lengths, int64_t blank) {
  const int64_t batch = labels.dim(0);
  const int64_t length = labels.dim(1);
  const Tensor nothing = full({batch, 1}, blank, labels.dtype());
  // Each label after a blank, and a final blank.
  const Tensor pairs = stack({full_like(labels, blank), labels}, 2);
  const Tensor classes = concatenate({reshape(pairs, {batch, 2 * length}), nothing}, 1);
  const Tensor before = slice_axis(concatenate({nothing, labels}, 1), 1, 0, length);
  const Tensor differs = not_equal(labels, before);
  const Tensor skips =
      concatenate({reshape(stack({zeros_like(differs), differs}, 2), {batch, 2 * length}),
                   zeros({batch, 1}, DType::Bool)},
                  1);
  const Tensor end = expand_dims(lengths, 1) * int64_t{2};
  const Tensor place = expand_dims(arange(2 * length + 1), 0);
  return {classes, skips, logical_or(equal(place, end), equal(place, end - 1))};
}

// log(exp(a) + exp(b) + exp(c))
Tensor log_sum(const Tensor& a, const Tensor& b, const Tensor& c) {
  const Tensor largest = stop_gradient(maximum(maximum(a, b), c));
  return largest + log(exp(a - largest) + exp(b - largest) + exp(c - largest));
}

// Moves x forward by `count` positions.
Tensor moved_on(const Tensor& x, int64_t count) {
  const int64_t kept = std::max<int64_t>(0, x.dim(1) - count);
  const Tensor before = full({x.dim(0), x.dim(1) - kept}, kNever, x.dtype());
  return concatenate({before, slice_axis(x, 1, 0, kept)}, 1);
}

Tensor loss_of(const std::vector<Tensor>& in, int64_t mask_index) {
  const Tensor output = to_accumulator(in[1]);
  const int64_t classes = output.dim(2);
  const int64_t batch = output.dim(0);
  const int64_t blank = mask_index < 0 ? mask_index + classes : mask_index;
  const Tensor lengths = cast(in[2], DType::Int32), steps = cast(in[3], DType::Int32);
  // Negative labels don't count from the last class: they are made out of range. Labels beyond the
  // length are ignored.
  const Tensor given = cast(in[0], DType::Int32);
  const Tensor counts = expand_dims(arange(given.dim(1)), 0) < expand_dims(lengths, 1);
  const Tensor labels = where(counts, where(given < 0, given - classes, given), blank);
  const Places places = places_of(labels, lengths, blank);
  const int64_t count = places.classes.dim(1);
  const Tensor chosen = take_along_axis(
      log_softmax(output),
      broadcast_to(expand_dims(places.classes, 1), {batch, output.dim(1), count}), 2);
  const Tensor first = zeros({batch, 1}, output.dtype());
  const Tensor others = full({batch, count - 1}, kNever, output.dtype());
  // The log probabilities of being at each position, having spelled out everything before it, minus
  // the maximum of each step; the maxima are added up separately: differences of small numbers are
  // exact in float32.
  auto step =
      [&](const std::vector<Tensor>& carries,
          const std::vector<Tensor>& said) -> std::pair<std::vector<Tensor>, std::vector<Tensor>> {
    const Tensor& at = carries[0];
    const Tensor skipping = where(places.skips, moved_on(at, 2), kNever);
    const Tensor next = log_sum(at, moved_on(at, 1), skipping) + said[0];
    const Tensor largest = stop_gradient(max(next, 1, true));
    const Tensor runs = expand_dims(carries[2] < steps, 1);
    return {{where(runs, next - largest, at), carries[1] + where(runs, largest, 0), carries[2] + 1},
            {}};
  };
  const std::vector<Tensor> ends =
      scan(step, {concatenate({first, others}, 1), first, zeros({batch}, DType::Int32)},
           {transpose(chosen, {1, 0, 2})})
          .first;
  const Tensor ended = where(places.last, ends[0], ends[0] + kInTheMidst);
  return 0.0 - (logsumexp(ended, 1) + squeeze(ends[1], 1));
}

}  // namespace

Tensor ctc_loss(const Tensor& target, const Tensor& output, const Tensor& target_length,
                const Tensor& output_length, int64_t mask_index) {
  constexpr char kWho[] = "ctc_loss";
  for (const Tensor& x : {target, output, target_length, output_length}) require_defined(x, kWho);
  check<InvalidArgument>(target.rank() == 2,
                         "{}: expected a target of shape (batch, length), got {}.", kWho,
                         target.shape());
  check<InvalidArgument>(output.rank() == 3,
                         "{}: expected an output of shape (batch, steps, classes), logits, got {}.",
                         kWho, output.shape());
  const Shape batch = {output.dim(0)};
  check<InvalidArgument>(
      target.shape().slice(0, 1) == batch && target_length.shape() == batch &&
          output_length.shape() == batch,
      "{}: expected as many targets, target_lengths and output_lengths (batch,) as outputs, got "
      "{}, {}, {} and {}.",
      kWho, target.shape(), target_length.shape(), output_length.shape(), output.shape());
  check<InvalidArgument>(mask_index >= -output.dim(2) && mask_index < output.dim(2),
                         "{}: expected a mask_index in [-{}, {}), got {}.", kWho, output.dim(2),
                         output.dim(2), mask_index);
  const std::vector<Tensor> inputs = {target, output, target_length, output_length};
  if (!any_placeholder(inputs)) return loss_of(inputs, mask_index);
  return apply_whole(kWho, inputs,
                     [mask_index](const std::vector<Tensor>& in) {
                       return std::vector<Tensor>{loss_of(in, mask_index)};
                     })
      .front();
}

}  // namespace cornu::ops
