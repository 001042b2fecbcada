// SPDX-License-Identifier: Apache-2.0
// Label and sequence utilities (keras.utils.to_categorical, keras.utils.pad_sequences).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/core/tensor.h"

namespace cornu::data {

// One-hot encodes class indices: (…) -> (…, num_classes), float32. `num_classes` defaults to the
// greatest index plus 1. As in Keras, a last axis of size 1 is removed first. Throws
// InvalidArgument for indices outside [0, num_classes).
Tensor to_categorical(const Tensor& x, std::optional<int64_t> num_classes = {});

// A number or a string.
class PadValue {
 public:
  template <class T>
  requires std::is_arithmetic_v<T> PadValue(T number)  // NOLINT: implicit on purpose
      : number_(static_cast<double>(number)) {}
  PadValue(std::string text) : text_(std::move(text)) {}       // NOLINT
  PadValue(const char* text) : PadValue(std::string(text)) {}  // NOLINT
  double number() const { return number_; }
  const std::optional<std::string>& text() const { return text_; }  // nullopt: a number

 private:
  double number_ = 0;
  std::optional<std::string> text_;
};

// Arguments of pad_sequences, in Keras's order.
struct PadSequencesOptions {
  std::optional<int64_t> maxlen = {};  // nullopt: the length of the longest sequence
  DTypeLike dtype = DType::Int32;
  std::string padding = "pre";     // or "post": where shorter sequences are padded
  std::string truncating = "pre";  // or "post": where longer sequences are truncated
  PadValue value = 0.0;            // the padding value
};

// Pads or truncates sequences to one length: (sequences, maxlen), or (sequences, maxlen, …) for
// sequences of shape (steps, …). Strings need dtype "string" and a string as value. Throws
// InvalidArgument for an unknown padding or truncating mode, a negative maxlen, steps of different
// shapes, and strings mixed with numbers.
Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options = {});
// Overload for lists of numbers or strings, as returned by datasets::imdb::load_data.
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
