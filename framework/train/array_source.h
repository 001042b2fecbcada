// SPDX-License-Identifier: Apache-2.0
// Batches from in-memory arrays, as read by fit(x, y).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "framework/strategy/batch_source.h"

namespace cornu {

struct ArraySourceOptions {
  // Larger than the number of rows: all rows. None: so many that `steps` batches have all rows, as
  // in Keras, or 32.
  std::optional<int64_t> batch_size = {};
  std::optional<int64_t> steps = {};
  std::optional<uint64_t> shuffle_seed = {};  // None: not shuffled
};

// The inputs without those that have a name and are undefined (Python's None): they aren't given.
Tensors given_inputs(const Tensors& x);

// Batches of rows of x (given_inputs of it), y and sample_weight; the last batch may be smaller.
// Reshuffled in each pass: the order of pass k depends only on the seed and k. Throws
// InvalidArgument when the numbers of rows differ or there are no rows.
std::shared_ptr<BatchSource> make_array_source(const Tensors& x, const Tensors& y,
                                               const Tensors& sample_weight,
                                               const ArraySourceOptions& options);

// The same batches with the class weights as sample weights. `y` must be a single tensor of class
// indices or one-hot rows. Classes without a weight have weight 1. The iterators throw
// InvalidArgument for other targets, and for batches that have sample weights of their own.
std::shared_ptr<BatchSource> with_class_weight(std::shared_ptr<BatchSource> source,
                                               std::map<int64_t, double> class_weight);

// The first rows, and the last `fraction` for validation; where they don't come out even, a row
// more for validation, like Keras.
struct SplitArrays {
  Tensors x, y;
  Tensors sample_weight;
  Tensors validation_x, validation_y;
  Tensors validation_sample_weight;
};
SplitArrays split_arrays(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
                         double fraction);

}  // namespace cornu
