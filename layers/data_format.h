// SPDX-License-Identifier: Apache-2.0
// Support for the "channels_first" data format. Internal: included by layers' .cc files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "layers/keras_layer.h"

namespace cornu::layers {

// Returns "channels_last", also for "" (None), or "channels_first". Throws InvalidArgument,
// prefixed by `who`, for anything else.
std::string check_data_format(const std::string& who, const std::string& data_format);

// Move the channels of (…, channels, spatial…) after the `axes` spatial axes, and back. Tensors
// with fewer axes than (batch, spatial…, channels) have no spatial axes and are unchanged; so are
// masks. axes 0: all axes except batch and channels are spatial.
Shape to_channels_last(const Shape& shape, int axes);
Tensor to_channels_last(const Tensor& x, int axes);
Tensor to_channels_first(const Tensor& x, int axes);

// Extends `Base`, a layer for channels-last inputs (with or without a data_format option), to both
// formats: with "channels_first", it computes between two transposes, which compiled programs
// eliminate between layers. kAxes: the number of spatial axes; 0 for any.
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
  // Errors show shapes in Base's format.
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
