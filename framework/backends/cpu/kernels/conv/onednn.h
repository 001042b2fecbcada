// SPDX-License-Identifier: Apache-2.0
// Convolution primitives of oneDNN.
#pragma once

#include <optional>

#include "framework/backends/cpu/kernels/conv/conv.h"
#include "framework/backends/cpu/kernels/onednn.h"

namespace cornu::cpu::onednn {

// The kind of primitive that is requested.
struct ConvForm {
  dnnl::algorithm method = dnnl::algorithm::convolution_direct;
  bool any_layout = false;  // of x and y; otherwise the graph's layout
};

// The tensors of a convolution, whichever of them is computed.
struct ConvDescs {
  Desc x;
  Desc filter;
  Desc y;
  Desc bias;  // empty if there is none
};

struct ConvPrimitive {
  dnnl::primitive primitive;
  Desc scratchpad;
  ConvDescs outside;  // the graph's layouts: channels last, plain
  ConvDescs inside;   // the primitive's layouts

  // Operands in the order of the op's inputs, then its output.
  std::vector<Operand> operands(ConvDirection direction) const;
};

// Returns nullopt if oneDNN has no such implementation; slow reference implementations count only
// with `reference`.
std::optional<ConvPrimitive> make_conv_primitive(const ConvProblem& problem, Type type,
                                                 ConvForm form, bool reference = false);

// A kernel of single-threaded primitives for a few images each; null if dividing the batch doesn't
// pay.
std::unique_ptr<Kernel> make_tiled_conv(const ConvProblem& problem, Type type);

// Whether make_tiled_conv uses Winograd's method.
bool uses_winograd(const ConvProblem& problem);

// The input gradient as a convolution with the flipped filter; null if that isn't possible or
// doesn't pay.
std::unique_ptr<Kernel> make_flipped_conv(const ConvProblem& problem);

}  // namespace cornu::cpu::onednn
