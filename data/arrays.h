// SPDX-License-Identifier: Apache-2.0
// Labels and sequences as arrays (keras.utils.to_categorical, keras.utils.pad_sequences).
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

// Numbers of classes, counted from 0, as vectors of `num_classes` (None: the greatest number plus
// 1) zeros with a one at the class: (…) -> (…, num_classes), float32. A last axis of size 1 is left
// out first, as in Keras. InvalidArgument for numbers that aren't of these classes.
Tensor to_categorical(const Tensor& x, std::optional<int64_t> num_classes = {});

// Arguments of pad_sequences, in Keras's order.
struct PadSequencesOptions {
  std::optional<int64_t> maxlen = {};  // None: the longest one's length
  DTypeLike dtype = DType::Int32;
  std::string padding = "pre";     // or "post": where shorter ones are filled up
  std::string truncating = "pre";  // or "post": where longer ones lose steps
  double value = 0.0;              // what they are filled up with
};

// Sequences of one length: (sequences, maxlen), or (sequences, maxlen, …) of sequences (steps, …).
// InvalidArgument for an unknown place, a maxlen below 0, and steps of different shapes.
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});
// Of lists of numbers, as datasets::imdb::load_data gives them.
template <class T>
requires std::is_arithmetic_v<T> Tensor pad_sequences(const std::vector<std::vector<T>>& sequences,
                                                      const PadSequencesOptions& options = {}) {
  std::vector<Tensor> tensors;
  tensors.reserve(sequences.size());
  for (const std::vector<T>& sequence : sequences) tensors.push_back(Tensor::from(sequence));
  return pad_sequences(tensors, options);
}

}  // namespace cornu::data
