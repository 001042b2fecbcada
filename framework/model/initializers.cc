// SPDX-License-Identifier: Apache-2.0
#include "framework/model/initializers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "framework/core/random.h"
#include "framework/core/threads.h"
#include "framework/model/constants.h"
#include "framework/model/register.h"
#include "framework/model/serialized.h"
#include "framework/ops/ops.h"

namespace cornu::initializers {
namespace {

// Returns a tensor whose element i is `value(i)`, computed in parallel.
template <class F>
Tensor generate(const Shape& shape, DType dtype, const F& value) {
  Tensor tensor = Tensor::empty(shape, dtype);
  dispatch_dtype(dtype, [&](auto t) {
    using T = decltype(t);
    const auto out = tensor.mutable_data<T>();
    parallel_for(static_cast<int64_t>(out.size()), 32768, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
          out[static_cast<size_t>(i)] = T(static_cast<float>(value(i)));
        } else {
          out[static_cast<size_t>(i)] = static_cast<T>(value(i));
        }
      }
    });
  });
  return tensor;
}

void require_floating(const char* who, DType dtype) {
  check<InvalidArgument>(is_floating(dtype), "{}: expected a floating dtype, got {}.", who, dtype);
}

// Two independent standard normal values (Box & Muller, 1958).
std::array<double, 2> normal_pair(uint32_t first, uint32_t second) {
  const double radius = std::sqrt(-2.0 * std::log((first + 0.5) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * (second + 0.5) * 0x1p-32;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

Tensor normal(const Shape& shape, DType dtype, double mean, double stddev,
              const std::optional<int64_t>& seed) {
  require_floating("RandomNormal", dtype);
  const uint64_t key = seed_or_next(seed);
  return generate(shape, dtype, [=](int64_t i) {
    const auto block = philox(key, static_cast<uint64_t>(i) / 4);
    const size_t word = static_cast<size_t>(i) % 4 / 2 * 2;
    return mean + stddev * normal_pair(block[word], block[word + 1])[static_cast<size_t>(i) % 2];
  });
}

Tensor truncated_normal(const Shape& shape, DType dtype, double mean, double stddev,
                        const std::optional<int64_t>& seed) {
  require_floating("TruncatedNormal", dtype);
  const uint64_t key = seed_or_next(seed);
  return generate(shape, dtype, [=](int64_t i) {
    for (uint64_t attempt = 0;; ++attempt) {
      const auto block = philox(key, static_cast<uint64_t>(i), attempt);
      for (size_t word : {0, 2}) {
        for (double value : normal_pair(block[word], block[word + 1])) {
          if (std::abs(value) <= 2.0) return mean + stddev * value;
        }
      }
    }
  });
}

Tensor uniform(const Shape& shape, DType dtype, double low, double high,
               const std::optional<int64_t>& seed) {
  require_floating("RandomUniform", dtype);
  const uint64_t key = seed_or_next(seed);
  return generate(shape, dtype, [=](int64_t i) {
    const auto block = philox(key, static_cast<uint64_t>(i) / 4);
    return low + (high - low) * to_unit_float(block[static_cast<size_t>(i) % 4]);
  });
}

struct Fans {
  double in = 1;
  double out = 1;
};

double product_of(const Shape& shape, const std::vector<int64_t>& axes) {
  double product = 1;
  for (int64_t axis : axes) {
    product *= static_cast<double>(shape[shape.normalize_axis(axis, "VarianceScaling")]);
  }
  return product;
}

Fans compute_fans(const Shape& shape, const VarianceScalingOptions& options) {
  if (options.input_axes && options.output_axes) {
    return {product_of(shape, *options.input_axes), product_of(shape, *options.output_axes)};
  }
  if (shape.empty()) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const auto window = static_cast<double>(shape.slice(0, shape.rank() - 2).num_elements());
  return {static_cast<double>(shape[shape.rank() - 2]) * window,
          static_cast<double>(shape.back()) * window};
}

}  // namespace

template <class Fields>
void visit_fields(Fields& fields, RandomNormalOptions& options) {
  fields("seed", options.seed);
  fields("mean", options.mean);
  fields("stddev", options.stddev);
}
template <class Fields>
void visit_fields(Fields& fields, TruncatedNormalOptions& options) {
  fields("seed", options.seed);
  fields("mean", options.mean);
  fields("stddev", options.stddev);
}
template <class Fields>
void visit_fields(Fields& fields, RandomUniformOptions& options) {
  fields("seed", options.seed);
  fields("minval", options.minval);
  fields("maxval", options.maxval);
}
template <class Fields>
void visit_fields(Fields& fields, VarianceScalingOptions& options) {
  fields("seed", options.seed);
  fields("scale", options.scale);
  fields("mode", options.mode);
  fields("distribution", options.distribution);
  fields("input_axes", options.input_axes);
  fields("output_axes", options.output_axes);
}
template <class Fields>
void visit_fields(Fields& fields, FanOptions& options) {
  fields("seed", options.seed);
  fields("input_axes", options.input_axes);
  fields("output_axes", options.output_axes);
}
template <class Fields>
void visit_fields(Fields& fields, OrthogonalOptions& options) {
  fields("seed", options.seed);
  fields("gain", options.gain);
}

namespace {

template <class Options>
Json config_of(const Options& options) {
  Json config = Json::object();
  write_options(config, options);
  return config;
}

// Replaces a Keras SeedGenerator given as a seed by its initial seed.
Json with_number_as_seed(Json config) {
  const Json* seed = config.find("seed");
  const Json* class_name = seed && seed->is_object() ? seed->find("class_name") : nullptr;
  if (class_name && *class_name == Json("SeedGenerator")) {
    const Json number = seed->at("config").at("seed");
    config.set("seed", number);
  }
  return config;
}

template <class T, class Options>
void add_class(Registry<InitializerFactory>& registry) {
  registry.add(T().class_name(), [](const Json& config) -> Initializer {
    return T(read_options<Options>(with_number_as_seed(config)));
  });
}

// Registers a class whose only argument is a number.
template <class T>
void add_class(Registry<InitializerFactory>& registry, const char* key, double otherwise) {
  registry.add(T().class_name(), [=](const Json& config) -> Initializer {
    double value = otherwise;
    ConfigReader{config}(key, value);
    return T(value);
  });
}

Initializer read_constant(const Json& config) {
  const Json* value = config.find("value");
  if (!value) return Constant();
  if (is_constant(*value)) return Constant(parse_constant(*value));
  check<InvalidArgument>(value->is_number() || value->is_bool() || value->is_array(),
                         "Constant: expected 'value' to be a number or an array, got {}.",
                         value->excerpt());
  return Constant(literal_tensor(*value));
}

}  // namespace

void register_all(Registry<InitializerFactory>& registry) {
  registry.add("Zeros", [](const Json&) -> Initializer { return Zeros(); });
  registry.add("Ones", [](const Json&) -> Initializer { return Ones(); });
  registry.add("Constant", read_constant);
  add_class<Identity>(registry, "gain", 1.0);
  add_class<RandomNormal, RandomNormalOptions>(registry);
  add_class<TruncatedNormal, TruncatedNormalOptions>(registry);
  add_class<RandomUniform, RandomUniformOptions>(registry);
  add_class<VarianceScaling, VarianceScalingOptions>(registry);
  add_class<GlorotUniform, FanOptions>(registry);
  add_class<GlorotNormal, FanOptions>(registry);
  add_class<HeUniform, FanOptions>(registry);
  add_class<HeNormal, FanOptions>(registry);
  add_class<LecunUniform, FanOptions>(registry);
  add_class<LecunNormal, FanOptions>(registry);
  add_class<Orthogonal, OrthogonalOptions>(registry);
  register_stft(registry);
  registry.add_alias("zero", "Zeros");
  registry.add_alias("one", "Ones");
  registry.add_alias("normal", "RandomNormal");
  registry.add_alias("uniform", "RandomUniform");
  registry.add_alias("IdentityInitializer", "Identity");
  registry.add_alias("OrthogonalInitializer", "Orthogonal");
}

Tensor Zeros::operator()(const Shape& shape, DType dtype) const {
  return generate(shape, dtype, [](int64_t) { return 0; });
}

Tensor Ones::operator()(const Shape& shape, DType dtype) const {
  return generate(shape, dtype, [](int64_t) { return 1; });
}

Constant::Constant(const Tensor& value) : value_(value) {
  check<InvalidArgument>(value.defined() && !value.is_symbolic(),
                         "Constant: expected a number or a tensor of values, got {}.",
                         value.defined() ? "a symbolic one" : "none");
}

Tensor Constant::operator()(const Shape& shape, DType dtype) const {
  if (value_.rank() == 0) {
    const double value = value_.is_weak() ? value_.weak_value() : value_.item<double>();
    return generate(shape, dtype, [=](int64_t) { return value; });
  }
  const Shape& own = value_.shape();
  const int64_t more = shape.rank() - own.rank();
  bool fits = more >= 0;
  for (int64_t i = 0; fits && i < own.rank(); ++i) fits = own[i] == 1 || own[i] == shape[more + i];
  check<InvalidArgument>(fits,
                         "Constant: expected a value that broadcasts to the weight's shape {}, got "
                         "one of shape {}.",
                         shape, own);
  return ops::broadcast_to(ops::cast(value_, dtype), shape);
}

Json Constant::get_config() const {
  const bool is_exact = value_.is_weak() && is_floating(value_.dtype());
  return Json::object(
      {{"value", is_exact ? Json(value_.weak_value()) : serialize_constant(value_)}});
}

Tensor Identity::operator()(const Shape& shape, DType dtype) const {
  check<InvalidArgument>(shape.rank() == 2, "Identity: expected the shape of a matrix, got {}.",
                         shape);
  const int64_t columns = shape[1];
  return generate(shape, dtype,
                  [&](int64_t i) { return i / columns == i % columns ? gain_ : 0.0; });
}

Json Identity::get_config() const {
  Json config = Json::object();
  ConfigWriter(config).unless_default("gain", gain_, 1.0);
  return config;
}

Tensor RandomNormal::operator()(const Shape& shape, DType dtype) const {
  return normal(shape, dtype, options_.mean, options_.stddev, options_.seed);
}

Json RandomNormal::get_config() const { return config_of(options_); }

Tensor TruncatedNormal::operator()(const Shape& shape, DType dtype) const {
  return truncated_normal(shape, dtype, options_.mean, options_.stddev, options_.seed);
}

Json TruncatedNormal::get_config() const { return config_of(options_); }

Tensor RandomUniform::operator()(const Shape& shape, DType dtype) const {
  return uniform(shape, dtype, options_.minval, options_.maxval, options_.seed);
}

Json RandomUniform::get_config() const { return config_of(options_); }

VarianceScaling::VarianceScaling(const VarianceScalingOptions& options) : options_(options) {
  const std::vector<std::string> modes = {"fan_in", "fan_out", "fan_avg"};
  const std::vector<std::string> distributions = {"truncated_normal", "untruncated_normal",
                                                  "uniform"};
  if (options_.distribution == "normal") options_.distribution = "truncated_normal";
  auto one_of = [](const std::vector<std::string>& known, const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  };
  check<InvalidArgument>(options.scale > 0, "VarianceScaling: expected scale > 0, got {}.",
                         options.scale);
  check<InvalidArgument>(one_of(modes, options_.mode), "VarianceScaling: unknown mode '{}'.{}",
                         options_.mode, did_you_mean(options_.mode, modes));
  check<InvalidArgument>(one_of(distributions, options_.distribution),
                         "VarianceScaling: unknown distribution '{}'.{}", options_.distribution,
                         did_you_mean(options_.distribution, distributions));
}

Tensor VarianceScaling::operator()(const Shape& shape, DType dtype) const {
  const Fans fans = compute_fans(shape, options_);
  const double fan = options_.mode == "fan_in"    ? fans.in
                     : options_.mode == "fan_out" ? fans.out
                                                  : (fans.in + fans.out) / 2;
  const double variance = options_.scale / std::max(1.0, fan);
  if (options_.distribution == "uniform") {
    const double limit = std::sqrt(3.0 * variance);
    return uniform(shape, dtype, -limit, limit, options_.seed);
  }
  if (options_.distribution == "untruncated_normal") {
    return normal(shape, dtype, 0.0, std::sqrt(variance), options_.seed);
  }
  // A standard normal variable cut at +-2 has this standard deviation.
  constexpr double kTruncated = 0.87962566103423978;
  return truncated_normal(shape, dtype, 0.0, std::sqrt(variance) / kTruncated, options_.seed);
}

Json VarianceScaling::get_config() const { return config_of(options_); }

Json FixedScaling::get_config() const {
  return config_of(FanOptions{.seed = options().seed,
                              .input_axes = options().input_axes,
                              .output_axes = options().output_axes});
}

Tensor Orthogonal::operator()(const Shape& shape, DType dtype) const {
  check<InvalidArgument>(shape.rank() >= 2,
                         "Orthogonal: expected a shape of at least two axes, got {}.", shape);
  require_floating("Orthogonal", dtype);
  if (shape.num_elements() == 0) return ops::zeros(shape, dtype);
  const int64_t columns = shape.back();
  const int64_t rows = shape.slice(0, shape.rank() - 1).num_elements();
  const int64_t longer = std::max(rows, columns);
  const int64_t shorter = std::min(rows, columns);
  const Tensor random = normal({longer, shorter}, DType::Float64, 0.0, 1.0, options_.seed);
  const auto [q, r] = ops::qr(random);
  // With the signs of R's diagonal, Q is uniform among the orthogonal matrices.
  const Tensor signs = ops::where(ops::diagonal(r) < 0, -1, 1);
  const Tensor uniform = q * ops::cast(signs, DType::Float64) * options_.gain;
  return ops::cast(ops::reshape(rows < columns ? ops::transpose(uniform) : uniform, shape), dtype);
}

Json Orthogonal::get_config() const { return config_of(options_); }

}  // namespace cornu::initializers
