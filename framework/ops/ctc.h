// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al., ICML 2006): labels without a place in time.
// A path has a class for each step; it says its classes, equal neighbours once, without blanks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::ops {

// -log of the probability of all paths that say the labels: (batch,), in output's dtype, at least
// float32. target (batch, length): classes, of which the first target_length (batch,) count; output
// (batch, steps, classes): logits, of which the first output_length (batch,) count. mask_index is
// the class of blanks; a negative one counts from the end. Where there are too few steps (one for
// each label, and one between equal neighbours), about 707 more than for labels that fit, as Keras
// has it on TensorFlow, so that a batch's loss stays finite. OutOfRange for labels that are no
// classes, when it runs.
Tensor ctc_loss(const Tensor& target, const Tensor& output, const Tensor& target_length,
                const Tensor& output_length, int64_t mask_index = 0);

struct CtcDecodeOptions {
  std::string strategy = "greedy";  // or "beam_search"
  int64_t beam_width = 100;         // of beam search: how many sequences are followed
  int64_t top_paths = 1;            // of beam search: how many are given, at most beam_width
  bool merge_repeated = true;       // of the greedy one: equal neighbours are one
  int64_t mask_index = 0;           // the class of blanks; a negative one counts from the end
};

// What logits (batch, steps, classes), of which the first sequence_lengths (batch,) steps count,
// say: int32 (paths, batch, steps), -1 behind the end of each; and scores.
// - "greedy": of the likeliest class at each step; -sum of its logits, (batch, 1).
// - "beam_search": the sequences of labels that are likeliest over all their paths, likeliest
//   first; the logarithms of their probabilities, (batch, top_paths). Where there are fewer, the
//   others have -infinity. (TensorFlow's loses what follows from a sequence, too, which another one
//   of the same step has driven out before its turn; so where beams are narrow it may find others.)
// No gradient flows through the labels.
std::pair<Tensor, Tensor> ctc_decode(const Tensor& inputs, const Tensor& sequence_lengths,
                                     const CtcDecodeOptions& options = {});

}  // namespace cornu::ops
