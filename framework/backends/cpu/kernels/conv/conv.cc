// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/conv/conv.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include "framework/backends/cpu/kernels/through_float32.h"

namespace cornu::cpu {
namespace {

std::vector<int64_t> middle(const Shape& shape, int64_t begin, int64_t end) {
  return std::vector<int64_t>(shape.begin() + begin, shape.begin() + end);
}

template <ConvDirection kDirection>
std::unique_ptr<Kernel> make_conv(const KernelSpec& spec) {
  const size_t bytes = spec.outputs[0].bytes();
  const bool no_terms = spec.inputs[0].bytes() == 0 || spec.inputs[1].bytes() == 0;
  if (bytes == 0) return make_kernel([](const KernelArgs&) {});
  const ConvProblem problem(spec, kDirection);
  if (no_terms) {
    if (!problem.bias) {
      return make_kernel([bytes](const KernelArgs& args) { std::memset(args.out[0], 0, bytes); });
    }
  } else {
    if (auto kernel = make_product_conv(problem)) return kernel;
    if (auto kernel = make_depthwise_filter_grad(problem)) return kernel;
    if (auto kernel = make_gathered_conv(problem)) return kernel;
    if (auto kernel = make_onednn_conv(problem)) return kernel;
  }
  if (auto kernel = through_float32(spec, make_conv<kDirection>)) return kernel;
  return make_plain_conv(problem);
}

}  // namespace

ConvProblem::ConvProblem(const KernelSpec& spec, ConvDirection which) : direction(which) {
  const Attributes& attributes = spec.attributes;
  const Shape x = direction == ConvDirection::InputGrad ? attributes.get_shape("input_shape")
                                                        : spec.inputs[0].shape;
  const Shape filter = direction == ConvDirection::FilterGrad ? attributes.get_shape("filter_shape")
                                                              : spec.inputs[1].shape;
  const Shape& y = direction == ConvDirection::Forward     ? spec.outputs[0].shape
                   : direction == ConvDirection::InputGrad ? spec.inputs[0].shape
                                                           : spec.inputs[1].shape;
  dtype = spec.outputs[0].dtype;
  batch = x[0];
  c_in = x.back();
  c_out = y.back();
  groups = attributes.get_int("groups");
  in = middle(x, 1, x.rank() - 1);
  out = middle(y, 1, y.rank() - 1);
  taps = middle(filter, 0, filter.rank() - 2);
  strides = attributes.get_ints("strides");
  dilation = attributes.get_ints("dilation");
  const auto& padding = attributes.get_ints("padding");
  for (size_t i = 0; i < in.size(); ++i) {
    low.push_back(padding[2 * i]);
    high.push_back(padding[2 * i + 1]);
  }
  bias = spec.inputs.size() > 2;
  if (bias) activation = activation_named(attributes.get_string("activation"));
}

int64_t ConvProblem::filter_size() const { return product_of(taps) * c_in / groups * c_out; }

bool ConvProblem::all(const std::vector<int64_t>& values, int64_t value) const {
  return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
}

std::vector<int64_t> ConvProblem::input_positions() const {
  std::vector<int64_t> result;
  const int64_t outputs = product_of(out);
  const int64_t filter_taps = product_of(taps);
  for (int64_t output = 0; output < outputs; ++output) {
    for (int64_t tap = 0; tap < filter_taps; ++tap) {
      int64_t position = 0;
      int64_t size = 1;
      int64_t o = output;
      int64_t t = tap;
      for (size_t axis = spatial(); axis-- > 0;) {
        const int64_t at =
            o % out[axis] * strides[axis] - low[axis] + t % taps[axis] * dilation[axis];
        if (at < 0 || at >= in[axis]) position = -1;
        if (position >= 0) position += at * size;
        size *= in[axis];
        o /= out[axis];
        t /= taps[axis];
      }
      result.push_back(position);
    }
  }
  return result;
}

int64_t product_of(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

void register_conv_kernels(KernelTable& table) {
  table.add("conv", make_conv<ConvDirection::Forward>);
  table.add("conv_bias_act", make_conv<ConvDirection::Forward>);
  table.add("conv_input_grad", make_conv<ConvDirection::InputGrad>);
  table.add("conv_filter_grad", make_conv<ConvDirection::FilterGrad>);
  register_conv_pool_kernels(table);
}

}  // namespace cornu::cpu
