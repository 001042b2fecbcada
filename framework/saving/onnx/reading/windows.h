// SPDX-License-Identifier: Apache-2.0
// How windows go over spatial axes: what convolutions and pooling share.
#pragma once

#include <string>

#include "framework/core/checked.h"
#include "framework/saving/onnx/reading/node_reader.h"

namespace cornu::onnx::reading {

struct Windows {
  Ints kernel, strides, dilations;
  Ints before, after;  // pads; empty where `same`
  bool same = false;   // padded as Keras's "same", whatever the sizes are

  size_t axes() const { return kernel.size(); }
  int64_t extent(size_t axis) const {
    return (Checked(kernel[axis], "a kernel with dilations") - 1) * dilations[axis] + 1;
  }
  bool padded() const;
};

// Of a node over x (batch, channels, spatial…), whose attributes say all but a kernel that is not
// empty here. Where pads are those of Keras's "same" for these sizes, they are said so, if they may
// be.
Windows windows_of(NodeReader& n, const Tensor& x, const Ints& kernel, bool may_be_same = true);

std::string auto_pad_of(NodeReader& n);
// "Conv", 2 axes: "Conv2D".
std::string class_of_axes(const std::string& name, size_t axes, const char* ending = "");
// The config of a layer with windows.
Json windows_config(const Windows& windows, const char* padding);
// x with zeros around.
Tensor with_zeros(NodeReader& n, const Tensor& x, const Windows& windows);
// The pads of all axes, those of batch and channels too.
std::vector<std::pair<int64_t, int64_t>> widths_of(const Windows& windows);

}  // namespace cornu::onnx::reading
