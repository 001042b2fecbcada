// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/conv.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

using Direction = ConvSpec::Direction;

constexpr size_t kMaxWorkspace = size_t{1} << 30;

// (batch, spatial..., channels) in cuDNN's axis order: (batch, channels, spatial...). A single
// spatial axis is preceded by a height of 1.
Dims channels_second(const std::vector<int64_t>& shape) {
  Dims dims = {shape.front(), shape.back()};
  if (shape.size() == 3) dims.push_back(1);
  dims.insert(dims.end(), shape.begin() + 1, shape.end() - 1);
  return dims;
}

// Strides of a channels-last array.
Dims channels_last_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t stride = dims[1];
  for (size_t axis = dims.size() - 1; axis >= 2; --axis) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  strides[0] = stride;
  strides[1] = 1;
  return strides;
}

Dims spatial(const std::vector<int64_t>& values, int64_t missing) {
  Dims dims = values;
  if (dims.size() == 1) dims.insert(dims.begin(), missing);
  return dims;
}

CudnnNotes unwanted(const ConvSpec& spec) {
  CudnnNotes notes = {CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, CUDNN_NUMERICAL_NOTE_FFT,
                      CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6,
                      CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13};
  if (spec.deterministic) notes.insert(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  if (spec.dtype == DType::Float32 && !spec.tf32) {
    notes.insert({CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS});
  }
  return notes;
}

class ConvGraph {
 public:
  explicit ConvGraph(const ConvSpec& spec) : spec_(spec), type_(cudnn_type(spec.dtype)) {
    describe_conv();
    switch (spec.direction) {
      case Direction::Forward:
        add_forward();
        break;
      case Direction::InputGradient:
        add_input_gradient();
        break;
      case Direction::FilterGradient:
        add_filter_gradient();
        break;
    }
  }

  CudnnGraph& graph() { return graph_; }

 private:
  using Tensor = CudnnGraph::Tensor;

  Tensor operand(int64_t id, const std::vector<int64_t>& shape) {
    const Dims dims = channels_second(shape);
    return graph_.array(id, type_, dims, channels_last_strides(dims));
  }

  void describe_conv() {
    CudnnDescriptor conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    constexpr cudnnConvolutionMode_t kMode = CUDNN_CROSS_CORRELATION;
    const Dims strides = spatial(spec_.strides, 1);
    conv.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    conv.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &kMode);
    conv.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::ssize(strides));
    conv.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial(spec_.low, 0));
    conv.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial(spec_.high, 0));
    conv.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(spec_.dilation, 1));
    conv.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
    conv_ = graph_.keep(std::move(conv));
  }

  // The operations added to the convolution, in sequence; the last one writes y.
  void add_forward() {
    const Dims dims = channels_second(spec_.y);
    const Dims strides = channels_last_strides(dims);
    int steps = spec_.residual + spec_.bias + spec_.relu;
    const auto next = [&] {
      return steps-- == 0 ? operand(3, spec_.y) : graph_.between(CUDNN_DATA_FLOAT, dims, strides);
    };
    Tensor value = next();
    graph_.add(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, [&](CudnnDescriptor& op) {
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, conv_);
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, operand(1, spec_.x));
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, operand(2, spec_.filter));
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, value);
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
      op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
    });
    const auto add_step = [&](cudnnPointwiseMode_t mode, Tensor other) {
      const Tensor result = next();
      graph_.pointwise(mode, value, other, result);
      value = result;
    };
    if (spec_.residual) add_step(CUDNN_POINTWISE_ADD, operand(spec_.bias ? 5 : 4, spec_.y));
    if (spec_.bias) {
      Dims bias(dims.size(), 1);
      bias[1] = dims[1];
      add_step(CUDNN_POINTWISE_ADD, graph_.array(4, type_, bias, channels_last_strides(bias)));
    }
    if (spec_.relu) add_step(CUDNN_POINTWISE_RELU_FWD, nullptr);
  }

  void add_input_gradient() {
    graph_.add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
               [&](CudnnDescriptor& op) {
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, conv_);
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, operand(1, spec_.y));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, operand(2, spec_.filter));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, operand(3, spec_.x));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f);
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
               });
  }

  void add_filter_gradient() {
    graph_.add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
               [&](CudnnDescriptor& op) {
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, conv_);
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, operand(1, spec_.x));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, operand(2, spec_.y));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, operand(3, spec_.filter));
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f);
                 op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f);
               });
  }

  const ConvSpec& spec_;
  cudnnDataType_t type_;
  CudnnGraph graph_;
  cudnnBackendDescriptor_t conv_ = nullptr;
};

