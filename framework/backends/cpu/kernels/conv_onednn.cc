// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cornu/backends/cpu/kernels/conv.h"
#include "cornu/backends/cpu/kernels/onednn.h"

namespace cornu::cpu {
namespace {

using namespace onednn;
using dnnl::algorithm;
using dnnl::prop_kind;

// Descriptors of a convolution's tensors.
struct Descs {
  Desc x;
  Desc filter;
  Desc y;
  Desc bias;
};

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

// As the tensors of graphs lie: channels last, filters with output channels last.
Descs plain_descs(const ConvProblem& problem, Type type) {
  constexpr std::array<Tag, 3> kChannelsLast = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  constexpr std::array<Tag, 3> kFilter = {Tag::wio, Tag::hwio, Tag::dhwio};
  constexpr std::array<Tag, 3> kGroupedFilter = {Tag::wigo, Tag::hwigo, Tag::dhwigo};
  const size_t i = problem.spatial() - 1;
  return {Desc(with_spatial({problem.batch, problem.c_in}, problem.in), type, kChannelsLast[i]),
          Desc(filter_dims(problem), type, problem.groups == 1 ? kFilter[i] : kGroupedFilter[i]),
          Desc(with_spatial({problem.batch, problem.c_out}, problem.out), type, kChannelsLast[i]),
          problem.bias ? Desc({problem.c_out}, type, Tag::a) : Desc()};
}

Desc in_any_layout(const Desc& desc) {
  return Desc(desc.dims(), static_cast<Type>(desc.data.data_type), Tag::any);
}

// What the primitive is asked for.
struct Form {
  algorithm method;
  bool any_layout;  // of x and y; else as they lie
};

// Makes the three kinds of kernel.
class Maker {
 public:
  Maker(const ConvProblem& problem, Type type, Form form)
      : problem_(problem), form_(form), plain_(plain_descs(problem, type)), asked_(plain_) {
    asked_.filter = in_any_layout(plain_.filter);
    if (form.any_layout) {
      asked_.x = in_any_layout(plain_.x);
      asked_.y = in_any_layout(plain_.y);
    }
    for (int64_t d : problem.dilation) dilates_.push_back(d - 1);
  }

  // Null when there is no implementation, or only oneDNN's reference and `reference` is false.
  std::unique_ptr<Kernel> make(bool reference) const {
    switch (problem_.direction) {
      case ConvDirection::Forward: return forward(reference);
      case ConvDirection::InputGrad: return input_grad(reference);
      case ConvDirection::FilterGrad: return filter_grad(reference);
    }
    return nullptr;
  }

 private:
  using Forward = dnnl::convolution_forward;
  using BackwardData = dnnl::convolution_backward_data;
  using BackwardWeights = dnnl::convolution_backward_weights;

  Forward::primitive_desc forward_desc() const {
    const auto kind = prop_kind::forward_training;
    const auto& [x, filter, y, bias] = asked_;
    const auto& [method, any] = form_;
    const auto desc =
        problem_.bias ? Forward::desc(kind, method, x, filter, bias, y, problem_.strides, dilates_,
                                      problem_.low, problem_.high)
                      : Forward::desc(kind, method, x, filter, y, problem_.strides, dilates_,
                                      problem_.low, problem_.high);
    return {desc, attributes(problem_.relu), engine(), true};
  }

  template <class PrimitiveDesc>
  static bool usable(const PrimitiveDesc& desc, bool reference) {
    return desc && (reference || is_fast(desc));
  }

  std::unique_ptr<Kernel> forward(bool reference) const {
    const auto chosen = forward_desc();
    if (!usable(chosen, reference)) return nullptr;
    std::vector<Operand> operands = {
        {DNNL_ARG_SRC, false, 0, plain_.x, chosen.src_desc()},
        {DNNL_ARG_WEIGHTS, false, 1, plain_.filter, chosen.weights_desc()},
        {DNNL_ARG_DST, true, 0, plain_.y, chosen.dst_desc()}};
    if (problem_.bias) operands.push_back({DNNL_ARG_BIAS, false, 2, plain_.bias, plain_.bias});
    return make_kernel(Forward(chosen), chosen.scratchpad_desc(), operands);
  }

  std::unique_ptr<Kernel> input_grad(bool reference) const {
    const auto hint = forward_desc();
    if (!hint) return nullptr;
    const BackwardData::desc desc(form_.method, asked_.x, asked_.filter, asked_.y, problem_.strides,
                                  dilates_, problem_.low, problem_.high);
    const BackwardData::primitive_desc chosen(desc, attributes(), engine(), hint, true);
    if (!usable(chosen, reference)) return nullptr;
    const std::vector<Operand> operands = {
        {DNNL_ARG_DIFF_DST, false, 0, plain_.y, chosen.diff_dst_desc()},
        {DNNL_ARG_WEIGHTS, false, 1, plain_.filter, chosen.weights_desc()},
        {DNNL_ARG_DIFF_SRC, true, 0, plain_.x, chosen.diff_src_desc()}};
    return make_kernel(BackwardData(chosen), chosen.scratchpad_desc(), operands);
  }

  std::unique_ptr<Kernel> filter_grad(bool reference) const {
    const auto hint = forward_desc();
    if (!hint) return nullptr;
    const BackwardWeights::desc desc(form_.method, asked_.x, asked_.filter, asked_.y,
                                     problem_.strides, dilates_, problem_.low, problem_.high);
    const BackwardWeights::primitive_desc chosen(desc, attributes(), engine(), hint, true);
    if (!usable(chosen, reference)) return nullptr;
    const std::vector<Operand> operands = {
        {DNNL_ARG_SRC, false, 0, plain_.x, chosen.src_desc()},
        {DNNL_ARG_DIFF_DST, false, 1, plain_.y, chosen.diff_dst_desc()},
        {DNNL_ARG_DIFF_WEIGHTS, true, 0, plain_.filter, chosen.diff_weights_desc()}};
    return make_kernel(BackwardWeights(chosen), chosen.scratchpad_desc(), operands);
  }

  const ConvProblem& problem_;
  Form form_;
  Descs plain_;
  Descs asked_;
  Dims dilates_;
};

}  // namespace

std::unique_ptr<Kernel> make_onednn_conv(const ConvProblem& problem) {
  const auto type = compute_type(problem.dtype);
  if (!type) return nullptr;
  const Form as_it_lies{algorithm::convolution_direct, false};
  const Form as_it_likes{algorithm::convolution_direct, true};
  if (auto kernel = Maker(problem, *type, as_it_lies).make(false)) return kernel;
  if (auto kernel = Maker(problem, *type, as_it_likes).make(false)) return kernel;
  return Maker(problem, *type, as_it_lies).make(true);
}

}  // namespace cornu::cpu
