// SPDX-License-Identifier: Apache-2.0
// Batches from arrays in memory: what fit(x, y) reads.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "framework/strategy/batch_source.h"

namespace cornu {

struct ArraySourceOptions {
  int64_t batch_size = 32;                    // more than there are rows: all of them
  std::optional<uint64_t> shuffle_seed = {};  // None: in order
};

// Rows of x, y and sample_weight in batches; the last one may be smaller. Shuffled anew in each
// pass: pass k of a source is a function of the seed and k. InvalidArgument when the numbers of
// rows differ, or there are none.
std::shared_ptr<BatchSource> make_array_source(const Tensors& x, const Tensors& y,
                                               const Tensors& sample_weight,
                                               const ArraySourceOptions& options);

// The same batches with sample weights multiplied by their classes' weights; `y` must be a single
// tensor of class indices or one-hot rows. Classes without a weight count 1.
std::shared_ptr<BatchSource> with_class_weight(std::shared_ptr<BatchSource> source,
                                               std::map<int64_t, double> class_weight);

// The first rows and the rest (the last `fraction`, rounded down to whole rows, as Keras splits).
struct SplitArrays {
  Tensors x, y;
  Tensors sample_weight;
  Tensors validation_x, validation_y;
  Tensors validation_sample_weight;
};
SplitArrays split_arrays(const Tensors& x, const Tensors& y, const Tensors& sample_weight,
                         double fraction);

}  // namespace cornu
