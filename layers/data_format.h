// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs whose channels come before the spatial axes. Internal: layers' .cc files
// include it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "layers/keras_layer.h"

namespace cornu::layers {

// "channels_last", also for "", which is None; or "channels_first". Throws InvalidArgument, which
// begins with `who`, for anything else.
std::string check_data_format(const std::string& who, const std::string& data_format);

// Move the channels of (…, channels, spatial…) behind its `axes` spatial axes, and back. What has
// fewer axes than (batch, spatial…, channels) has, which are no spatial ones, stays as it is; so do
// masks. axes 0: all but batch and channels are spatial.
Shape to_channels_last(const Shape& shape, int axes);
Tensor to_channels_last(const Tensor& x, int axes);
Tensor to_channels_first(const Tensor& x, int axes);

// `Base`, a layer (with option data_format, or without) whose inputs have their channels last, for
// either format: with "channels_first" it computes between two transposes, which compiled programs
// take out between layers. kAxes: the number of its spatial axes; 0 for any.
template <class Base, int kAxes>
class InDataFormat : public Base {
 public:
  using Base::Base;

  void build_list(const std::vector<Shape>& shapes) override {
    if (!channels_first()) return Base::build_list(shapes);
    std::vector<Shape> last;
    for (const Shape& shape : shapes) last.push_back(to_channels_last(shape, kAxes));
    Base::build_list(last);
  }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    if (!channels_first()) return Base::call_list(inputs, args);
    std::vector<Tensor> last, first;
    for (const Tensor& x : inputs) last.push_back(to_channels_last(x, kAxes));
    const Tensors outputs = Base::call_list(inputs.with(std::move(last)), args);
    for (const Tensor& y : outputs) first.push_back(to_channels_first(y, kAxes));
    return outputs.with(std::move(first));
  }

 protected:
  // Errors show shapes as Base has them.
  std::string label() const override {
    return Base::label() + (channels_first() ? " (shapes as channels_last)" : "");
  }

 private:
  bool channels_first() const {
    if constexpr (requires { this->options_.data_format; }) {
      return this->options_.data_format == "channels_first";
    }
    return false;
  }
};

}  // namespace cornu::layers
