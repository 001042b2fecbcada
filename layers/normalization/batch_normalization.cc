// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/batch_normalization.h"

#include "framework/strategy/replica_context.h"
#include "layers/normalization/normalization_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, BatchNormalizationOptions& options) {
  fields("axis", options.axis);
  fields("momentum", options.momentum);
  fields("epsilon", options.epsilon);
  fields("center", options.center);
  fields("scale", options.scale);
  visit_initializer_fields(fields, options);
  fields("moving_mean_initializer", options.moving_mean_initializer);
  fields("moving_variance_initializer", options.moving_variance_initializer);
  visit_regularizer_fields(fields, options);
  fields("synchronized", options.synchronized);
  absent_field(fields, "renorm", false);
  absent_field(fields, "renorm_clipping", nullptr);
  double renorm_momentum = 0.99;  // means nothing without renorm
  fields("renorm_momentum", renorm_momentum);
}

namespace {

constexpr double kNoDivisionByZero = 1e-7;

class BatchNormalizationLayer : public NormalizationBase<BatchNormalizationOptions> {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& options)
      : NormalizationBase("BatchNormalization", options) {
    require(options.momentum >= 0 && options.momentum <= 1, "expected momentum in [0, 1], got {}.",
            options.momentum);
  }

  void build(const Shape& input_shape) override {
    rank_ = input_shape.rank();
    const Shape shape = {known_axis(input_shape, options_.axis)};
    add_gamma_and_beta(shape);
    moving_mean_ = add_weight({.shape = shape,
                               .initializer = options_.moving_mean_initializer,
                               .trainable = false,
                               .aggregation = VariableAggregation::Mean,
                               .name = "moving_mean"});
    moving_variance_ = add_weight({.shape = shape,
                                   .initializer = options_.moving_variance_initializer,
                                   .trainable = false,
                                   .aggregation = VariableAggregation::Mean,
                                   .name = "moving_variance"});
  }

  Tensor call(const Tensor& input, const CallArgs& args) override {
    const DType dtype = wide(input.dtype());
    const Tensor x = ops::cast(input, dtype);
    Tensor mean = ops::cast(moving_mean_, dtype);
    Tensor variance = ops::cast(moving_variance_, dtype);
    if (args.training && trainable()) {
      if (x.num_elements() > 0 || is_global()) {
        const auto [batch_mean, batch_variance] = moments(x, args.mask);
        move(moving_mean_, mean, batch_mean);
        move(moving_variance_, variance, batch_variance);
        mean = batch_mean;
        variance = batch_variance;
      } else {
        // A replica may get no rows of a batch, which have no moments: it takes part in putting the
        // replicas' averages together, as all of them must, and counts nothing.
        moving_mean_.assign(moving_mean_);
        moving_variance_.assign(moving_variance_);
      }
    }
    const Tensor y = ops::batch_normalization(
        x, mean, variance, options_.axis,
        {.offset = beta(dtype), .scale = gamma(dtype), .epsilon = options_.epsilon});
    return ops::cast(y, compute_dtype());
  }

 protected:
  void check_input(const Shape& shape) const override {
    const int64_t rank = shape.rank();
    require(options_.axis >= -rank && options_.axis < rank,
            "expected an input with axis {}, got {}.", options_.axis, shape);
    if (!moving_mean_.defined()) return;
    require(rank == rank_, "expected {}-D input, as when the layer was built, got {}.", rank_,
            shape);
    require_axis(shape, options_.axis, moving_mean_.shape()[0]);
  }

 private:
  // Whether mean and variance are those of all replicas.
  bool is_global() const { return options_.synchronized && replicas_in_sync() > 1; }

  void move(const Variable& moving, const Tensor& old, const Tensor& batch) const {
    const Tensor moved = old * options_.momentum + batch * (1.0 - options_.momentum);
    moving.assign(ops::cast(moved, moving.dtype()));
  }

  // Mean and variance of each feature over all other axes, of steps that the mask lets through.
  std::pair<Tensor, Tensor> moments(const Tensor& x, const Tensor& mask) const {
    std::vector<int64_t> axes;
    const int64_t features = x.shape().normalize_axis(options_.axis, label());
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      if (axis != features) axes.push_back(axis);
    }
    if (!mask.defined() && !is_global()) return ops::moments(x, axes);
    require(!mask.defined() || mask.rank() == x.rank() - 1,
            "expected a mask of {} axes for input {}, got {}.", x.rank() - 1, x.shape(),
            mask.defined() ? mask.shape() : Shape());
    const Tensor seen =
        mask.defined()
            ? ops::cast(ops::broadcast_to(ops::expand_dims(mask, -1), x.shape()), DType::Bool)
            : ops::ones(x.shape(), DType::Bool);
    auto over_replicas = [&](const Tensor& sum) {
      return is_global() ? sum_over_replicas(sum) : sum;
    };
    const Tensor count = over_replicas(ops::sum(ops::cast(seen, x.dtype()), axes, true));
    auto mean_of_seen = [&](const Tensor& values) {
      const Tensor sum = over_replicas(ops::sum(ops::where(seen, values, 0), axes, true));
      return mask.defined() ? sum / (count + kNoDivisionByZero) : ops::divide_no_nan(sum, count);
    };
    const Tensor mean = mean_of_seen(x);
    const Tensor variance = mean_of_seen(ops::square(x - mean));
    const Shape vector = {x.shape()[features]};
    return {ops::reshape(mean, vector), ops::reshape(variance, vector)};
  }

  int64_t rank_ = 0;
  Variable moving_mean_;
  Variable moving_variance_;
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : LayerHandle(std::make_shared<BatchNormalizationLayer>(options)) {}

BatchNormalization BatchNormalization::from_config(const Json& config) {
  return BatchNormalization(read_layer_options<BatchNormalizationOptions>(config));
}

}  // namespace cornu::layers
