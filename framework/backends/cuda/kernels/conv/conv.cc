// SPDX-License-Identifier: Apache-2.0
// The choice of a convolution's kernels: README.md.
#include "framework/backends/cuda/kernels/conv/conv.h"

#include <algorithm>
#include <cstdlib>

#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

using Direction = ConvSpec::Direction;

const Shape& shape_of_y(const KernelSpec& spec, Direction direction) {
  if (direction == Direction::Forward) return spec.outputs[0].shape;
  return spec.inputs[direction == Direction::InputGradient ? 0 : 1].shape;
}

// A filter (spatial..., channels, filters) as (filters, spatial..., channels).
std::vector<int64_t> filters_first(const Shape& filter) {
  std::vector<int64_t> dims = {filter.back()};
  dims.insert(dims.end(), filter.begin(), filter.end() - 1);
  return dims;
}

bool is_all(const Triple& values, int64_t value) {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

ConvSpec library_spec(const KernelSpec& spec, Direction direction) {
  const Attributes& attributes = spec.attributes;
  const bool of_input = direction == Direction::InputGradient;
  const bool of_filter = direction == Direction::FilterGradient;
  ConvSpec library{
      .direction = direction,
      .dtype = spec.outputs[0].dtype,
      .x = (of_input ? attributes.get_shape("input_shape") : spec.inputs[0].shape).dims(),
      .filter =
          filters_first(of_filter ? attributes.get_shape("filter_shape") : spec.inputs[1].shape),
      .y = shape_of_y(spec, direction).dims(),
      .strides = attributes.get_ints("strides"),
      .low = {},
      .high = {},
      .dilation = attributes.get_ints("dilation"),
      .groups = attributes.get_int("groups")};
  const auto& padding = attributes.get_ints("padding");
  for (size_t i = 0; i < padding.size(); i += 2) {
    library.low.push_back(padding[i]);
    library.high.push_back(padding[i + 1]);
  }
  return library;
}

bool lower_conv(const KernelSpec& spec, Direction direction, Lowering& lowering) {
  const size_t bytes = spec.outputs[0].bytes();
  if (spec.outputs[0].dtype == DType::Bool) return false;
  if (bytes == 0) return true;
  const ConvProblem problem(spec, direction);
  const bool no_terms = spec.inputs[0].bytes() == 0 || spec.inputs[1].bytes() == 0;
  if (no_terms && problem.epilogue.empty()) {
    lowering.fill(out(0), 0, bytes);
  } else if (no_terms) {
    add_direct_conv(problem, lowering);
  } else if (problem.is_product()) {
    // The matrix product library can't add a residual.
    if (!problem.epilogue.residual || !add_library_conv(problem, lowering)) {
      add_product_conv(problem, lowering);
    }
  } else if (problem.is_depthwise()) {
    add_depthwise_conv(problem, lowering);
  } else if (problem.is_by_channel() || !add_library_conv(problem, lowering)) {
    add_direct_conv(problem, lowering);
  }
  return true;
}

Lower conv_in(Direction direction) {
  return [direction](const KernelSpec& spec, Lowering& lowering) {
    return lower_conv(spec, direction, lowering);
  };
}

}  // namespace

ConvProblem::ConvProblem(const KernelSpec& spec, Direction direction)
    : library(library_spec(spec, direction)),
      batch(library.x.front()),
      channels(library.x.back()),
      filters(library.y.back()),
      in(spatial_axes(library.x)),
      taps(spatial_axes(library.filter)),
      out(spatial_axes(library.y)),
      strides(three_axes(library.strides, 1)),
      dilation(three_axes(library.dilation, 1)),
      low(three_axes(library.low, 0)) {
  if (spec.inputs.size() < 3) return;
  epilogue.bias = cuda::in(2);
  if (spec.inputs.size() > 3) epilogue.residual = cuda::in(3);
  epilogue.relu = spec.attributes.get_string("activation") == "relu";
}

int64_t ConvProblem::result_elements() const {
  switch (direction()) {
    case Direction::InputGradient:
      return inputs() * channels;
    case Direction::FilterGradient:
      return filter_elements();
    case Direction::Forward:
      break;
  }
  return outputs() * filters;
}

bool ConvProblem::is_product() const {
  return groups() == 1 && is_all(taps, 1) && is_all(strides, 1) && in == out && is_all(low, 0);
}

KernelSizes ConvProblem::sizes(const Lowering& lowering) const {
  KernelSizes sizes(lowering);
  add_axes(sizes, "in", in);
  add_axes(sizes, "taps", taps);
  add_axes(sizes, "out", out);
  add_axes(sizes, "step", strides);
  add_axes(sizes, "dil", dilation);
  add_axes(sizes, "low", low);
  sizes.add("channels", channels);
  sizes.add("filters", filters);
  return sizes;
}

std::string ConvProblem::definitions() const {
  int64_t largest = std::max({inputs() * channels, outputs() * filters, filter_elements()});
  for (size_t axis = 0; axis < 3; ++axis) {
    const int64_t reach = std::max(taps[axis] * dilation[axis], out[axis] * strides[axis]);
    largest = std::max({largest, std::abs(low[axis]), in[axis] + reach});
  }
  return define("T", type_name(dtype())) + define("C", compute_name(dtype())) +
         define("I", signed_index(largest));
}

void add_parts(const SumParts& sum, Slot parts, DType dtype, int64_t count, Lowering& lowering) {
  constexpr int64_t kColumns = 32;  // per block
  lowering.launch("add_parts", "kernels/conv/add_parts.cu",
                  define("T", type_name(dtype)) + define("C", compute_name(dtype)),
                  blocks_for(count, kColumns), {kConvBlock}, {parts, out(0), sum.parts, count});
}

void add_product_conv(const ConvProblem& problem, Lowering& lowering) {
  MatmulSpec product{.dtype = problem.dtype()};
  switch (problem.direction()) {
    case Direction::Forward:
      product.m = problem.outputs();
      product.n = problem.filters;
      product.k = problem.channels;
      break;
    case Direction::InputGradient:
      product.m = problem.inputs();
      product.n = problem.channels;
      product.k = problem.filters;
      product.transpose_b = true;
      break;
    case Direction::FilterGradient:
      product.m = problem.channels;
      product.n = problem.filters;
      product.k = problem.outputs();
      product.transpose_a = true;
      break;
  }
  add_product(product, {in(0), in(1), out(0)}, problem.epilogue, lowering);
}

void register_conv(LoweringTable& table) {
  table.add("conv", conv_in(Direction::Forward));
  table.add("conv_bias_act", conv_in(Direction::Forward));
  table.add("conv_input_grad", conv_in(Direction::InputGradient));
  table.add("conv_filter_grad", conv_in(Direction::FilterGradient));
}

}  // namespace cornu::cuda
