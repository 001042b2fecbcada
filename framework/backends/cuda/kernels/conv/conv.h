// SPDX-License-Identifier: Apache-2.0
// The parameters of a convolution, and the ways to compute it.
#pragma once

#include "framework/backends/cuda/kernels/conv/axes.h"
#include "framework/backends/cuda/kernels/matmul/matmul.h"

namespace cornu::cuda {

inline constexpr int64_t kConvBlock = 256;  // threads

// x (batch, in..., channels), filter (taps..., channels / groups, filters), y (batch, out...,
// filters). The op's operands are two of the three, plus those of the epilogue in the forward
// direction; its result is the third.
struct ConvProblem {
  ConvProblem(const KernelSpec& spec, ConvSpec::Direction direction);

  ConvSpec library;  // the spec for a library, without an epilogue
  Epilogue epilogue;
  int64_t batch;
  int64_t channels;
  int64_t filters;
  Triple in;
  Triple taps;
  Triple out;
  Triple strides;
  Triple dilation;
  Triple low;

  DType dtype() const { return library.dtype; }
  ConvSpec::Direction direction() const { return library.direction; }
  bool is(ConvSpec::Direction which) const { return library.direction == which; }
  int64_t groups() const { return library.groups; }
  int64_t inputs() const { return batch * product_of(in); }  // positions
  int64_t outputs() const { return batch * product_of(out); }
  int64_t filter_elements() const { return product_of(taps) * channels / groups() * filters; }
  // Number of elements of the result.
  int64_t result_elements() const;

  // Whether it is a matrix product: a single tap, and one output per input.
  bool is_product() const;
  // Whether each filter sees a single channel.
  bool is_by_channel() const { return groups() > 1 && groups() == channels; }
  // Whether there is one filter per channel.
  bool is_depthwise() const { return is_by_channel() && filters == channels; }

  // The sizes along each axis, under the names used in kernel texts: in0, taps0, out0, step0
  // (strides), dil0, low0, …
  KernelSizes sizes(const Lowering& lowering) const;
  // The definitions at the beginning of all texts: T (storage), C (arithmetic) and I, the index
  // type.
  std::string definitions() const;
};

// A sum split across several blocks: `parts` parts of `each` terms. Depends only on sizes.
struct SumParts {
  int64_t parts = 1;
  int64_t each = 0;
};

// Adds up `parts` arrays of `count` computed values into the op's result.
void add_parts(const SumParts& sum, Slot parts, DType dtype, int64_t count, Lowering& lowering);

// Uses the matrix product library.
void add_product_conv(const ConvProblem& problem, Lowering& lowering);
// Returns false when the convolution library has no kernel.
bool add_library_conv(const ConvProblem& problem, Lowering& lowering);
// For depthwise convolutions.
void add_depthwise_conv(const ConvProblem& problem, Lowering& lowering);
// For any convolution and dtype.
void add_direct_conv(const ConvProblem& problem, Lowering& lowering);

}  // namespace cornu::cuda
