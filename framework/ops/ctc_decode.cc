// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "framework/ops/control.h"
#include "framework/ops/ctc.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/loops.h"
#include "framework/ops/math.h"
#include "framework/ops/nn.h"
#include "framework/ops/numeric.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"
#include "framework/ops/whole_op.h"

namespace cornu::ops {

using namespace internal;

namespace {

using Tensors = std::vector<Tensor>;

constexpr double kNothing = -std::numeric_limits<double>::infinity();  // log(0)

Tensor int_range(int64_t count) { return arange(0, count, 1, DType::Int32); }

// Which steps count, bool (batch, steps).
Tensor counted_steps(const Tensor& lengths, int64_t steps) {
  return expand_dims(int_range(steps), 0) < expand_dims(lengths, 1);
}

// ---- greedy ----

Tensors greedy(const Tensor& inputs, const Tensor& lengths, const CtcDecodeOptions& options,
               int64_t blank) {
  const int64_t batch = inputs.dim(0), steps = inputs.dim(1);
  const Tensor counts = counted_steps(lengths, steps);
  const Tensor score = negative(sum(where(counts, max(inputs, 2), 0), 1, true));
  const Tensor labels = argmax(inputs, 2);
  Tensor said = counts & (labels != blank);
  if (options.merge_repeated) {
    const Tensor none = full({batch, 1}, -1, DType::Int32);
    const Tensor before = slice_axis(concatenate({none, labels}, 1), 1, 0, steps);
    said = said & (labels != before);
  }
  // Labels that are spelled out come first, in order.
  const Tensor order = argsort(cast(!said, DType::Int32), 1);
  const Tensor first = take_along_axis(where(said, labels, -1), order, 1);
  return {expand_dims(first, 0), score};
}

// ---- beam search ----

// The sequences being followed, `width` per example, and their properties.
struct Beam {
  Tensor sequences;  // int32 (batch, width, steps), -1 after their ends
  Tensor lengths;    // int32 (batch, width)
  Tensor blank;      // log probabilities of their paths that end in a blank, (batch, width)
  Tensor label;      // and of those that end in a label
  Tensor prefixes;   // bool (batch, width, width): whether the first one is a prefix of the second

