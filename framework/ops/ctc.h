// SPDX-License-Identifier: Apache-2.0
// Connectionist temporal classification (Graves et al., ICML 2006): labels that aren't aligned in
// time. A path has a class for each step; it spells out its classes, with equal neighbors merged
// and blanks removed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "framework/core/tensor.h"

namespace cornu::ops {

// -log of the total probability of all paths that spell out the labels: (batch,), in output's
// dtype, at least float32. target (batch, length): classes, of which the first target_length
// (batch,) count; output (batch, steps, classes): logits, of which the first output_length (batch,)
// count. mask_index is the class of blanks; negative values count from the end. If there are too
// few steps (one per label, and one between equal neighbors), the loss is about 707 higher than for
// labels that fit, as in Keras on TensorFlow, so that a batch's loss stays finite. Throws
// OutOfRange at run time for labels that aren't classes.
Tensor ctc_loss(const Tensor& target, const Tensor& output, const Tensor& target_length,
                const Tensor& output_length, int64_t mask_index = 0);

struct CtcDecodeOptions {
  std::string strategy = "greedy";  // or "beam_search"
  int64_t beam_width = 100;         // for beam search: number of sequences to follow
  int64_t top_paths = 1;            // for beam search: number of results, at most beam_width
  bool merge_repeated = true;       // for greedy: merge equal neighbors
  int64_t mask_index = 0;           // class of blanks; negative values count from the end
};

// Decodes logits (batch, steps, classes), of which the first sequence_lengths (batch,) steps count.
// Returns int32 labels (paths, batch, steps), with -1 after the end of each, and scores.
// - "greedy": takes the most likely class at each step; the score is -sum of its logits, (batch,
//   1).
// - "beam_search": the label sequences with the highest total probability over all their paths,
//   most likely first; scores are the logarithms of the probabilities, (batch, top_paths). If there
//   are fewer sequences, the scores of the rest are -infinity. (TensorFlow also loses the
//   continuations of a sequence that another one of the same step has displaced before its turn, so
//   with narrow beams it may find other sequences.)
// No gradient flows through the labels.
std::pair<Tensor, Tensor> ctc_decode(const Tensor& inputs, const Tensor& sequence_lengths,
                                     const CtcDecodeOptions& options = {});

}  // namespace cornu::ops
