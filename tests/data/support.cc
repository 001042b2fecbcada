// SPDX-License-Identifier: Apache-2.0
#include "tests/data/support.h"

#include <numeric>

namespace cornu::testing {

std::vector<int64_t> numbers(const Tensor& tensor) {
  std::vector<int64_t> result;
  dispatch_dtype(tensor.dtype(), [&](auto t) {
    for (auto value : tensor.data<decltype(t)>()) result.push_back(static_cast<int64_t>(value));
  });
  return result;
}

std::vector<int64_t> numbers(data::Iterator& iterator, int64_t limit) {
  std::vector<int64_t> result;
  data::Element element;
  for (int64_t i = 0; i < limit && iterator.next(element); ++i) {
    for (const Tensor& tensor : element.tensors()) {
      const auto part = numbers(tensor);
      result.insert(result.end(), part.begin(), part.end());
    }
  }
  return result;
}

std::vector<int64_t> numbers(const data::Dataset& dataset, int64_t limit) {
  auto iterator = dataset.iterator();
  return numbers(iterator, limit);
}

data::Dataset rows_to(int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return data::Dataset::from_tensor_slices(Tensor::from(values));
}

}  // namespace cornu::testing
