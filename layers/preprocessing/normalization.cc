// SPDX-License-Identifier: Apache-2.0
#include "layers/preprocessing/normalization.h"

#include <algorithm>

#include "framework/ops/ops.h"
#include "layers/keras_layer.h"
#include "layers/preprocessing/adaptable.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, NormalizationOptions& options) {
  fields("axis", options.axis);
  fields("invert", options.invert);
  fields("mean", options.mean);
  fields("variance", options.variance);
}

namespace {

constexpr double kMinDeviation = 1e-7;

// Combines the moments of batches to those of all elements (float64).
class RunningMoments {
 public:
  void add(const Tensor& batch, const std::vector<int64_t>& axes) {
    double elements = 1;
    for (const int64_t axis : axes) elements *= static_cast<double>(batch.dim(axis));
    if (elements == 0) return;
    const auto [batch_mean, batch_variance] = ops::moments(batch, axes);
    const Tensor mean = ops::cast(batch_mean, DType::Float64);
    const Tensor variance = ops::cast(batch_variance, DType::Float64);
    count_ += elements;
    const double weight = elements / count_;
    if (weight == 1) {
      mean_ = mean;
      variance_ = variance;
      return;
    }
    const Tensor joint = mean_ * (1 - weight) + mean * weight;
    variance_ = (variance_ + ops::square(mean_ - joint)) * (1 - weight) +
                (variance + ops::square(mean - joint)) * weight;
    mean_ = joint;
  }
  bool empty() const { return count_ == 0; }
  const Tensor& mean() const { return mean_; }
  const Tensor& variance() const { return variance_; }

 private:
  double count_ = 0;
  Tensor mean_;
  Tensor variance_;
};

class NormalizationLayer : public KerasLayerOf<NormalizationOptions>, public Adaptable {
 public:
  explicit NormalizationLayer(const NormalizationOptions& options)
      : KerasLayerOf("Normalization", options) {
    options_.axis = options.axis.values();  // always a list in Keras's config
    const Tensor& mean = options.mean;
    const Tensor& variance = options.variance;
    require(mean.defined() == variance.defined(),
            "expected both mean and variance, or none of them.");
    if (!mean.defined()) return;
    require(!mean.is_symbolic() && !variance.is_symbolic(),
            "expected a mean and a variance that are values.");
    require(mean.shape() == variance.shape(),
            "expected mean and variance of one shape, got {} and {}.", mean.shape(),
            variance.shape());
    require(mean.rank() <= std::ssize(options.axis.values()),
            "expected a mean of as many axes as `axis` has ({}) or fewer, got shape {}.",
            options.axis.values().size(), mean.shape());
  }
  bool supports_masking() const override { return true; }

  void build(const Shape& input_shape) override {
    const int64_t rank = input_shape.rank();
    kept_.clear();
    for (const int64_t axis : options_.axis.values())
      kept_.push_back(axis < 0 ? axis + rank : axis);
    std::sort(kept_.begin(), kept_.end());
    require(std::adjacent_find(kept_.begin(), kept_.end()) == kept_.end(),
            "expected each axis once, got {} for an input of {} axes.",
            options_.axis.to_json().dump(), rank);
    Shape shape;
    broadcast_ = Shape(std::vector<int64_t>(static_cast<size_t>(rank), 1));
    for (const int64_t axis : kept_) {
      broadcast_[axis] = known_axis(input_shape, axis);
      shape.push_back(broadcast_[axis]);
    }
    if (options_.mean.defined()) {
      given_mean_ = spread(options_.mean, shape);
      given_variance_ = spread(options_.variance, shape);
      return;
    }
    mean_ =
        add_weight({.shape = shape, .initializer = "zeros", .trainable = false, .name = "mean"});
    variance_ =
        add_weight({.shape = shape, .initializer = "ones", .trainable = false, .name = "variance"});
    // Unused: files of older versions contain it.
    add_weight(
        {.initializer = "zeros", .dtype = DType::Int64, .trainable = false, .name = "count"});
  }

