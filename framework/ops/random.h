// SPDX-License-Identifier: Apache-2.0
// Random numbers (keras.random): counter-based (Philox), so that the same seed gives the same bits
// on any number of threads.
//
// A seed is a number, a key tensor (uint32[2]), a SeedGenerator, or nothing. Without one each call
// draws anew from this thread's sequence (set_random_seed); in traced code so does each call of the
// compiled function (each step of fit, each batch of predict, each iteration of a loop, each
// element of a dataset's map). What is computed from no placeholder at all is a constant of a
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

// keras.random.SeedGenerator: a sequence of keys that is state of its own: it resumes from call to
// call, and can be saved and restored. Copies share it, in several threads too. As a `.seed` it
// gives its next key:
//
//   random::SeedGenerator generator(1337);
//   random::normal({2, 3}, {.seed = generator});
//
// In traced code its state is a variable of the function, like a weight.
class SeedGenerator {
 public:
  // Without a seed, the next of this thread's sequence.
  explicit SeedGenerator(std::optional<int64_t> seed = {});
  // A generator over a state that is kept elsewhere, made from initial_state(seed).
  explicit SeedGenerator(Variable state, std::optional<int64_t> seed = {})
      : state_(std::move(state)), seed_(seed) {}
  // uint32[2]: the seed's lower word, and the number of draws so far.
  static Tensor initial_state(const std::optional<int64_t>& seed);

  // The key of the next draw, uint32[2]. In a dataset's map, whose function may change no variable,
  // it is made of that element's key, and of the seed where one was given: generators of one seed
  // draw alike there too.
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

// The slices of x along an axis in random order. This, categorical and dropout may be called on
// placeholders: the functional model then draws anew with each call.
Tensor shuffle(const Tensor& x, const ShuffleOptions& options = {});

struct CategoricalOptions {
  DTypeLike dtype = DType::Int32;
  Seed seed = {};
};

// num_samples class numbers for each row of unnormalized log-probabilities (batch, classes).
Tensor categorical(const Tensor& logits, int64_t num_samples,
                   const CategoricalOptions& options = {});

struct DropoutOptions {
  // None: x's, as axes of kUnknown are; an axis of size 1 is dropped as a whole.
  std::optional<Shape> noise_shape = {};
  Seed seed = {};
};

// Zeros with probability `rate` (in [0, 1]), the rest scaled by 1 / (1 - rate).
Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options = {});

}  // namespace random

namespace ops {

namespace internal {
// While it lives, seed generators leave their states as they are and draw from the key of the
// function that this thread traces: for functions that may change no variable.
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
  std::map<const void*, uint64_t> draws_;  // so far, of each generator
};

// Where numbers of this shape begin in their key's sequence, in a step of several replicas: with
// the first example of this one, so that the number of replicas doesn't change what is drawn for an
// example; each replica's by themselves where the first axis isn't made of examples. Nothing
// elsewhere.
std::optional<Tensor> first_number(const Shape& shape);
// The same on all replicas, float32: in [0, 1), and draws of random::gamma.
Tensor shared_uniform(const Tensor& seed, const Shape& shape);
Tensor shared_gamma(const Tensor& seed, const Shape& shape, double alpha);
}  // namespace internal

// The stateless ops beneath. `seed` is a key, uint32[2].
Tensor random_bits(const Tensor& seed, const Shape& shape);  // uint32
Tensor random_uniform(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_normal(const Tensor& seed, const Shape& shape, DTypeLike dtype = DType::Float32);
Tensor random_permutation(const Tensor& seed, int64_t count);  // int32

}  // namespace ops
}  // namespace cornu
