// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/batch_normalization.h"

#include <cmath>
#include <optional>

#include "framework/strategy/replica_context.h"
#include "layers/normalization/normalization_base.h"

namespace cornu::layers {

namespace {

// Limits in Keras's config: a dictionary if they are used.
struct ClippingField {
  bool used;
  RenormClipping& limits;
};

Json config_value(const ClippingField& field) {
  Json limits = Json::object();
  const RenormClipping& given = field.limits;
  if (given.rmax) limits.set("rmax", *given.rmax);
  if (given.rmin) limits.set("rmin", *given.rmin);
  if (given.dmax) limits.set("dmax", *given.dmax);
  return field.used || limits.size() > 0 ? limits : Json();
}

void set_from_config(const Json& json, ClippingField& field) {
  if (json.is_null()) return;
  for (const auto& [key, value] : json.as_object()) {
    const std::optional<double> limit =
        value.is_null() ? std::nullopt : std::optional(value.as_double());
    check<InvalidArgument>(key == "rmax" || key == "rmin" || key == "dmax",
                           "BatchNormalization: expected renorm_clipping of rmax, rmin and dmax, "
                           "got '{}'.",
                           key);
    (key == "rmax"   ? field.limits.rmax
     : key == "rmin" ? field.limits.rmin
                     : field.limits.dmax) = limit;
  }
}

}  // namespace

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
  fields("renorm", options.renorm);
  ClippingField clipping{options.renorm, options.renorm_clipping};
  fields("renorm_clipping", clipping);
  fields("renorm_momentum", options.renorm_momentum);
}

namespace {

constexpr double kNoDivisionByZero = 1e-7;

class BatchNormalizationLayer : public NormalizationBase<BatchNormalizationOptions> {
 public:
  explicit BatchNormalizationLayer(const BatchNormalizationOptions& options)
      : NormalizationBase("BatchNormalization", options) {
    require(options.momentum >= 0 && options.momentum <= 1, "expected momentum in [0, 1], got {}.",
            options.momentum);
    const RenormClipping& limits = options.renorm_clipping;
    require(!limits.rmax || !limits.rmin || *limits.rmax >= *limits.rmin,
            "expected renorm_clipping with rmax >= rmin, got {} and {}.", limits.rmax.value_or(0),
            limits.rmin.value_or(0));
    require(!limits.dmax || *limits.dmax >= 0, "expected renorm_clipping with dmax >= 0, got {}.",
            limits.dmax.value_or(0));
  }

  void build(const Shape& input_shape) override {
    rank_ = input_shape.rank();
    const Shape shape = {known_axis(input_shape, options_.axis)};
    add_gamma_and_beta(shape);
    moving_mean_ = add_average(shape, options_.moving_mean_initializer, "moving_mean");
    moving_variance_ = add_average(shape, options_.moving_variance_initializer, "moving_variance");
    if (!options_.renorm) return;
    require(static_cast<bool>(options_.moving_variance_initializer),
            "expected a moving_variance_initializer, which renorm needs for its averages of the "
            "standard deviation, got none.");
    const Initializer stddev = [of_variance = options_.moving_variance_initializer](const Shape& of,
                                                                                    DType dtype) {
      return ops::sqrt((*of_variance)(of, dtype));
    };
    moving_stddev_ = add_average(shape, stddev, "moving_stddev");
    renorm_mean_ = add_average(shape, options_.moving_mean_initializer, "renorm_mean");
    renorm_stddev_ = add_average(shape, stddev, "renorm_stddev");
  }