  Tensor call(const Tensor& input, const CallArgs&) override {
    const Tensor x = ops::cast(input, compute_dtype());
    const Tensor deviation = ops::maximum(ops::sqrt(variance()), kMinDeviation);
    return options_.invert ? mean() + x * deviation : (x - mean()) / deviation;
  }

  Tensor mean() const { return given_or_learned(given_mean_, mean_); }
  Tensor variance() const { return given_or_learned(given_variance_, variance_); }

  void adapt(const AdaptData& data, const AdaptOptions& options) override {
    check<FailedPrecondition>(!options_.mean.defined(),
                              "{}: adapt computes mean and variance, but they were passed to the "
                              "constructor. Omit them there.",
                              label());
    RunningMoments moments;
    data.for_each_batch(options, [&](const Tensor& examples) {
      require(examples.dtype() != DType::String, "adapt expected numbers, got strings.");
      Tensor batch = ops::cast(examples, DType::Float32);
      if (!data.is_whole() && batch.rank() == 1) batch = ops::expand_dims(batch, 0);
      ensure_built({batch.shape()});
      check_input(batch.shape());
      std::vector<int64_t> reduced;
      for (int64_t axis = 0; axis < batch.rank(); ++axis) {
        if (std::find(kept_.begin(), kept_.end(), axis) == kept_.end()) reduced.push_back(axis);
      }
      moments.add(batch, reduced);
    });
    require(!moments.empty(), "adapt expected examples, got none.");
    mean_.assign(ops::cast(moments.mean(), mean_.dtype()));
    variance_.assign(ops::cast(moments.variance(), variance_.dtype()));
  }
  bool learns() const override { return !options_.mean.defined(); }
  bool has_learned() const override { return built(); }

 protected:
  void check_input(const Shape& shape) const override {
    const int64_t rank = shape.rank();
    for (const int64_t axis : options_.axis.values()) {
      require(axis >= -rank && axis < rank, "expected an input with axis {}, got {}.", axis, shape);
    }
    if (!built()) return;
    require(rank == broadcast_.rank(), "expected {}-D input, as when the layer was built, got {}.",
            broadcast_.rank(), shape);
    for (const int64_t axis : kept_) require_axis(shape, axis, broadcast_[axis]);
  }

 private:
  // Along the input's axes.
  Tensor given_or_learned(const Tensor& given, const Variable& weight) const {
    check<FailedPrecondition>(
        built(),
        "{} has neither mean nor variance before it is built. Call adapt, or the layer, first.",
        label());
    return given.defined() ? given : ops::reshape(compute(weight), broadcast_);
  }
  // Expands given numbers to all elements of the axes.
  Tensor spread(const Tensor& numbers, const Shape& shape) const {
    for (int64_t i = 1; i <= numbers.rank(); ++i) {
      const int64_t size = numbers.dim(-i);
      require(size == 1 || size == shape[-i],
              "expected a mean and a variance that broadcast to {}, got {}.", shape,
              numbers.shape());
    }
    return ops::reshape(ops::broadcast_to(ops::cast(numbers, compute_dtype()), shape), broadcast_);
  }

  std::vector<int64_t> kept_;  // axes, in order
  Shape broadcast_;            // their sizes, 1 elsewhere
  Variable mean_;
  Variable variance_;
  Tensor given_mean_;
  Tensor given_variance_;
};

}  // namespace

Normalization::Normalization(const NormalizationOptions& options)
    : LayerHandle(std::make_shared<NormalizationLayer>(options)) {}

Normalization Normalization::from_config(const Json& config) {
  return Normalization(read_layer_options<NormalizationOptions>(config));
}

void Normalization::adapt(const AdaptData& data, const AdaptOptions& options) const {
  layer_of<NormalizationLayer>(*this).adapt(data, options);
}

Tensor Normalization::mean() const { return layer_of<NormalizationLayer>(*this).mean(); }

Tensor Normalization::variance() const { return layer_of<NormalizationLayer>(*this).variance(); }

}  // namespace cornu::layers
