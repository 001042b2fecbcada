// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/conv/onednn.h"

#include <algorithm>
#include <array>
#include <functional>

namespace cornu::cpu {
namespace onednn {
namespace {

using dnnl::prop_kind;

Dims with_spatial(Dims first, const std::vector<int64_t>& spatial) {
  first.insert(first.end(), spatial.begin(), spatial.end());
  return first;
}

Dims filter_dims(const ConvProblem& problem) {
  const int64_t in = problem.c_in / problem.groups;
  const int64_t out = problem.c_out / problem.groups;
  return with_spatial(problem.groups == 1 ? Dims{out, in} : Dims{problem.groups, out, in},
                      problem.taps);
}

// Which tensors keep the graph's layout; the others may have any.
struct Plain {
  bool images = true;
  bool filter = true;
};
ConvDescs descs_of(const ConvProblem& problem, Type type, Plain plain) {
  constexpr std::array<Tag, 3> kChannelsLast = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  constexpr std::array<Tag, 3> kFilter = {Tag::wio, Tag::hwio, Tag::dhwio};
  constexpr std::array<Tag, 3> kGroupedFilter = {Tag::wigo, Tag::hwigo, Tag::dhwigo};
  const size_t i = problem.spatial() - 1;
  const Tag images = plain.images ? kChannelsLast[i] : Tag::any;
  const Tag filter = problem.groups == 1 ? kFilter[i] : kGroupedFilter[i];
  return {Desc(with_spatial({problem.batch, problem.c_in}, problem.in), type, images),
          Desc(filter_dims(problem), type, plain.filter ? filter : Tag::any),
          Desc(with_spatial({problem.batch, problem.c_out}, problem.out), type, images),
          problem.bias ? Desc({problem.c_out}, type, Tag::a) : Desc()};
}

class Maker {
 public:
  Maker(const ConvProblem& problem, Type type, ConvForm form, bool reference)
      : problem_(problem),
        method_(form.method),
        reference_(reference),
        plain_(descs_of(problem, type, {})),
        requested_(descs_of(problem, type, {.images = !form.any_layout, .filter = false})) {
    for (int64_t d : problem.dilation) dilates_.push_back(d - 1);
  }

  std::optional<ConvPrimitive> make() const {
    const auto forward = forward_desc();
    if (!forward) return {};
    switch (problem_.direction) {
      case ConvDirection::Forward:
        return finish<Forward>(forward, [](const auto& d) {
          return ConvDescs{d.src_desc(), d.weights_desc(), d.dst_desc(), {}};
        });
      case ConvDirection::InputGrad:
        return finish<BackwardData>(gradient<BackwardData>(forward), [](const auto& d) {
          return ConvDescs{d.diff_src_desc(), d.weights_desc(), d.diff_dst_desc(), {}};
        });
      case ConvDirection::FilterGrad:
        return finish<BackwardWeights>(gradient<BackwardWeights>(forward), [](const auto& d) {
          return ConvDescs{d.src_desc(), d.diff_weights_desc(), d.diff_dst_desc(), {}};
        });
    }
    return {};
  }

 private:
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;

  Forward::primitive_desc forward_desc() const {
    const auto kind = prop_kind::forward_training;
    const auto& [x, filter, y, bias] = requested_;
    const Dims &strides = problem_.strides, &low = problem_.low, &high = problem_.high;
    const auto skips = std::bind_front(&Maker::is_wrong, this);
    return problem_.bias ? choose_unless<Forward>(skips, attributes(), kind, method_, x, filter,
                                                  bias, y, strides, dilates_, low, high)
                         : choose_unless<Forward>(skips, attributes(), kind, method_, x, filter, y,
                                                  strides, dilates_, low, high);
  }

  template <class Primitive>
  typename Primitive::primitive_desc gradient(const Forward::primitive_desc& forward) const {
    const auto& [x, filter, y, bias] = requested_;
    const auto skips = std::bind_front(&Maker::is_wrong, this);
    return choose_gradient<Primitive>(skips, forward, method_, x, filter, y, problem_.strides,
                                      dilates_, problem_.low, problem_.high);
  }

  // Implementations of oneDNN 2.6 that read memory which they didn't write:
  // - jit_1x1:avx2: filter gradients of strided convolutions whose channels don't fill its vectors
  //   come out wrong;
  // - brgconv, which computes outputs in blocks along the last axis: those of a block that begins
  //   at the first output beyond whose filter the image ends. Blocks of three outputs or fewer were
  //   always right (54,000 random convolutions, 43 of them wrong, all with four or more).
  bool is_wrong(const char* implementation) const {
    const std::string_view name = implementation;
    switch (problem_.direction) {
      case ConvDirection::Forward:
        return name.starts_with("brgconv:") && outputs_beyond() >= 4;
      case ConvDirection::FilterGrad:
        return name.starts_with("jit_1x1") && !problem_.all(problem_.strides, 1) &&
               (problem_.c_in % 16 != 0 || problem_.c_out % 16 != 0);
      case ConvDirection::InputGrad:
        return false;
    }
    return false;
  }

