// SPDX-License-Identifier: Apache-2.0
// The parameters of a convolution.
#pragma once

#include <memory>
#include <vector>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/pooling/rectify.h"

namespace cornu::cpu {

enum class ConvDirection { Forward, InputGrad, FilterGrad };

// x (batch, in..., c_in), filter (taps..., c_in / groups, c_out), y (batch, out..., c_out), with
// one to three spatial axes. `direction`: which of the three is computed from the other two.
struct ConvProblem {
  ConvProblem(const KernelSpec& spec, ConvDirection direction);

  ConvDirection direction;
  DType dtype = DType::Float32;
  int64_t batch = 0;
  int64_t c_in = 0;
  int64_t c_out = 0;
  int64_t groups = 1;
  std::vector<int64_t> in;
  std::vector<int64_t> taps;
  std::vector<int64_t> out;
  std::vector<int64_t> strides;
  std::vector<int64_t> dilation;
  std::vector<int64_t> low;  // padding
  std::vector<int64_t> high;
  bool bias = false;  // forward only
  Activation activation = Activation::None;

  size_t spatial() const { return in.size(); }
  int64_t filter_size() const;  // elements
  bool all(const std::vector<int64_t>& values, int64_t value) const;
  // For one image: the input position for each output position and tap, row-major; -1 in the
  // padding.
  std::vector<int64_t> input_positions() const;
};

int64_t product_of(const std::vector<int64_t>& sizes);

// float32 and bfloat16; null for other dtypes.
std::unique_ptr<Kernel> make_onednn_conv(const ConvProblem& problem);

// float32 convolutions of few positions and large filters, and gradients of bfloat16 filters where
// oneDNN's are slow; null for others.
std::unique_ptr<Kernel> make_product_conv(const ConvProblem& problem);

// float32 convolutions of a few input channels where oneDNN's are slow: long filters, and gradients
// by the input. Null for others.
std::unique_ptr<Kernel> make_gathered_conv(const ConvProblem& problem);

// Gradients of float32 depthwise filters where oneDNN's are slow: large filters, or small images.
// Null for others.
std::unique_ptr<Kernel> make_depthwise_filter_grad(const ConvProblem& problem);

// float32, float64 and integers, with plain loops.
std::unique_ptr<Kernel> make_plain_conv(const ConvProblem& problem);

// conv_pool and its filter gradient: part of register_conv_kernels.
void register_conv_pool_kernels(KernelTable& table);

}  // namespace cornu::cpu