const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::Forward:
      return "convolution";
    case Direction::InputGradient:
      return "convolution's input gradient";
    case Direction::FilterGradient:
      return "convolution's filter gradient";
  }
  return "";
}

size_t bytes_of(const ConvSpec& spec, const std::vector<int64_t>& shape) {
  size_t total = size_of(spec.dtype);
  for (const int64_t length : shape) total *= static_cast<size_t>(length);
  return total;
}

std::vector<Operand> operands_of(const ConvSpec& spec) {
  const auto bytes = [&](const std::vector<int64_t>& shape) { return bytes_of(spec, shape); };
  switch (spec.direction) {
    case Direction::InputGradient:
      return {{bytes(spec.y), false}, {bytes(spec.filter), false, false}, {bytes(spec.x), true}};
    case Direction::FilterGradient:
      return {{bytes(spec.x), false}, {bytes(spec.y), false}, {bytes(spec.filter), true}};
    case Direction::Forward:
      break;
  }
  std::vector<Operand> operands = {
      {bytes(spec.x), false}, {bytes(spec.filter), false, false}, {bytes(spec.y), true}};
  if (spec.bias) operands.push_back({bytes({spec.y.back()}), false, false});
  if (spec.residual) operands.push_back({bytes(spec.y), false});
  return operands;
}

bool any_is_empty(const ConvSpec& spec) {
  const auto empty = [](const std::vector<int64_t>& shape) {
    return std::ranges::find(shape, 0) != shape.end();
  };
  return empty(spec.x) || empty(spec.filter) || empty(spec.y);
}

// The batch in `parts` equal parts whose arrays are aligned; nullopt: it can't be divided so.
std::optional<ConvSpec> part_of(const ConvSpec& spec, int64_t parts) {
  ConvSpec part = spec;
  for (auto* shape : {&part.x, &part.y}) {
    if (shape->front() % parts != 0) return std::nullopt;
    shape->front() /= parts;
    if (parts > 1 && bytes_of(spec, *shape) % kOperandAlignment != 0) return std::nullopt;
  }
  return part;
}

std::unique_ptr<CudnnPlan> plan_of(const CudnnTarget& target, const ConvSpec& spec,
                                   size_t most_workspace, std::string& why) {
  return ConvGraph(spec).graph().plan(target, unwanted(spec), most_workspace, why);
}

std::shared_ptr<CudnnKernel> kernel_of(const ConvSpec& spec, std::unique_ptr<CudnnPlan> plan,
                                       int64_t parts) {
  return std::make_shared<CudnnKernel>(name_of(spec.direction), std::move(plan), operands_of(spec),
                                       std::vector<CudnnKernel::Extra>{},
                                       std::vector<CudnnKernel::Scalar>{},
                                       static_cast<size_t>(parts));
}

// What cuDNN suggests first, for as large a part of the batch as has room for it in the workspace:
// float32 engines copy their arrays to another layout, and those that don't are many times slower.
// Null if there is nothing like that.
std::shared_ptr<CudnnKernel> best_conv(const CudnnTarget& target, const ConvSpec& spec) {
  constexpr int64_t kMaxParts = 64;
  const bool divisible = spec.direction != Direction::FilterGradient;
  for (int64_t parts = 1; parts <= (divisible ? kMaxParts : 1); parts *= 2) {
    const std::optional<ConvSpec> part = part_of(spec, parts);
    if (!part) return nullptr;
    std::string why;
    auto plan = plan_of(target, *part, std::numeric_limits<size_t>::max(), why);
    if (!plan) return nullptr;
    if (plan->workspace_bytes() <= kMaxWorkspace) return kernel_of(spec, std::move(plan), parts);
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<CudnnKernel> make_conv(const CudnnTarget& target, const ConvSpec& spec,
                                       std::string& why) {
  const bool known = spec.dtype == DType::Float32 || is_half(spec.dtype);
  if (!known || any_is_empty(spec)) {
    why = "not for cuDNN";
    return nullptr;
  }
  try {
    if (auto best = best_conv(target, spec)) return best;
    auto plan = plan_of(target, spec, kMaxWorkspace, why);
    return plan ? kernel_of(spec, std::move(plan), 1) : nullptr;
  } catch (const LibraryError& error) {
    if (error.is_out_of_memory()) throw;
    why += error.what();
    return nullptr;
  }
}

}  // namespace cornu::cuda