  // The number of outputs along the last axis whose filter reaches beyond the end of the image.
  int64_t outputs_beyond() const {
    const int64_t stride = problem_.strides.back();
    const int64_t last = (problem_.out.back() - 1) * stride - problem_.low.back() +
                         (problem_.taps.back() - 1) * problem_.dilation.back();
    const int64_t beyond = last - (problem_.in.back() - 1);
    return beyond > 0 ? (beyond + stride - 1) / stride : 0;
  }

  template <class Primitive, class Descs>
  std::optional<ConvPrimitive> finish(typename Primitive::primitive_desc chosen,
                                      Descs descs) const {
    if (!chosen || !(reference_ || is_fast(chosen))) return {};
    ConvPrimitive result{Primitive(chosen), chosen.scratchpad_desc(), plain_, descs(chosen)};
    result.inside.bias = plain_.bias;
    return result;
  }

  const ConvProblem& problem_;
  dnnl::algorithm method_;
  bool reference_;
  ConvDescs plain_;
  ConvDescs requested_;
  Dims dilates_;
};

}  // namespace

std::vector<Operand> ConvPrimitive::operands(ConvDirection direction) const {
  const auto& [x, filter, y, bias] = outside;
  const auto& [inner_x, inner_filter, inner_y, inner_bias] = inside;
  switch (direction) {
    case ConvDirection::Forward: {
      std::vector<Operand> result = {{DNNL_ARG_SRC, false, 0, x, inner_x},
                                     {DNNL_ARG_WEIGHTS, false, 1, filter, inner_filter},
                                     {DNNL_ARG_DST, true, 0, y, inner_y}};
      if (bias.get_size() > 0) result.push_back({DNNL_ARG_BIAS, false, 2, bias, inner_bias});
      return result;
    }
    case ConvDirection::InputGrad:
      return {{DNNL_ARG_DIFF_DST, false, 0, y, inner_y},
              {DNNL_ARG_WEIGHTS, false, 1, filter, inner_filter},
              {DNNL_ARG_DIFF_SRC, true, 0, x, inner_x}};
    case ConvDirection::FilterGrad:
      return {{DNNL_ARG_SRC, false, 0, x, inner_x},
              {DNNL_ARG_DIFF_DST, false, 1, y, inner_y},
              {DNNL_ARG_DIFF_WEIGHTS, true, 0, filter, inner_filter}};
  }
  return {};
}

std::optional<ConvPrimitive> make_conv_primitive(const ConvProblem& problem, Type type,
                                                 ConvForm form, bool reference) {
  return Maker(problem, type, form, reference).make();
}

}  // namespace onednn

namespace {

// oneDNN 2.6's bfloat16 kernels give wrong results for some odd numbers of channels, groups, and
// filters that are larger than the image: only common kinds of convolution use them.
bool is_safe(const ConvProblem& problem) {
  if (problem.dtype == DType::Float32) return true;
  constexpr int64_t kUnit = 8;
  for (size_t i = 0; i < problem.spatial(); ++i) {
    if (problem.taps[i] > problem.in[i]) return false;
  }
  return problem.spatial() == 2 && problem.c_in % kUnit == 0 && problem.c_out % kUnit == 0 &&
         problem.all(problem.dilation, 1) &&
         (problem.groups == 1 ||
          (problem.groups == problem.c_in && problem.groups == problem.c_out));
}

// oneDNN computes the extent of a filter in 32 bits: filters that reach far beyond the input are
// left to the plain kernel.
bool reaches_too_far(const ConvProblem& problem) {
  constexpr int64_t kAlwaysFine = 4096;
  for (size_t i = 0; i < problem.spatial(); ++i) {
    const int64_t reach = std::max({problem.strides[i], problem.low[i], problem.high[i],
                                    problem.taps[i], problem.dilation[i]});
    if (reach > std::max(problem.in[i], kAlwaysFine)) return true;
  }
  return false;
}

// The same convolution over images of one row.
ConvProblem as_images(const ConvProblem& problem) {
  ConvProblem result = problem;
  for (auto* sizes : {&result.in, &result.taps, &result.out, &result.strides, &result.dilation}) {
    sizes->insert(sizes->begin(), 1);
  }
  for (auto* padding : {&result.low, &result.high}) padding->insert(padding->begin(), 0);
  return result;
}

}  // namespace

std::unique_ptr<Kernel> make_onednn_conv(const ConvProblem& problem) {
  using namespace onednn;
  const auto type = compute_type(problem.dtype);
  if (!type || !is_safe(problem) || reaches_too_far(problem)) return nullptr;
  // oneDNN has no fast kernels for depthwise convolutions of a single axis.
  if (problem.spatial() == 1 && problem.groups > 1 && problem.groups == problem.c_in) {
    return make_onednn_conv(as_images(problem));
  }
  if (auto kernel = make_flipped_conv(problem)) return kernel;
  if (auto kernel = make_tiled_conv(problem, *type)) return kernel;
  auto made = make_conv_primitive(problem, *type, {});
  if (!made) made = make_conv_primitive(problem, *type, {.any_layout = true});
  if (!made) made = make_conv_primitive(problem, *type, {}, /*reference=*/true);
  if (!made) return nullptr;
  const std::vector<Operand> operands = made->operands(problem.direction);
  auto kernel = make_kernel(made->primitive, made->scratchpad, operands);
  return rectified(std::move(kernel), problem.dtype, problem.activation,
                   made->outside.y.get_size() / size_of(problem.dtype));
}

}  // namespace cornu::cpu
