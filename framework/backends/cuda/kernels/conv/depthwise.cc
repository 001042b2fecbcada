// SPDX-License-Identifier: Apache-2.0
// Convolutions with one filter per channel. They are memory-bound, so everything adjacent in memory
// is read together, along the channels.
#include <algorithm>
#include <bit>

#include "framework/backends/cuda/kernels/conv/conv.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

using Direction = ConvSpec::Direction;

constexpr int64_t kMaxChannelLanes = 8;

int64_t channel_lanes(const ConvProblem& problem, int64_t most) {
  return std::min(most, lanes_for(size_of(problem.dtype()), {problem.channels}));
}

// Number of adjacent results computed by a thread: as many as leave enough threads.
int64_t neighbours_of(const ConvProblem& problem, int64_t lanes, const Lowering& lowering) {
  constexpr int64_t kThreads = int64_t{1} << 17;
  constexpr int64_t kMaxTaps = 7;
  if (!lowering.specialize() || problem.taps[2] < 2 || problem.taps[2] > kMaxTaps ||
      problem.dilation[2] != 1 || problem.strides[2] > 2) {
    return 1;
  }
  const int64_t threads = problem.outputs() * problem.channels / lanes;
  for (const int64_t count : {4, 2}) {
    if (problem.out[2] >= count && threads / count >= kThreads) return count;
  }
  return 1;
}

// The convolution with reversed taps that computes the input gradient of one with strides of 1.
ConvProblem reversed(const ConvProblem& problem) {
  ConvProblem result = problem;
  result.in = problem.out;
  result.out = problem.in;
  for (size_t axis = 0; axis < 3; ++axis) {
    result.low[axis] = (problem.taps[axis] - 1) * problem.dilation[axis] - problem.low[axis];
  }
  return result;
}

void add_depthwise_forward(const ConvProblem& problem, bool flip, Lowering& lowering) {
  const int64_t lanes = channel_lanes(problem, kMaxChannelLanes);
  const int64_t each = neighbours_of(problem, lanes, lowering);
  const int64_t across = (problem.out[2] + each - 1) / each;
  const int64_t count =
      problem.batch * problem.out[0] * problem.out[1] * across * (problem.channels / lanes);
  KernelSizes sizes = problem.sizes(lowering);
  sizes.add("count", count);
  std::string text = problem.epilogue.text() + problem.definitions() +
                     define_vector(type_name(problem.dtype()), lanes) + sizes.definitions() +
                     define("R", fmt::to_string(each)) +
                     define("FLIP", std::string_view(flip ? "true" : "false"));
  if (each > 1) {
    text += define("TAPS2", fmt::to_string(problem.taps[2])) +
            define("STEP2", fmt::to_string(problem.strides[2]));
  }
  std::vector<Argument> arguments = {in(0), in(1), out(0)};
  for (const Argument& argument : problem.epilogue.arguments(in(0))) arguments.push_back(argument);
  lowering.launch_text(flip ? "depthwise_input_grad" : "depthwise_conv",
                       text + std::string(source("kernels/conv/depthwise.cu")),
                       blocks_for(count, kConvBlock), {kConvBlock},
                       sizes.arguments(std::move(arguments)));
}

void add_depthwise_input_gradient(const ConvProblem& problem, Lowering& lowering) {
  if (problem.strides == Triple{1, 1, 1})
    return add_depthwise_forward(reversed(problem), true, lowering);
  const int64_t lanes = channel_lanes(problem, kMaxChannelLanes);
  const int64_t count = problem.result_elements() / lanes;
  KernelSizes sizes = problem.sizes(lowering);
  sizes.add("count", count);
  lowering.launch("depthwise_input_grad", "kernels/conv/depthwise_input.cu",
                  problem.definitions() + define_vector(type_name(problem.dtype()), lanes) +
                      sizes.definitions(),
                  blocks_for(count, kConvBlock), {kConvBlock},
                  sizes.arguments({in(0), in(1), out(0)}));
}

// How outputs are distributed over blocks.
struct DepthwiseBlocks {
  static constexpr int64_t kMaxBlocks = 1056;  // eight for each of an H200's multiprocessors
  static constexpr int64_t kMinOutputs = 8;    // per thread

  DepthwiseBlocks(const ConvProblem& problem, int64_t lanes) {
    const int64_t vectors = problem.channels / lanes;
    across =
        std::min<int64_t>(32, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(vectors))));
    columns = (vectors + across - 1) / across;
    const int64_t outputs = problem.outputs();
    const int64_t down = kConvBlock / across;
    sum.parts = std::clamp<int64_t>(outputs / (down * kMinOutputs), 1,
                                    std::max<int64_t>(1, kMaxBlocks / columns));
    sum.each = (outputs + sum.parts - 1) / sum.parts;
    sum.parts = (outputs + sum.each - 1) / sum.each;
  }

  int64_t across;   // threads along the channels
  int64_t columns;  // number of blocks along the channels
  SumParts sum;
};

void add_depthwise_filter_gradient(const ConvProblem& problem, Lowering& lowering) {
  constexpr int64_t kMaxTaps = 25;  // per thread: their sums are in registers
  const int64_t taps = product_of(problem.taps);
  const int64_t lanes = channel_lanes(problem, taps <= 9 ? 4 : 2);
  const bool at_once = lowering.specialize() && taps <= kMaxTaps;
  const DepthwiseBlocks blocks(problem, lanes);
  KernelSizes sizes = problem.sizes(lowering);
  sizes.add("all_taps", taps);
  sizes.add("positions", problem.outputs());
  sizes.add("each", blocks.sum.each);
  const DType compute = size_of(problem.dtype()) == 2 ? DType::Float32 : problem.dtype();
  const int64_t count = taps * problem.channels;
  const Slot parts =
      lowering.scratch(static_cast<size_t>(blocks.sum.parts * count) * size_of(compute));
  lowering.launch("depthwise_filter_grad", "kernels/conv/depthwise_filter.cu",
                  problem.definitions() + define_vector(type_name(problem.dtype()), lanes) +
                      sizes.definitions() + define("TX", fmt::to_string(blocks.across)) +
                      define("TAPS", at_once ? fmt::to_string(taps) : "1") +
                      define("FIRST_TAP", std::string_view(at_once ? "0" : "(I)blockIdx.z")),
                  {static_cast<uint32_t>(blocks.columns), static_cast<uint32_t>(blocks.sum.parts),
                   static_cast<uint32_t>(at_once ? 1 : taps)},
                  {kConvBlock}, sizes.arguments({in(0), in(1), parts}));
  add_parts(blocks.sum, parts, problem.dtype(), count, lowering);
}

}  // namespace

void add_depthwise_conv(const ConvProblem& problem, Lowering& lowering) {
  constexpr int64_t kMaxTaps = 65535;  // limit of a grid's z axis
  if (product_of(problem.taps) > kMaxTaps) return add_direct_conv(problem, lowering);
  switch (problem.direction()) {
    case Direction::Forward:
      return add_depthwise_forward(problem, false, lowering);
    case Direction::InputGradient:
      return add_depthwise_input_gradient(problem, lowering);
    case Direction::FilterGradient:
      return add_depthwise_filter_gradient(problem, lowering);
  }
}

}  // namespace cornu::cuda
