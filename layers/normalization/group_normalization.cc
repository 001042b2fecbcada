// SPDX-License-Identifier: Apache-2.0
#include "layers/normalization/group_normalization.h"

#include <algorithm>

#include "layers/normalization/normalization_base.h"

namespace cornu::layers {

template <class Fields>
void visit_fields(Fields& fields, GroupNormalizationOptions& options) {
  fields("groups", options.groups);
  fields("axis", options.axis);
  fields("epsilon", options.epsilon);
  fields("center", options.center);
  fields("scale", options.scale);
  visit_initializer_fields(fields, options);
  visit_regularizer_fields(fields, options);
}

namespace {

class GroupNormalizationLayer : public NormalizationBase<GroupNormalizationOptions> {
 public:
  explicit GroupNormalizationLayer(const GroupNormalizationOptions& options)
      : NormalizationBase("GroupNormalization", options) {
    require(options.groups > 0 || options.groups == -1, "expected groups > 0 or -1, got {}.",
            options.groups);
  }
  bool autocast() const override { return false; }

  void build(const Shape& input_shape) override {
    channels_ = known_axis(input_shape, options_.axis);
    if (options_.groups == -1) options_.groups = std::max<int64_t>(channels_, 1);
    require(channels_ % options_.groups == 0,
            "expected groups that divide the {} channels, got {}.", channels_, options_.groups);
    add_gamma_and_beta({channels_});
  }

  Tensor call(const Tensor& input, const CallArgs&) override {
    const Shape& shape = input.shape();
    const DType dtype = wide(input.dtype());
    const int64_t axis = shape.normalize_axis(options_.axis, label());
    // Splits the channel axis into groups and channels within a group.
    const Shape split = {options_.groups, channels_ / options_.groups};
    const Shape grouped = shape.slice(0, axis).concat(split).concat(shape.slice(axis + 1));
    std::vector<int64_t> together;
    for (int64_t i = 1; i < grouped.rank(); ++i) {
      if (i != axis) together.push_back(i);
    }
    const Tensor x = ops::reshape(ops::cast(input, dtype), grouped);
    const auto [mean, variance] = ops::moments(x, together, true);
    Tensor factor = ops::rsqrt(variance + options_.epsilon);
    Shape weights(std::vector<int64_t>(static_cast<size_t>(grouped.rank()), 1));
    weights[axis] = split[0];
    weights[axis + 1] = split[1];
    if (options_.scale) factor = factor * ops::reshape(gamma(dtype), weights);
    Tensor y = (x - mean) * factor;
    if (options_.center) y = y + ops::reshape(beta(dtype), weights);
    return ops::cast(ops::reshape(y, shape), compute_dtype());
  }

 protected:
  void check_input(const Shape& shape) const override {
    const int64_t rank = shape.rank();
    require(rank >= 2 && options_.axis >= -rank && options_.axis < rank &&
                shape.normalize_axis(options_.axis, label()) > 0,
            "expected input (batch, …) with channels on axis {}, got {}.", options_.axis, shape);
    if (channels_ != kUnknown) require_axis(shape, options_.axis, channels_);
  }

 private:
  int64_t channels_ = kUnknown;
};

}  // namespace

GroupNormalization::GroupNormalization(const GroupNormalizationOptions& options)
    : LayerHandle(std::make_shared<GroupNormalizationLayer>(options)) {}

GroupNormalization GroupNormalization::from_config(const Json& config) {
  return GroupNormalization(read_layer_options<GroupNormalizationOptions>(config));
}

}  // namespace cornu::layers
