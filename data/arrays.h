// SPDX-License-Identifier: Apache-2.0
// Labels and sequences as arrays (keras.utils.to_categorical, keras.utils.pad_sequences).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

// Numbers of classes, counted from 0, as vectors of `num_classes` (None: the greatest number plus
// 1) zeros with a one at the class: (…) -> (…, num_classes), float32. A last axis of size 1 is left
// out first, as in Keras. InvalidArgument for numbers that aren't of these classes.
Tensor to_categorical(const Tensor& x, std::optional<int64_t> num_classes = {});

// A number, or a text.
class PadValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> PadValue(T number)  // NOLINT: implicit on purpose
      : number_(static_cast<double>(number)) {}
  PadValue(std::string text) : text_(std::move(text)) {}       // NOLINT
  PadValue(const char* text) : PadValue(std::string(text)) {}  // NOLINT
  double number() const { return number_; }
  const std::optional<std::string>& text() const { return text_; }  // none: a number

 private:
  double number_ = 0;
  std::optional<std::string> text_;
};

// Arguments of pad_sequences, in Keras's order.
struct PadSequencesOptions {
  std::optional<int64_t> maxlen = {};  // None: the longest one's length
  DTypeLike dtype = DType::Int32;
  std::string padding = "pre";     // or "post": where shorter ones are filled up
  std::string truncating = "pre";  // or "post": where longer ones lose steps
  PadValue value = 0.0;            // what they are filled up with
};

// Sequences of one length: (sequences, maxlen), or (sequences, maxlen, …) of sequences (steps, …).
// Of texts with dtype "string" and a text as value. InvalidArgument for an unknown place, a maxlen
// below 0, steps of different shapes, and texts beside numbers.
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});
// Of lists of numbers or texts, as datasets::imdb::load_data gives them.
template <class T>
requires(std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) Tensor
    pad_sequences(const std::vector<std::vector<T>>& sequences,
                  const PadSequencesOptions& options = {}) {
  std::vector<Tensor> tensors;
  tensors.reserve(sequences.size());
  for (const std::vector<T>& sequence : sequences) tensors.push_back(Tensor::from(sequence));
  return pad_sequences(tensors, options);
}

}  // namespace cornu::data