  Tensor call(const Tensor& input, const CallArgs& args) override {
    const DType dtype = wide(input.dtype());
    const Tensor x = ops::cast(input, dtype);
    Tensor mean = ops::cast(moving_mean_, dtype);
    Tensor variance = ops::cast(moving_variance_, dtype);
    Tensor scale = gamma(dtype), offset = beta(dtype);
    if (args.training && trainable()) {
      if (x.num_elements() > 0 || is_global()) {
        const auto [batch_mean, batch_variance] = moments(x, args.mask);
        if (options_.renorm) {
          correct(batch_mean, batch_variance, scale, offset);
          renormalize(batch_mean, batch_variance);
        } else {
          move(moving_mean_, batch_mean, options_.momentum);
          move(moving_variance_, batch_variance, options_.momentum);
        }
        mean = batch_mean;
        variance = batch_variance;
      } else {
        // A replica may get no rows of a batch and then has no moments: it takes part in combining
        // the replicas' averages, as all replicas must, with weight zero.
        for (const Variable* average :
             {&moving_mean_, &moving_variance_, &moving_stddev_, &renorm_mean_, &renorm_stddev_}) {
          if (average->defined()) average->assign(*average);
        }
      }
    }
    const Tensor y =
        ops::batch_normalization(x, mean, variance, options_.axis,
                                 {.offset = offset, .scale = scale, .epsilon = options_.epsilon});
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
  // Whether mean and variance are computed over all replicas.
  bool is_global() const { return options_.synchronized && replicas_in_sync() > 1; }

  Variable add_average(const Shape& shape, const Initializer& initializer, const char* name) {
    return add_weight({.shape = shape,
                       .initializer = initializer,
                       .trainable = false,
                       .aggregation = VariableAggregation::Mean,
                       .name = name});
  }

  static void move(const Variable& moving, const Tensor& batch, double momentum) {
    const Tensor old = ops::cast(moving, batch.dtype());
    moving.assign(ops::cast(old * momentum + batch * (1.0 - momentum), moving.dtype()));
  }

  Tensor stddev_of(const Tensor& variance) const { return ops::sqrt(variance + options_.epsilon); }

  // Folds the corrections into scale and offset: (x * r + d) * scale + offset.
  void correct(const Tensor& mean, const Tensor& variance, Tensor& scale, Tensor& offset) const {
    const DType dtype = mean.dtype();
    const Tensor stddev =
        ops::maximum(ops::cast(renorm_stddev_, dtype), std::sqrt(options_.epsilon));
    Tensor r = stddev_of(variance) / stddev;
    Tensor d = (mean - ops::cast(renorm_mean_, dtype)) / stddev;
    const RenormClipping& limits = options_.renorm_clipping;
    if (limits.rmin) r = ops::maximum(r, *limits.rmin);
    if (limits.rmax) r = ops::minimum(r, *limits.rmax);
    if (limits.dmax) d = ops::clip(d, -*limits.dmax, *limits.dmax);
    r = ops::stop_gradient(r);
    d = ops::stop_gradient(d);
    const Tensor moved = scale.defined() ? d * scale : d;
    offset = offset.defined() ? moved + offset : moved;
    scale = scale.defined() ? r * scale : r;
  }

  // Moves all averages towards the batch's statistics.
  void renormalize(const Tensor& mean, const Tensor& variance) const {
    const Tensor stddev = stddev_of(variance);
    move(renorm_mean_, mean, options_.renorm_momentum);
    move(renorm_stddev_, stddev, options_.renorm_momentum);
    move(moving_mean_, mean, options_.momentum);
    move(moving_stddev_, stddev, options_.momentum);
    const Tensor moved = ops::cast(moving_stddev_, mean.dtype());
    moving_variance_.assign(
        ops::cast(ops::relu(moved * moved - options_.epsilon), moving_variance_.dtype()));
  }

  // Mean and variance of each feature over all other axes, excluding masked steps.
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
  Variable moving_stddev_;  // for renorm, as the following ones
  Variable renorm_mean_;
  Variable renorm_stddev_;
};

}  // namespace

BatchNormalization::BatchNormalization(const BatchNormalizationOptions& options)
    : LayerHandle(std::make_shared<BatchNormalizationLayer>(options)) {}

BatchNormalization BatchNormalization::from_config(const Json& config) {
  return BatchNormalization(read_layer_options<BatchNormalizationOptions>(config));
}

}  // namespace cornu::layers
