// SPDX-License-Identifier: Apache-2.0
// Random numbers (keras.random): counter-based (Philox), so the same seed gives the same bits on
// any number of threads.
//
// A seed is a number, a key tensor (uint32[2]), a SeedGenerator, or none. Without a seed, each call
// draws new numbers from this thread's sequence (set_random_seed); in traced code, so does each
// call of the compiled function (each step of fit, each batch of predict, each iteration of a loop,
// each element of a dataset's map). Values that don't depend on any placeholder are constants of a
// functional model, as in Keras.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "framework/core/tensor.h"
#include "framework/core/variable.h"
#include "framework/ops/arguments.h"

namespace cornu {
namespace random {

// keras.random.SeedGenerator: a sequence of keys with its own state, which continues from call to
// call, and can be saved and restored. Copies share the state, also across threads. Passed as a
// `.seed`, it supplies its next key:
//
//   random::SeedGenerator generator(1337);
//   random::normal({2, 3}, {.seed = generator});
//
// In traced code its state is a variable of the function, like a weight.
class SeedGenerator {
 public:
  // Without a seed, uses the next one of this thread's sequence.
  explicit SeedGenerator(std::optional<int64_t> seed = {});
  // A generator with external state, which was created from initial_state(seed).
  explicit SeedGenerator(Variable state, std::optional<int64_t> seed = {})
      : state_(std::move(state)), seed_(seed) {}
  // uint32[2]: the seed's lower word, and the number of draws so far.
  static Tensor initial_state(const std::optional<int64_t>& seed);

  // The key of the next draw, uint32[2]. In a dataset's map, whose function must not change
  // variables, it is derived from the element's key, and from the seed if one was given: generators
  // with the same seed draw the same numbers there, too.
  Tensor next() const;
  const Variable& state() const { return state_; }

 private:
  Variable state_;
  std::optional<int64_t> seed_;
};

struct NormalOptions {
  double mean = 0.0;
  double stddev = 1.0;
  DTypeLike dtype = DType::Float32;
  Seed seed = {};
};

Tensor normal(const Shape& shape, const NormalOptions& options = {});
// Numbers more than two stddev from the mean are redrawn.
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

// Integers in [minval, maxval), with at most 2^32 different values.
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

// The slices of x along an axis in random order. shuffle, categorical and dropout may be called on
// placeholders: the functional model then draws new numbers on each call.
Tensor shuffle(const Tensor& x, const ShuffleOptions& options = {});

struct CategoricalOptions {
  DTypeLike dtype = DType::Int32;
  Seed seed = {};
};

// Draws num_samples classes for each row of unnormalized log-probabilities (batch, classes).
Tensor categorical(const Tensor& logits, int64_t num_samples,
                   const CategoricalOptions& options = {});

struct DropoutOptions {
  // None: x's shape. Axes of kUnknown take x's size; along an axis of size 1, elements are dropped
  // together.
  std::optional<Shape> noise_shape = {};
  Seed seed = {};
};

// Sets elements to zero with probability `rate` (in [0, 1]), and scales the rest by 1 / (1 - rate).
Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options = {});

}  // namespace random

namespace ops {

namespace internal {
// While alive, seed generators leave their states unchanged and draw from the key of the function
// that this thread traces: for functions that must not change variables.
class DrawsFromTrace {
 public:
  DrawsFromTrace();
  ~DrawsFromTrace();
  DrawsFromTrace(const DrawsFromTrace&) = delete;
  DrawsFromTrace& operator=(const DrawsFromTrace&) = delete;

  // The innermost one of this thread, or null.
  static DrawsFromTrace* current();
  // The key of the next draw of the generator with this state.
  Tensor next(const Variable& state, const std::optional<int64_t>& seed);

 private:
  DrawsFromTrace* outer_;
  std::map<const void*, uint64_t> draws_;  // number so far, by generator
};

// The position at which numbers of this shape start in their key's sequence, in a step of several
// replicas: that of this replica's first example, so that an example's numbers don't depend on the
// number of replicas; if the first axis doesn't consist of examples, each replica draws its own
// numbers. nullopt elsewhere.
std::optional<Tensor> first_number(const Shape& shape);
// The same numbers on all replicas, float32: uniform in [0, 1), and draws of random::gamma.
Tensor shared_uniform(const Tensor& seed, const Shape& shape);
Tensor shared_gamma(const Tensor& seed, const Shape& shape, double alpha);
}  // namespace internal

// The underlying stateless ops. `seed` is a key, uint32[2].
Tensor random_bits(const Tensor& seed, const Shape& shape);  // uint32
Tensor random_uniform(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_normal(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_permutation(const Tensor& seed, int64_t count);  // int32

}  // namespace ops
}  // namespace cornu
