// SPDX-License-Identifier: Apache-2.0
#include "data/arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "framework/core/error.h"
#include "framework/ops/ops.h"

namespace cornu::data {
namespace {

bool is_at_front(const std::string& place, const char* option) {
  check<InvalidArgument>(place == "pre" || place == "post",
                         "pad_sequences: {}: expected \"pre\" or \"post\", got \"{}\".", option,
                         place);
  return place == "pre";
}

// Whether a number, without its fraction, fits into an integer type.
template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_integral_v<From>) {
    using Whole = std::conditional_t<std::is_same_v<From, bool>, int, From>;
    return std::in_range<To>(static_cast<Whole>(value));
  } else {
    const double whole = std::trunc(static_cast<double>(value));
    return whole >= static_cast<double>(std::numeric_limits<To>::min()) &&
           whole < std::ldexp(1.0, std::numeric_limits<To>::digits);
  }
}

void require_fitting(const Tensor& values, DType dtype) {
  if (!is_integer(dtype) || values.dtype() == dtype) return;
  dispatch_dtype(dtype, [&](auto to) {
    if constexpr (std::is_integral_v<decltype(to)> && !std::is_same_v<decltype(to), bool>) {
      dispatch_dtype(values.dtype(), [&](auto from) {
        for (const auto value : values.data<decltype(from)>()) {
          check<InvalidArgument>(
              fits<decltype(to)>(value),
              "pad_sequences: expected numbers that fit {}, got {}. Give another dtype.", dtype,
              static_cast<double>(value));
        }
      });
    }
  });
}

Tensor filled(const Shape& shape, DType dtype, const PadValue& value) {
  check<InvalidArgument>(
      value.text().has_value() == (dtype == DType::String),
      "pad_sequences: a value that is a {} doesn't go with dtype {}. Texts are filled up with one, "
      ".dtype = \"string\" and .value = \"\", numbers with a number.",
      value.text() ? "text" : "number", dtype);
  if (!value.text()) {
    require_fitting(Tensor::scalar(value.number()), dtype);
    return ops::full(shape, Tensor::scalar(value.number()), dtype);
  }
  Tensor result = Tensor::empty(shape, dtype);
  std::ranges::fill(result.mutable_data<std::string>(), *value.text());
  return result;
}

// Copies `steps` to the elements of `result`, starting at `first`.
void put(const Tensor& steps, Tensor& result, int64_t first) {
  check<InvalidArgument>((steps.dtype() == DType::String) == (result.dtype() == DType::String),
                         "pad_sequences: expected sequences of {}, got {}.",
                         result.dtype() == DType::String ? "texts" : "numbers", steps.dtype());
  const Tensor given = steps.host();
  if (result.dtype() == DType::String) {
    const auto texts = given.data<std::string>();
    std::copy(texts.begin(), texts.end(), result.mutable_data<std::string>().begin() + first);
    return;
  }
  require_fitting(given, result.dtype());
  const Tensor kept = ops::cast(given, result.dtype()).host();
  std::copy_n(kept.raw(), kept.bytes(),
              result.mutable_raw() + static_cast<size_t>(first) * size_of(result.dtype()));
}

}  // namespace

Tensor to_categorical(const Tensor& x, std::optional<int64_t> num_classes) {
  const bool squeezed = x.rank() > 1 && x.dim(-1) == 1;
  const Tensor labels = ops::cast(squeezed ? ops::squeeze(x, -1) : x, DType::Int64).host();
  const std::span<const int64_t> numbers = labels.data<int64_t>();
  const auto greatest = std::ranges::max_element(numbers);
  if (num_classes.value_or(0) == 0) num_classes = greatest == numbers.end() ? 0 : *greatest + 1;
  for (const int64_t number : numbers) {
    check<InvalidArgument>(number >= 0 && number < *num_classes,
                           "to_categorical: expected classes from 0 to {}, got {}. Give another "
                           "num_classes, or count the classes from 0.",
                           *num_classes - 1, number);
  }
  return ops::one_hot(labels, *num_classes);
}

Tensor pad_sequences(const std::vector<Tensor>& sequences, const PadSequencesOptions& options) {
  const bool pad_front = is_at_front(options.padding, "padding");
  const bool cut_front = is_at_front(options.truncating, "truncating");
  check<InvalidArgument>(!options.maxlen || *options.maxlen >= 0,
                         "pad_sequences: expected a maxlen of at least 0, got {}.",
                         options.maxlen.value_or(0));
  int64_t longest = 0;
  std::optional<Shape> step;  // of the first sequence that isn't empty
  for (const Tensor& sequence : sequences) {
    check<InvalidArgument>(sequence.rank() > 0,
                           "pad_sequences: expected sequences (steps, …), got a number.");
    longest = std::max(longest, sequence.dim(0));
    if (sequence.dim(0) == 0) continue;
    const Shape here = sequence.shape().slice(1);
    if (!step) step = here;
    check<InvalidArgument>(
        here == *step, "pad_sequences: expected steps of one shape, got {} and {}.", *step, here);
  }
  const int64_t length = options.maxlen.value_or(longest);
  const Shape one = step.value_or(Shape());
  const Shape shape = Shape{std::ssize(sequences), length}.concat(one);
  Tensor result = filled(shape, DType(options.dtype), options.value);
  int64_t row = 0;  // offset of the row's first element
  for (const Tensor& sequence : sequences) {
    const int64_t steps = std::min(sequence.dim(0), length);
    if (steps > 0) {
      const int64_t begin = cut_front ? sequence.dim(0) - steps : 0;
      const int64_t skipped = pad_front ? length - steps : 0;
      put(sequence.rows(begin, begin + steps), result, row + skipped * one.num_elements());
    }
    row += length * one.num_elements();
  }
  return result;
}

}  // namespace cornu::data
