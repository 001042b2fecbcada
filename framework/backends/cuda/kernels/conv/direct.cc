// SPDX-License-Identifier: Apache-2.0
// Convolutions of any dtype and shape: one thread per element of the result.
#include <algorithm>

#include "framework/backends/cuda/kernels/conv/conv.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

using Direction = ConvSpec::Direction;

// As many parts as fill a GPU, each with enough outputs to make up for adding the parts.
SumParts direct_parts(const ConvProblem& problem) {
  constexpr int64_t kThreads = int64_t{1} << 18;
  constexpr int64_t kMaxParts = 4096;
  constexpr int64_t kMinOutputs = 32;
  const int64_t outputs = problem.outputs();
  const int64_t most = std::clamp<int64_t>(outputs / kMinOutputs, 1, kMaxParts);
  const int64_t parts = std::clamp<int64_t>(kThreads / problem.filter_elements(), 1, most);
  SumParts sum{.parts = parts, .each = (outputs + parts - 1) / parts};
  sum.parts = (outputs + sum.each - 1) / sum.each;
  return sum;
}

KernelSizes direct_sizes(const ConvProblem& problem, const Lowering& lowering) {
  KernelSizes sizes = problem.sizes(lowering);
  sizes.add("count", problem.result_elements());
  sizes.add("in_group", problem.channels / problem.groups());  // channels per group
  sizes.add("out_group", problem.filters / problem.groups());  // filters per group
  return sizes;
}

void add_direct_filter_gradient(const ConvProblem& problem, Lowering& lowering) {
  const SumParts sum = direct_parts(problem);
  const int64_t count = problem.filter_elements();
  KernelSizes sizes = direct_sizes(problem, lowering);
  sizes.add("positions", problem.outputs());
  sizes.add("each", sum.each);
  const DType compute = size_of(problem.dtype()) == 2 ? DType::Float32 : problem.dtype();
  const Slot parts = lowering.scratch(static_cast<size_t>(sum.parts * count) * size_of(compute));
  Dim3 grid = blocks_for(count, kConvBlock);
  grid.y = static_cast<uint32_t>(sum.parts);
  lowering.launch("conv_filter_grad", "kernels/conv/filter_gradient.cu",
                  problem.definitions() + sizes.definitions(), grid, {kConvBlock},
                  sizes.arguments({in(0), in(1), parts}));
  add_parts(sum, parts, problem.dtype(), count, lowering);
}

}  // namespace

void add_direct_conv(const ConvProblem& problem, Lowering& lowering) {
  if (problem.is(Direction::FilterGradient)) return add_direct_filter_gradient(problem, lowering);
  const KernelSizes sizes = direct_sizes(problem, lowering);
  const Dim3 grid = blocks_for(problem.result_elements(), kConvBlock);
  if (problem.is(Direction::InputGradient)) {
    lowering.launch("conv_input_grad", "kernels/conv/input_gradient.cu",
                    problem.definitions() + sizes.definitions(), grid, {kConvBlock},
                    sizes.arguments({in(0), in(1), out(0)}));
    return;
  }
  std::vector<Argument> arguments = {in(0), in(1), out(0)};
  for (const Argument& argument : problem.epilogue.arguments(in(0))) arguments.push_back(argument);
  lowering.launch_text("conv",
                       problem.epilogue.text() + problem.definitions() + sizes.definitions() +
                           std::string(source("kernels/conv/forward.cu")),
                       grid, {kConvBlock}, sizes.arguments(std::move(arguments)));
}

}  // namespace cornu::cuda
