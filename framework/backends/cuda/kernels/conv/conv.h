// SPDX-License-Identifier: Apache-2.0
// The parameters of a convolution, and the ways to compute it.
#pragma once

#include "framework/backends/cuda/kernels/conv/axes.h"
#include "framework/backends/cuda/kernels/matmul/matmul.h"

namespace cornu::cuda {

inline constexpr int64_t kConvBlock = 256;  // threads

// x (batch, in..., channels), filter (taps..., channels / groups, filters), y (batch, out...,
// filters). The op's operands are two of the three and, forward, those of the epilogue; its result
// is the third.
struct ConvProblem {
  ConvProblem(const KernelSpec& spec, ConvSpec::Direction direction);

  ConvSpec library;  // as a library wants it, without an epilogue
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
  // Of what is computed.
  int64_t result_elements() const;

  // Whether it is a product of matrices: one tap, and an output for each input.
  bool is_product() const;
  // Whether each filter sees one channel.
  bool is_by_channel() const { return groups() > 1 && groups() == channels; }
  // One filter for each channel.
  bool is_depthwise() const { return is_by_channel() && filters == channels; }

  // The sizes along each axis, by the names in the kernels' texts: in0, taps0, out0, step0
  // (strides), dil0, low0, …
  KernelSizes sizes(const Lowering& lowering) const;
  // What all texts begin with: T (storage), C (arithmetic) and I, the type of indices.
  std::string definitions() const;
};

// The parts of a sum that several blocks compute: `parts` of `each` terms. Follows from sizes
// alone.
struct SumParts {
  int64_t parts = 1;
  int64_t each = 0;
};

// Adds up `parts` arrays of `count` computed values, into the op's result.
void add_parts(const SumParts& sum, Slot parts, DType dtype, int64_t count, Lowering& lowering);

// Through the library of matrix products.
void add_product_conv(const ConvProblem& problem, Lowering& lowering);
// False where the library of convolutions has none.
bool add_library_conv(const ConvProblem& problem, Lowering& lowering);
// Depthwise ones.
void add_depthwise_conv(const ConvProblem& problem, Lowering& lowering);
// Any, of any dtype.
void add_direct_conv(const ConvProblem& problem, Lowering& lowering);

}  // namespace cornu::cuda
