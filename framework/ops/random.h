// SPDX-License-Identifier: Apache-2.0
// Random numbers (keras.random): counter-based (Philox), so that the same seed gives the same bits
// on any number of threads.
//
// A seed is a number, a key tensor (uint32[2], from a seed generator), or nothing: the next one of
// this thread's sequence. In traced code the latter is drawn once, at the trace: layers that draw
// anew in each step (dropout) pass keys of a seed generator.
#pragma once

#include <cstdint>
#include <optional>

#include "cornu/core/tensor.h"
#include "cornu/ops/arguments.h"

namespace cornu {
namespace random {

struct NormalOptions {
  double mean = 0.0;
  double stddev = 1.0;
  DTypeLike dtype = DType::Float32;
  Seed seed = {};
};

Tensor normal(const Shape& shape, const NormalOptions& options = {});
// Drawn again where more than two stddev from the mean.
Tensor truncated_normal(const Shape& shape, const NormalOptions& options = {});

struct UniformOptions {
  double minval = 0.0;
  double maxval = 1.0;  // exclusive
  DTypeLike dtype = DType::Float32;
  Seed seed = {};
};

Tensor uniform(const Shape& shape, const UniformOptions& options = {});

struct RandintOptions {
  DTypeLike dtype = DType::Int32;
  Seed seed = {};
};

// Integers in [minval, maxval); at most 2^32 different ones.
Tensor randint(const Shape& shape, int64_t minval, int64_t maxval,
               const RandintOptions& options = {});

struct SeedOptions {
  Seed seed = {};
};

// 0, …, count - 1 in random order, int32.
Tensor permutation(int64_t count, const SeedOptions& options = {});

struct ShuffleOptions {
  int64_t axis = 0;
  Seed seed = {};
};

// The slices of x along an axis in random order.
Tensor shuffle(const Tensor& x, const ShuffleOptions& options = {});

struct CategoricalOptions {
  DTypeLike dtype = DType::Int32;
  Seed seed = {};
};

// num_samples class numbers for each row of unnormalized log-probabilities (batch, classes).
Tensor categorical(const Tensor& logits, int64_t num_samples,
                   const CategoricalOptions& options = {});

struct DropoutOptions {
  std::optional<Shape> noise_shape = {};  // None: x's; an axis of size 1 is dropped as a whole
  Seed seed = {};
};

// Zeros with probability `rate` (in [0, 1]), the rest scaled by 1 / (1 - rate).
Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options = {});

}  // namespace random

namespace ops {

// The stateless ops beneath. `seed` is a key, uint32[2].
Tensor random_bits(const Tensor& seed, const Shape& shape);  // uint32
Tensor random_uniform(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_normal(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_permutation(const Tensor& seed, int64_t count);  // int32

}  // namespace ops
}  // namespace cornu
