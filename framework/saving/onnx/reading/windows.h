// SPDX-License-Identifier: Apache-2.0
// Windows over spatial axes, shared by convolutions and pooling.
#pragma once

#include <string>

#include "framework/core/checked.h"
#include "framework/saving/onnx/reading/node_reader.h"

namespace cornu::onnx::reading {

struct Windows {
  Ints kernel, strides, dilations;
  Ints before, after;  // padding; empty if `same`
  bool same = false;   // Keras's "same" padding, whatever the sizes

  size_t axes() const { return kernel.size(); }
  int64_t extent(size_t axis) const {
    return (Checked(kernel[axis], "a kernel with dilations") - 1) * dilations[axis] + 1;
  }
  bool padded() const;
};

// Returns the windows of a node over x (batch, channels, spatial…) from its attributes; `kernel`,
// if not empty, overrides the kernel's. Padding that equals Keras's "same" for these sizes is
// represented as `same` if may_be_same.
Windows windows_of(NodeReader& n, const Tensor& x, const Ints& kernel, bool may_be_same = true);

std::string auto_pad_of(NodeReader& n);
// "Conv" with 2 axes: "Conv2D".
std::string class_of_axes(const std::string& name, size_t axes, const char* ending = "");
// The config of a layer with windows.
Json windows_config(const Windows& windows, const char* padding);
// Returns x padded with zeros.
Tensor with_zeros(NodeReader& n, const Tensor& x, const Windows& windows);
// Reorders a kernel's axes to Keras's order: (spatial…, then these).
Tensor spatial_first(const Tensor& kernel, const Ints& then);
// The padding of all axes, including batch and channels.
std::vector<std::pair<int64_t, int64_t>> widths_of(const Windows& windows);

}  // namespace cornu::onnx::reading
