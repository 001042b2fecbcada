// SPDX-License-Identifier: Apache-2.0
// Initializers (keras.initializers) for the initial values of variables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/core/optional_list.h"
#include "framework/model/parts.h"

namespace cornu::initializers {

// For all random initializers: values depend only on the seed and the element's position, not on
// the number of threads. With a seed, each call returns the same values; without one, each call
// takes the next seed of this thread's sequence (set_random_seed). Throws InvalidArgument for
// non-floating dtypes.

class Zeros : public InitializerImpl {
 public:
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "Zeros"; }
};

class Ones : public InitializerImpl {
 public:
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "Ones"; }
};

// A number, or a tensor that broadcasts to the weight's shape, such as a table of word vectors:
// `.embeddings_initializer = initializers::Constant(vectors)`. Files store the values as text, so
// use large ones only in layers that aren't saved, or use set_weights instead. Throws
// InvalidArgument for a tensor without values and, when the weight is created, for one that doesn't
// broadcast to its shape.
class Constant : public InitializerImpl {
 public:
  explicit Constant(const Tensor& value = 0.0);
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "Constant"; }
  Json get_config() const override;

 private:
  Tensor value_;
};

// `gain` on the diagonal of a matrix. Throws InvalidArgument unless the shape has two axes.
class Identity : public InitializerImpl {
 public:
  explicit Identity(double gain = 1.0) : gain_(gain) {}
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "Identity"; }
  Json get_config() const override;

 private:
  double gain_;
};

struct RandomNormalOptions {
  double mean = 0.0;
  double stddev = 0.05;
  std::optional<int64_t> seed = {};
};

class RandomNormal : public InitializerImpl {
 public:
  explicit RandomNormal(const RandomNormalOptions& options = {}) : options_(options) {}
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "RandomNormal"; }
  Json get_config() const override;

 private:
  RandomNormalOptions options_;
};

struct TruncatedNormalOptions {
  double mean = 0.0;
  double stddev = 0.05;
  std::optional<int64_t> seed = {};
};

// Normally distributed values; those more than two standard deviations from the mean are redrawn.
class TruncatedNormal : public InitializerImpl {
 public:
  explicit TruncatedNormal(const TruncatedNormalOptions& options = {}) : options_(options) {}
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "TruncatedNormal"; }
  Json get_config() const override;

 private:
  TruncatedNormalOptions options_;
};

struct RandomUniformOptions {
  double minval = -0.05;
  double maxval = 0.05;  // exclusive
  std::optional<int64_t> seed = {};
};

class RandomUniform : public InitializerImpl {
 public:
  explicit RandomUniform(const RandomUniformOptions& options = {}) : options_(options) {}
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "RandomUniform"; }
  Json get_config() const override;

 private:
  RandomUniformOptions options_;
};

struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";                    // or "fan_out", "fan_avg"
  std::string distribution = "truncated_normal";  // or "untruncated_normal", "uniform"
  std::optional<int64_t> seed = {};
  OptionalList<int64_t> input_axes = {};  // axes for fan_in and, below, fan_out; both or none
  OptionalList<int64_t> output_axes = {};
};

// Samples values with variance scale / n, where n is the number of inputs ("fan_in"), the number of
// outputs ("fan_out"), or their mean. By default a kernel's inputs are its second-to-last axis
// times the window (the axes before it); with a single axis, it is used for both. Throws
// InvalidArgument for an unknown mode or distribution, or when scale <= 0.
class VarianceScaling : public InitializerImpl {
 public:
  explicit VarianceScaling(const VarianceScalingOptions& options = {});
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "VarianceScaling"; }
  Json get_config() const override;

 protected:
  const VarianceScalingOptions& options() const { return options_; }

 private:
  VarianceScalingOptions options_;
};

struct FanOptions {
  std::optional<int64_t> seed = {};
  OptionalList<int64_t> input_axes = {};
  OptionalList<int64_t> output_axes = {};
};

// A VarianceScaling with its own name, in which everything but FanOptions is fixed.
class FixedScaling : public VarianceScaling {
 public:
  std::string class_name() const override { return class_name_; }
  Json get_config() const override;

 protected:
  FixedScaling(const char* class_name, double scale, const char* mode, const char* distribution,
               const FanOptions& options)
      : VarianceScaling({.scale = scale,
                         .mode = mode,
                         .distribution = distribution,
                         .seed = options.seed,
                         .input_axes = options.input_axes,
                         .output_axes = options.output_axes}),
        class_name_(class_name) {}

 private:
  const char* class_name_;
};

// Glorot & Bengio, "Understanding the difficulty of training deep feedforward neural networks",
// AISTATS 2010.
class GlorotUniform : public FixedScaling {
 public:
  explicit GlorotUniform(const FanOptions& options = {})
      : FixedScaling("GlorotUniform", 1.0, "fan_avg", "uniform", options) {}
};
class GlorotNormal : public FixedScaling {
 public:
  explicit GlorotNormal(const FanOptions& options = {})
      : FixedScaling("GlorotNormal", 1.0, "fan_avg", "truncated_normal", options) {}
};

// He et al., "Delving deep into rectifiers", ICCV 2015.
class HeUniform : public FixedScaling {
 public:
  explicit HeUniform(const FanOptions& options = {})
      : FixedScaling("HeUniform", 2.0, "fan_in", "uniform", options) {}
};
class HeNormal : public FixedScaling {
 public:
  explicit HeNormal(const FanOptions& options = {})
      : FixedScaling("HeNormal", 2.0, "fan_in", "truncated_normal", options) {}
};

// LeCun et al., "Efficient BackProp", 1998.
class LecunUniform : public FixedScaling {
 public:
  explicit LecunUniform(const FanOptions& options = {})
      : FixedScaling("LecunUniform", 1.0, "fan_in", "uniform", options) {}
};
class LecunNormal : public FixedScaling {
 public:
  explicit LecunNormal(const FanOptions& options = {})
      : FixedScaling("LecunNormal", 1.0, "fan_in", "truncated_normal", options) {}
};

struct OrthogonalOptions {
  double gain = 1.0;
  std::optional<int64_t> seed = {};
};

// A random orthogonal matrix times `gain`: all axes but the last are the rows, the last one the
// columns. With more rows than columns, the columns are orthonormal; otherwise the rows are. Throws
// InvalidArgument for fewer than two axes. (Saxe et al., "Exact solutions to the nonlinear dynamics
// of learning in deep linear neural networks", ICLR 2014.)
class Orthogonal : public InitializerImpl {
 public:
  explicit Orthogonal(const OrthogonalOptions& options = {}) : options_(options) {}
  Tensor operator()(const Shape& shape, DType dtype) const override;
  std::string class_name() const override { return "Orthogonal"; }
  Json get_config() const override;

 private:
  OrthogonalOptions options_;
};

}  // namespace cornu::initializers