  Tensors tensors() const { return {sequences, lengths, blank, label, prefixes}; }
  explicit Beam(const Tensors& x)
      : sequences(x[0]), lengths(x[1]), blank(x[2]), label(x[3]), prefixes(x[4]) {}
  Tensor total() const { return logaddexp(blank, label); }
  Tensor alive() const { return total() > kNothing; }
};

// A beam with only the empty sequence; the other positions are free.
Beam first_beam(int64_t batch, int64_t width, int64_t steps, DType dtype) {
  const Tensor free = int_range(width) > 0;
  const Tensor blank = cast(where(free, kNothing, 0.0), dtype);
  return Beam({full({batch, width, steps}, -1, DType::Int32), zeros({batch, width}, DType::Int32),
               broadcast_to(blank, {batch, width}), full({batch, width}, kNothing, dtype),
               zeros({batch, width, width}, DType::Bool)});
}

// The slices of x along axis 1 at `index` (batch, width).
Tensor rows_at(const Tensor& x, const Tensor& index) {
  return take_along_axis(x, broadcast_to(expand_dims(index, 2), index.shape().concat({x.dim(2)})),
                         1);
}

// The label of each second sequence right after the end of each first one, (batch, width, width).
Tensor labels_behind(const Beam& beam) {
  const Tensor end = minimum(beam.lengths, static_cast<double>(beam.sequences.dim(2) - 1));
  const int64_t width = end.dim(1);
  const Tensor places =
      broadcast_to(expand_dims(cast(end, DType::Int32), 1), {end.dim(0), width, width});
  return transpose(take_along_axis(beam.sequences, places, 2), {0, 2, 1});
}

// The candidates that may follow a beam: its sequences as they are, and each with another label.
struct Candidates {
  Tensor blank;     // (batch, width)
  Tensor label;     // (batch, width)
  Tensor extended;  // (batch, width * labels)
};

// `said`: log probabilities of the labels, without the blank.
Candidates candidates_of(const Beam& beam, const Tensor& said, const Tensor& blank) {
  const int64_t classes = said.dim(1);
  const Tensor total = beam.total();
  // -1 if there is no label yet, which matches no label.
  const Tensor end = expand_dims(maximum(beam.lengths - 1, 0), 2);
  const Tensor last = squeeze(take_along_axis(beam.sequences, end, 2), 2);
  const Tensor of_last = take_along_axis(said, maximum(last, 0), 1);
  const Tensor numbers = reshape(int_range(classes), {1, 1, classes});
  const Tensor repeats = expand_dims(last, 2) == numbers;
  // Repeating the last label adds a label only after a blank.
  const Tensor before = where(repeats, expand_dims(beam.blank, 2), expand_dims(total, 2));
  const Tensor extended = before + expand_dims(said, 1);
  // Extensions that equal another sequence in the beam aren't followed twice, but make it more
  // likely.
  const Tensor alive = beam.alive();
  const Tensor parents = beam.prefixes & expand_dims(alive, 2) & expand_dims(alive, 1) &
                         (expand_dims(beam.lengths, 2) + 1 == expand_dims(beam.lengths, 1));
  const Tensor has_parent = any(parents, 1);
  const Tensor place =
      argmax(cast(parents, DType::Int32), 1) * classes + maximum(last, 0);  // among all extensions
  const Tensor all = reshape(extended, {said.dim(0), beam.lengths.dim(1) * classes});
  const Tensor from_parent = where(has_parent, take_along_axis(all, place, 1), kNothing);
  const Tensor stays = where(last >= 0, beam.label + of_last, kNothing);
  const Tensor known =
      call<"put_along_axis_add">({place, cast(has_parent, DType::Int32)},
                                 {{"shape", all.shape().dims()}, {"axis", int64_t{1}}});
  return {total + expand_dims(blank, 1), logaddexp(stays, from_parent),
          where(known > 0, kNothing, all)};
}

// Keeps the most likely candidates.
Beam next_beam(const Beam& beam, const Tensor& said, const Tensor& blank) {
  const int64_t classes = said.dim(1), width = beam.lengths.dim(1);
  const Candidates candidates = candidates_of(beam, said, blank);
  const Tensor stay = logaddexp(candidates.blank, candidates.label);
  const Tensor all = concatenate({stay, candidates.extended}, 1);
  const auto [scores, chosen] = top_k(all, width);
  const Tensor extends = chosen >= width;
  const Tensor number = maximum(chosen - width, 0);
  const Tensor source = where(extends, floor_divide(number, classes), chosen);
  const Tensor label = where(extends, mod(number, classes), -1);

  const Tensor old_lengths = take_along_axis(beam.lengths, source, 1);
  const Tensor at_end = int_range(beam.sequences.dim(2)) == expand_dims(old_lengths, 2);
  const Tensor sequences = where(at_end & expand_dims(extends, 2), expand_dims(label, 2),
                                 rows_at(beam.sequences, source));
  const auto kept = [&](const Tensor& x) { return take_along_axis(x, source, 1); };
  // For sources a and c with their added labels: the new sequence of a is a prefix of that of c if
  // the old one is; if a adds a label, c must continue with that label, or be the same candidate.
  const auto pairs = [&](const Tensor& x) {
    const Tensor rows = rows_at(x, source);
    return transpose(rows_at(transpose(rows, {0, 2, 1}), source), {0, 2, 1});
  };
  const Tensor begins = pairs(beam.prefixes);
  const Tensor longer = expand_dims(old_lengths, 2) < expand_dims(old_lengths, 1);
  const Tensor goes_on = begins & longer & (pairs(labels_behind(beam)) == expand_dims(label, 2));
  const Tensor same = expand_dims(int_range(width), 1) == expand_dims(int_range(width), 0);
  const Tensor of_same = expand_dims(source, 2) == expand_dims(source, 1);
  const Tensor prefixes = where(expand_dims(extends, 2), goes_on, begins | of_same) | same;
  return Beam({sequences, old_lengths + cast(extends, DType::Int32),
               where(extends, kNothing, kept(candidates.blank)),
               where(extends, scores, kept(candidates.label)), prefixes});
}

Tensors beam_search(const Tensor& inputs, const Tensor& lengths, const CtcDecodeOptions& options,
                    int64_t blank) {
  const int64_t batch = inputs.dim(0), steps = inputs.dim(1), classes = inputs.dim(2);
  const Tensor scores = log_softmax(inputs);
  const Tensor labels =
      concatenate({slice_axis(scores, 2, 0, blank), slice_axis(scores, 2, blank + 1, classes)}, 2);
  const auto step = [&](const Tensors& carries, const Tensors& x) -> std::pair<Tensors, Tensors> {
    const Beam beam(carries);
    const Tensors next = next_beam(beam, x[0], x[1]).tensors();
    Tensors result;
    for (size_t i = 0; i < next.size(); ++i) {
      Shape shape = {batch};
      while (shape.rank() < next[i].rank()) shape.push_back(1);
      result.push_back(where(reshape(x[2], shape), next[i], carries[i]));
    }
    return {result, {}};
  };
  const Tensors ends =
      scan(step, first_beam(batch, options.beam_width, steps, inputs.dtype()).tensors(),
           {transpose(labels, {1, 0, 2}),
            transpose(squeeze(slice_axis(scores, 2, blank, blank + 1), 2)),
            transpose(counted_steps(lengths, steps))})
          .first;
  const Beam beam(ends);
  const auto [best, order] = top_k(beam.total(), options.top_paths);
  const Tensor paths = rows_at(beam.sequences, order);
  const Tensor said = where(expand_dims(best, 2) > kNothing, paths, -1);
  return {transpose(where(said >= blank, said + 1, said), {1, 0, 2}), best};
}

}  // namespace

std::pair<Tensor, Tensor> ctc_decode(const Tensor& inputs, const Tensor& sequence_lengths,
                                     const CtcDecodeOptions& options) {
  constexpr char kWho[] = "ctc_decode";
  require_defined(inputs, kWho);
  require_defined(sequence_lengths, kWho);
  check<InvalidArgument>(
      inputs.rank() == 3 && inputs.dim(1) != 0 && inputs.dim(2) != 0 &&
          sequence_lengths.shape() == inputs.shape().slice(0, 1),
      "{}: expected inputs of shape (batch, steps, classes), none of them empty, "
      "and sequence_lengths (batch,), got {} and {}.",
      kWho, inputs.shape(), sequence_lengths.shape());
  const int64_t classes = inputs.dim(2);
  check<InvalidArgument>(options.strategy == "greedy" || options.strategy == "beam_search",
                         "{}: unknown strategy '{}'. Known: greedy, beam_search.", kWho,
                         options.strategy);
  check<InvalidArgument>(options.mask_index >= -classes && options.mask_index < classes,
                         "{}: expected a mask_index in [-{}, {}), got {}.", kWho, classes, classes,
                         options.mask_index);
  const bool searches = options.strategy == "beam_search";
  check<InvalidArgument>(!searches || (options.beam_width >= options.top_paths &&
                                       options.top_paths > 0 && options.beam_width <= 10000),
                         "{}: expected a beam_width in [1, 10000], and at most as many top_paths, "
                         "from 1, got {} and {}.",
                         kWho, options.beam_width, options.top_paths);
  check<InvalidArgument>(!searches || classes > 1,
                         "{}: expected at least one class besides that of blanks, got shape {}.",
                         kWho, inputs.shape());
  const auto decode = [=](const Tensors& in) {
    const Tensor logits = to_accumulator(in[0]), lengths = cast(in[1], DType::Int32);
    const int64_t blank =
        options.mask_index < 0 ? options.mask_index + classes : options.mask_index;
    return searches ? beam_search(logits, lengths, options, blank)
                    : greedy(logits, lengths, options, blank);
  };
  const Tensors given = {inputs, sequence_lengths};
  const Tensors result = any_placeholder(given) ? apply_whole(kWho, given, decode) : decode(given);
  return {result[0], result[1]};
}

}  // namespace cornu::ops
