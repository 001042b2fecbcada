// SPDX-License-Identifier: Apache-2.0
// Code shared by the convolutional layers. Internal: included by their .cc files.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "framework/ops/ops.h"
#include "layers/data_format.h"
#include "layers/keras_layer.h"
#include "layers/spatial.h"

namespace cornu::layers {

template <class Fields, class Options>
void visit_window_fields(Fields& fields, Options& options) {
  fields("kernel_size", options.kernel_size);
  fields("strides", options.strides);
  fields("padding", options.padding);
  fields("data_format", options.data_format);
  fields("dilation_rate", options.dilation_rate);
}

// The fields of a layer with one kernel, except those for its shape.
template <class Fields, class Options>
void visit_kernel_fields(Fields& fields, Options& options) {
  fields("activation", options.activation);
  fields("use_bias", options.use_bias);
  fields("kernel_initializer", options.kernel_initializer);
  fields("bias_initializer", options.bias_initializer);
  fields("kernel_regularizer", options.kernel_regularizer);
  fields("bias_regularizer", options.bias_regularizer);
  fields("activity_regularizer", options.activity_regularizer);
  fields("kernel_constraint", options.kernel_constraint);
  fields("bias_constraint", options.bias_constraint);
}

// A layer over kAxes spatial axes whose options have a window (kernel_size, strides, padding,
// dilation_rate), a bias and an activation.
template <class Options, int kAxes>
class ConvBase : public KerasLayerOf<Options> {
  using Base = KerasLayerOf<Options>;

 protected:
  using Base::compute;
  using Base::compute_dtype;
  using Base::label;
  using Base::options_;
  using Base::require;

  ConvBase(const std::string& class_name, const Options& options,
           const std::vector<std::string>& paddings = {"valid", "same"})
      : Base(class_name, options) {
    options_.padding = check_padding(label(), options.padding, paddings);
    options_.data_format = check_data_format(label(), options.data_format);
    require_positive(label(), "kernel_size", options.kernel_size.values());
    require_positive(label(), "strides", options.strides.values());
    require_positive(label(), "dilation_rate", options.dilation_rate.values());
    const auto largest = [](const Size<kAxes>& size) {
      return *std::max_element(size.values().begin(), size.values().end());
    };
    require(largest(options.strides) == 1 || largest(options.dilation_rate) == 1,
            "expected strides or dilation_rate of 1, got strides {} and dilation_rate {}.",
            Shape(options.strides.values()), Shape(options.dilation_rate.values()));
  }

  void check_channels(const Shape& shape) const {
    require_spatial(label(), shape, kAxes);
    if (channels_ != kUnknown) this->require_axis(shape, -1, channels_);
  }

  void check_input(const Shape& shape) const override {
    check_channels(shape);
    std::vector<int64_t> window = options_.kernel_size.values();
    for (int i = 0; i < kAxes; ++i) {
      window[static_cast<size_t>(i)] =
          dilated_extent(options_.kernel_size[i], options_.dilation_rate[i], label());
    }
    require_window(label(), shape, window, options_.padding);
  }

  // Records the number of input channels and returns it.
  int64_t set_channels(const Shape& input_shape) {
    channels_ = this->known_axis(input_shape, -1);
    return channels_;
  }

  int64_t channels() const { return channels_; }  // kUnknown before it is built

  Shape kernel_shape(int64_t inputs, int64_t outputs) const {
    return Shape(options_.kernel_size.values()).concat({inputs, outputs});
  }

  void add_bias(int64_t filters) {
    if (!options_.use_bias) return;
    bias_ = this->add_weight({.shape = {filters},
                              .initializer = options_.bias_initializer,
                              .regularizer = options_.bias_regularizer,
                              .constraint = options_.bias_constraint,
                              .name = "bias"});
  }

  Tensor biased_and_activated(Tensor y) const {
    if (bias_.defined()) y = ops::add(y, compute(bias_));
    if (options_.data_format == "channels_last") return options_.activation(y);
    // Activations over the last axis see the user's data format.
    return to_channels_last(options_.activation(to_channels_first(y, kAxes)), kAxes);
  }

 private:
  int64_t channels_ = kUnknown;
  Variable bias_;
};

}  // namespace cornu::layers
