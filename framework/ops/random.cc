// SPDX-License-Identifier: Apache-2.0
#include "framework/ops/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "framework/core/random.h"
#include "framework/graph/replica.h"
#include "framework/graph/trace.h"
#include "framework/ops/definition.h"
#include "framework/ops/index.h"
#include "framework/ops/math.h"
#include "framework/ops/nn.h"
#include "framework/ops/numeric.h"
#include "framework/ops/reduce.h"
#include "framework/ops/shape.h"

namespace cornu::ops {

using namespace internal;

namespace {

// Checks a key and, in a step of several replicas, the position of the first number in the key's
// sequence.
void require_seed(TypeSpan inputs, std::string_view who) {
  require_inputs(inputs.first(std::min<size_t>(inputs.size(), 1)), 1, who);
  check<InvalidArgument>(
      inputs.size() == 1 ||
          (inputs.size() == 2 && inputs[1].dtype == DType::Int64 && inputs[1].shape.rank() == 0),
      "{}: expected a seed and an int64 offset, got {} inputs.", who, inputs.size());
  check<InvalidArgument>(inputs[0].dtype == DType::UInt32 && inputs[0].shape == Shape{2},
                         "{}: expected a seed of two uint32 words, got {} {}.", who,
                         inputs[0].dtype, inputs[0].shape);
}

void add_random(OpRegistry& registry, const std::string& name) {
  registry.add({.name = name,
                .infer =
                    [name](TypeSpan in, const Attributes& a) {
                      require_seed(in, name);
                      const DType dtype = a.get_dtype("dtype");
                      check<InvalidArgument>(is_floating(dtype),
                                             "{}: expected a float dtype, got {}.", name, dtype);
                      require_sizes(a.get_shape("shape"), name);
                      return Types{{dtype, a.get_shape("shape")}};
                    },
                .vjp = {},
                .traits = {.differentiable = false}});
}

// A key is drawn for use in other draws: it is the same on all replicas.
bool is_key(const Shape& shape) { return shape == Shape{2}; }

std::vector<Tensor> placed(const Tensor& seed, const Shape& shape) {
  const auto offset = internal::first_number(shape);
  return offset ? std::vector<Tensor>{seed, *offset} : std::vector<Tensor>{seed};
}

// A function of random:: that a functional model keeps whole, so that it draws new numbers on each
// call. Its seed is an attribute, or a key after x.
template <class F>
void add_whole(OpRegistry& registry, const std::string& name, F f) {
  registry.add({.name = name,
                .infer = [name](TypeSpan, const Attributes&) -> Types {
                  raise<InvalidArgument>("{}: graphs don't hold it, but the ops it is made of.",
                                         name);
                },
                .vjp = {},
                .traits = {},
                .expand =
                    [f](const std::vector<Tensor>& in, const Attributes& a) {
                      Seed seed;
                      if (a.find("seed")) seed = a.get_int("seed");
                      if (in.size() > 1) seed = in[1];
                      return std::vector<Tensor>{f(in[0], a, seed)};
                    }});
}

void register_whole(OpRegistry& registry) {
  add_whole(registry, "random_shuffle", [](const Tensor& x, const Attributes& a, const Seed& seed) {
    return random::shuffle(x, {.axis = a.get_int("axis"), .seed = seed});
  });
  add_whole(registry, "random_categorical",
            [](const Tensor& logits, const Attributes& a, const Seed& seed) {
              return random::categorical(logits, a.get_int("num_samples"),
                                         {.dtype = a.get_dtype("dtype"), .seed = seed});
            });
  add_whole(registry, "random_dropout", [](const Tensor& x, const Attributes& a, const Seed& seed) {
    random::DropoutOptions options{.seed = seed};
    if (a.find("noise_shape")) options.noise_shape = a.get_shape("noise_shape");
    return random::dropout(x, a.get_double("rate"), options);
  });
}

}  // namespace

void register_random(OpRegistry& registry) {
  register_whole(registry);
  add_random(registry, "random_uniform");
  add_random(registry, "random_normal");
  registry.add({.name = "random_bits",
                .infer =
                    [](TypeSpan in, const Attributes& a) {
                      require_seed(in, "random_bits");
                      require_sizes(a.get_shape("shape"), "random_bits");
                      return Types{{DType::UInt32, a.get_shape("shape")}};
                    },
                .vjp = {},
                .traits = {.differentiable = false}});
  registry.add({.name = "random_permutation",
                .infer =
                    [](TypeSpan in, const Attributes& a) {
                      require_seed(in, "random_permutation");
                      require_sizes(Shape{a.get_int("count")}, "random_permutation");
                      return Types{{DType::Int32, Shape{a.get_int("count")}}};
                    },
                .vjp = {},
                .traits = {.differentiable = false}});
}

namespace internal {

std::optional<Tensor> first_number(const Shape& shape) {
  const Replica* replica = current_replica();
  if (!current_tracer() || !replica || replica->count == 1) return {};
  const int64_t examples = replica->examples;
  if (shape.num_elements() == 0) return {};
  const bool by_example = shape.rank() > 0 && examples > 0 &&
                          (shape[0] == examples || (shape.rank() > 1 && shape[0] % examples == 0));
  // Far apart, since other replicas' numbers may have other sizes.
  if (!by_example) return multiply(replica_value(ReplicaValue::Id), int64_t{1} << 40);
  return multiply(replica_value(ReplicaValue::FirstExample), shape.num_elements() / examples);
}

namespace {
thread_local DrawsFromTrace* innermost_draws = nullptr;
}  // namespace

DrawsFromTrace::DrawsFromTrace() : outer_(innermost_draws) { innermost_draws = this; }
DrawsFromTrace::~DrawsFromTrace() { innermost_draws = outer_; }
DrawsFromTrace* DrawsFromTrace::current() { return innermost_draws; }

Tensor DrawsFromTrace::next(const Variable& state, const std::optional<int64_t>& seed) {
  const auto draw = seed ? next_traced_draw() : std::nullopt;
  if (!draw) return Seed().key();
  const auto words = philox(static_cast<uint64_t>(*seed), draws_[state.id()]++);
  return draw->key ^ Tensor::from<uint32_t>({words[0], words[1]});
}

Tensor shared_uniform(const Tensor& seed, const Shape& shape) {
  return call<"random_uniform">({seed}, {{"shape", shape.dims()}, {"dtype", DType::Float32}});
}

}  // namespace internal

Tensor random_uniform(const Tensor& seed, const Shape& shape, DTypeLike dtype) {
  return call<"random_uniform">(placed(seed, shape), {{"shape", shape.dims()}, {"dtype", dtype}});
}

Tensor random_normal(const Tensor& seed, const Shape& shape, DTypeLike dtype) {
  return call<"random_normal">(placed(seed, shape), {{"shape", shape.dims()}, {"dtype", dtype}});
}

Tensor random_bits(const Tensor& seed, const Shape& shape) {
  const bool key = is_key(shape);
  return call<"random_bits">(key ? std::vector<Tensor>{seed} : placed(seed, shape),
                             {{"shape", shape.dims()}});
}

Tensor random_permutation(const Tensor& seed, int64_t count) {
  check<InvalidArgument>(count >= 0 && count <= INT32_MAX,
                         "permutation: expected a count in [0, 2^31), got {}.", count);
  return call<"random_permutation">({seed}, {{"count", count}});
}

}  // namespace cornu::ops

