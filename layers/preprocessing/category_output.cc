// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/category_output.h"

#include <algorithm>

#include "framework/core/checked.h"
#include "framework/core/strings.h"
#include "framework/ops/ops.h"

namespace cornu::layers {
namespace {

// Counts how often each number occurs along the last axis, which then has `depth` elements.
Tensor counts_of(const Tensor& numbers, int64_t depth, DType dtype, const Tensor& weights) {
  const Shape& shape = numbers.shape();
  const int64_t length = shape.back();
  int64_t samples = 1;
  for (int64_t axis = 0; axis + 1 < shape.rank(); ++axis) samples *= shape[axis];
  const int64_t places = checked_multiply(samples, depth, "encode_categories");
  const Tensor in_sample = ops::reshape(ops::cast(numbers, DType::Int64), {samples, length});
  const Tensor first = ops::expand_dims(ops::arange(samples, DType::Int64) * depth, -1);
  const Tensor known = ops::logical_and(in_sample >= 0, in_sample < depth);
  const Tensor place = ops::reshape(ops::where(known, first + in_sample, places), {-1});
  const Tensor amount = weights.defined() ? ops::reshape(ops::cast(weights, dtype), {-1})
                                          : ops::ones({samples * length}, dtype);
  const Tensor sums = ops::slice_axis(ops::segment_sum(amount, place, places + 1), 0, 0, places);
  return ops::reshape(sums, shape.slice(0, shape.rank() - 1).concat({depth}));
}

}  // namespace

Tensor encode_categories(const Tensor& numbers, const std::string& mode, int64_t depth, DType dtype,
                         const Tensor& weights) {
  if (mode == "int") return ops::cast(numbers, dtype);
  Tensor sample = numbers.rank() == 0 ? ops::expand_dims(numbers, -1) : numbers;
  if (mode == "one_hot") {
    if (sample.rank() > 1 && sample.dim(-1) == 1) sample = ops::squeeze(sample, -1);
    return ops::one_hot(sample, depth, -1, dtype);
  }
  const Tensor flat_weights =
      weights.defined() && weights.rank() == 0 ? ops::expand_dims(weights, -1) : weights;
  if (mode == "count") return counts_of(sample, depth, dtype, flat_weights);
  return ops::cast(counts_of(sample, depth, DType::Int32, {}) > 0, dtype);
}

void check_one_of(const std::string& label, const char* what, const std::string& value,
                  const std::vector<std::string>& known) {
  check<InvalidArgument>(std::count(known.begin(), known.end(), value) > 0,
                         "{}: unknown {} '{}'.{}", label, what, value, did_you_mean(value, known));
}

}  // namespace cornu::layers