namespace cornu::random {

SeedGenerator::SeedGenerator(std::optional<int64_t> seed)
    : state_(initial_state(seed), {.name = "seed_generator_state", .trainable = false}),
      seed_(seed) {}

Tensor SeedGenerator::initial_state(const std::optional<int64_t>& seed) {
  return Tensor::from<uint32_t>({static_cast<uint32_t>(seed_or_next(seed)), 0});
}

Tensor SeedGenerator::next() const {
  if (auto* draws = ops::internal::DrawsFromTrace::current()) return draws->next(state_, seed_);
  Tensor key;
  state_.update([&](const Tensor& now) {
    key = now;
    return ops::add(now, Tensor::from<uint32_t>({0, 1}));
  });
  return key;
}

namespace {

template <ops::internal::OpName kName>
Tensor call_whole(const Tensor& x, Attributes attributes, const Seed& seed) {
  check<FailedPrecondition>(!seed.is_generators(),
                            "{}: got a SeedGenerator with a placeholder, where its next draw would "
                            "stand for those of all calls. Draw within a layer's call, and track "
                            "the generator there; or omit the seed, for new draws in each call.",
                            ops::internal::op<kName>().name);
  if (seed.value()) attributes.set("seed", *seed.value());
  std::vector<Tensor> inputs = {x};
  if (seed.is_key()) inputs.push_back(seed.key());
  return ops::internal::call<kName>(inputs, attributes);
}

bool is_of_model(const Tensor& x) { return x.is_symbolic() && !current_tracer(); }

Tensor scaled(const Tensor& z, const NormalOptions& options) {
  return options.stddev == 1 && options.mean == 0 ? z : z * options.stddev + options.mean;
}

}  // namespace

Tensor normal(const Shape& shape, const NormalOptions& options) {
  return scaled(ops::random_normal(options.seed.key(), shape, options.dtype), options);
}

// By inversion: the normal quantile of a uniform number between the probabilities of -2 and 2.
Tensor truncated_normal(const Shape& shape, const NormalOptions& options) {
  check<InvalidArgument>(is_floating(options.dtype),
                         "truncated_normal: expected a float dtype, got {}.", options.dtype);
  const double bound = std::erf(2 / std::numbers::sqrt2);
  const DType wide = promote(options.dtype, DType::Float32);  // 16 bits are too few for the tails
  const Tensor u = ops::random_uniform(options.seed.key(), shape, wide);
  const Tensor z = ops::erfinv((u * 2 - 1) * bound) * std::numbers::sqrt2;
  return ops::cast(scaled(ops::clip(z, -2, 2), options), options.dtype);
}

namespace {

// The number before x, which is finite.
template <class T>
T number_before(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::nextafter(x, -std::numeric_limits<T>::infinity());
  } else {  // 16 bits
    const bool negative = (x.bits & 0x8000) != 0;
    x.bits =
        static_cast<float>(x) == 0 ? 0x8001 : static_cast<uint16_t>(x.bits + (negative ? 1 : -1));
    return x;
  }
}

// The largest number of a floating-point dtype that is less than `bound`, which sums may be rounded
// to; at least `least`.
double largest_below(double bound, double least, DType dtype) {
  return dispatch_dtype(dtype, [&](auto zero) -> double {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      return bound;
    } else {
      T nearest(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(bound));
      const bool fits = std::isfinite(static_cast<double>(nearest));
      if (fits && static_cast<double>(nearest) >= bound) nearest = number_before(nearest);
      return std::max(static_cast<double>(nearest), least);
    }
  });
}

}  // namespace

Tensor uniform(const Shape& shape, const UniformOptions& options) {
  const Tensor u = ops::random_uniform(options.seed.key(), shape, options.dtype);
  if (options.minval == 0 && options.maxval == 1) return u;
  const Tensor numbers = u * (options.maxval - options.minval) + options.minval;
  if (options.maxval <= options.minval) return numbers;
  return ops::minimum(numbers, largest_below(options.maxval, options.minval, options.dtype));
}

Tensor randint(const Shape& shape, int64_t minval, int64_t maxval, const RandintOptions& options) {
  check<InvalidArgument>(is_integer(options.dtype), "randint: expected an integer dtype, got {}.",
                         options.dtype);
  check<InvalidArgument>(
      minval < maxval && Checked(maxval, "randint") - minval <= (int64_t{1} << 32),
      "randint: expected minval < maxval, at most 2^32 apart, got {} and {}.", minval, maxval);
  const int64_t range = maxval - minval;
  return ops::internal::at_once<"randint">(
      {ops::random_bits(options.seed.key(), shape)},
      {{"minval", minval}, {"range", range}, {"dtype", options.dtype}},
      [&](const std::vector<Tensor>& in) {
        // The high word of bits * range (Lemire's multiplication, without the rejection).
        const Tensor product =
            ops::cast(in[0], DType::UInt64) * Tensor::scalar(static_cast<uint64_t>(range));
        const Tensor high = ops::right_shift(product, Tensor::scalar(uint64_t{32}));
        return ops::cast(ops::cast(high, DType::Int64) + Tensor::scalar(minval), options.dtype);
      });
}

Tensor permutation(int64_t count, const SeedOptions& options) {
  return ops::random_permutation(options.seed.key(), count);
}

Tensor shuffle(const Tensor& x, const ShuffleOptions& options) {
  const int64_t axis = x.shape().normalize_axis(options.axis, "shuffle");
  if (is_of_model(x)) return call_whole<"random_shuffle">(x, {{"axis", axis}}, options.seed);
  return ops::take(x, permutation(x.dim(axis), {.seed = options.seed}), axis);
}

// By the Gumbel-max trick: the index of the largest of logits plus Gumbel noise.
Tensor categorical(const Tensor& logits, int64_t num_samples, const CategoricalOptions& options) {
  check<InvalidArgument>(logits.rank() == 2,
                         "categorical: expected logits (batch, classes), got shape {}.",
                         logits.shape());
  check<InvalidArgument>(num_samples >= 0, "categorical: expected num_samples from 0, got {}.",
                         num_samples);
  if (is_of_model(logits)) {
    return call_whole<"random_categorical">(
        logits, {{"num_samples", num_samples}, {"dtype", options.dtype}}, options.seed);
  }
  const Shape shape = {logits.dim(0), num_samples, logits.dim(1)};
  const Tensor u = ops::random_uniform(options.seed.key(), shape);
  const Tensor noise = -ops::log(-ops::log(ops::maximum(u, 1e-20)));
  return ops::cast(ops::argmax(ops::expand_dims(logits, 1) + noise, -1), options.dtype);
}

Tensor dropout(const Tensor& x, double rate, const DropoutOptions& options) {
  check<InvalidArgument>(rate >= 0 && rate <= 1, "dropout: expected a rate in [0, 1], got {}.",
                         rate);
  if (rate == 0) return x;
  if (is_of_model(x)) {
    Attributes attributes{{"rate", rate}};
    if (options.noise_shape) attributes.set("noise_shape", options.noise_shape->dims());
    return call_whole<"random_dropout">(x, std::move(attributes), options.seed);
  }
  Shape shape = options.noise_shape.value_or(x.shape());
  // Noise that is shared by all examples is the same on all replicas.
  const bool shared = options.noise_shape && shape.rank() > 0 && shape[0] == 1;
  check<InvalidArgument>(shape.rank() <= x.rank(),
                         "dropout: expected a noise_shape of at most {} axes, got {}.", x.rank(),
                         shape);
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == kUnknown) shape[axis] = x.shape()[axis + x.rank() - shape.rank()];
  }
  const Tensor u = shared ? ops::internal::shared_uniform(options.seed.key(), shape)
                          : ops::random_uniform(options.seed.key(), shape);
  const double scale = rate < 1 ? 1 / (1 - rate) : 0;
  return ops::where(u >= rate, x * scale, 0);
}

}  // namespace cornu::random
