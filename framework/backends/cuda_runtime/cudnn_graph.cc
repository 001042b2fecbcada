// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/cudnn_graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kAlignment = 16;  // of arrays, in bytes

const char* name_of(cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      return "tensor cores";
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      return "rounded inputs";
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return "reduced precision";
    case CUDNN_NUMERICAL_NOTE_FFT:
      return "FFT";
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return "nondeterministic";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      return "Winograd";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return "large Winograd tiles";
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
      return "strict NaN";
    case CUDNN_NUMERICAL_NOTE_TYPE_COUNT:
      break;
  }
  return "other";
}

struct Engine {
  int64_t number = -1;
  CudnnNotes notes;

  std::string describe() const {
    std::string text;
    for (const auto note : notes) {
      text += fmt::format("{}{}", text.empty() ? ": " : ", ", name_of(note));
    }
    return fmt::format("engine {}{}", number, text);
  }
};

Engine engine_of(const CudnnDescriptor& config) {
  const CudnnDescriptor descriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t raw = descriptor.get();
  config.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
  Engine engine;
  descriptor.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &engine.number);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
  const int64_t count = descriptor.get(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                       static_cast<int64_t>(notes.size()), notes.data());
  engine.notes.insert(notes.begin(),
                      notes.begin() + std::clamp<int64_t>(count, 0, std::ssize(notes)));
  return engine;
}

// Configurations suggested by cuDNN for a graph, best first.
std::vector<CudnnDescriptor> configs_of(const CudnnDescriptor& graph, const CudnnTarget& target,
                                        cudnnBackendHeurMode_t mode) {
  CudnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.get());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target.properties != nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, target.properties);
  }
  heuristics.finalize();
  int64_t count =
      heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<CudnnDescriptor> configs;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < count; ++i) {
    raw.push_back(configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  }
  if (count > 0) {
    count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                           raw.data());
  }
  while (std::ssize(configs) > count) configs.pop_back();
  return configs;
}

}  // namespace

void raise_cudnn(cudnnStatus_t status, std::string_view doing) {
  std::array<char, 512> message = {};
  cudnnGetLastErrorString(message.data(), message.size());
  throw LibraryError(fmt::format("cuDNN failed when {}: {} ({})", doing,
                                 cudnnGetErrorString(status), message.data()),
                     status == CUDNN_STATUS_ALLOC_FAILED);
}

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t descriptor = nullptr;
  check_cudnn(cudnnBackendCreateDescriptor(type, &descriptor),
              fmt::format("making a descriptor of type {}", static_cast<int>(type)));
  handle_.reset(descriptor);
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t count, const void* values) {
  const cudnnStatus_t status = cudnnBackendSetAttribute(handle_.get(), name, type, count, values);
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]] {
    raise_cudnn(status, fmt::format("setting attribute {}", static_cast<int>(name)));
  }
}

int64_t CudnnDescriptor::get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                             int64_t count, void* values) const {
  int64_t found = 0;
  const cudnnStatus_t status =
      cudnnBackendGetAttribute(handle_.get(), name, type, count, &found, values);
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]] {
    raise_cudnn(status, fmt::format("asking for attribute {}", static_cast<int>(name)));
  }
  return found;
}

void CudnnDescriptor::finalize() {
  check_cudnn(cudnnBackendFinalize(handle_.get()), "checking a descriptor");
}

Dims strides_of(const Dims& dims, std::initializer_list<size_t> order) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (const size_t axis : std::vector<size_t>(std::rbegin(order), std::rend(order))) {
    strides[axis] = stride;
    stride *= dims[axis];
  }
  return strides;
}

cudnnDataType_t cudnn_type(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return CUDNN_DATA_HALF;
    case DType::BFloat16:
      return CUDNN_DATA_BFLOAT16;
    case DType::Float32:
      return CUDNN_DATA_FLOAT;
    case DType::Float64:
      return CUDNN_DATA_DOUBLE;
    default:
      raise<Internal>("cuDNN was asked for arrays of {}.", dtype);
  }
}

CudnnPlan::CudnnPlan(const CudnnTarget& target, CudnnDescriptor config)
    : config_(std::move(config)), plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_.get());
  if (target.handle != nullptr) {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  }
  if (target.properties != nullptr) {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, target.properties);
  }
  plan_.finalize();
  int64_t bytes = 0;
  plan_.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &bytes);
  workspace_bytes_ = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  description_ = engine_of(config_).describe();
}

void CudnnPlan::run(cudnnHandle_t handle, std::span<const int64_t> ids,
                    std::span<void* const> memory, void* workspace) {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           static_cast<int64_t>(memory.size()), memory.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  const std::lock_guard lock(mutex_);
  check_cudnn(cudnnBackendExecute(handle, plan_.get(), pack.get()), "running " + description_);
}

CudnnGraph::Tensor CudnnGraph::tensor(int64_t id, cudnnDataType_t type, const Dims& dims,
                                      const Dims& strides, bool is_virtual, bool by_value) {
  CudnnDescriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (by_value) tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  return keep(std::move(tensor));
}

CudnnGraph::Tensor CudnnGraph::array(int64_t id, cudnnDataType_t type, const Dims& dims,
                                     const Dims& strides) {
  return tensor(id, type, dims, strides, false, false);
}

CudnnGraph::Tensor CudnnGraph::scalar(int64_t id, const Dims& dims) {
  return tensor(id, CUDNN_DATA_FLOAT, dims, dims, false, true);
}

CudnnGraph::Tensor CudnnGraph::between(cudnnDataType_t type, const Dims& dims,
                                       const Dims& strides) {
  return tensor(next_between_++, type, dims, strides, true, false);
}

cudnnBackendDescriptor_t CudnnGraph::keep(CudnnDescriptor descriptor) {
  descriptor.finalize();
  return kept_.emplace_back(std::move(descriptor)).get();
}

void CudnnGraph::add(cudnnBackendDescriptorType_t type,
                     const std::function<void(CudnnDescriptor&)>& fill) {
  CudnnDescriptor operation(type);
  fill(operation);
  operations_.push_back(keep(std::move(operation)));
}

void CudnnGraph::add(
    cudnnBackendDescriptorType_t type,
    std::initializer_list<std::pair<cudnnBackendAttributeName_t, Tensor>> operands) {
  add(type, [&](CudnnDescriptor& operation) {
    for (const auto& [name, operand] : operands) {
      if (operand != nullptr) operation.set(name, operand);
    }
  });
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y,
                           cudnnDataType_t compute, Tensor t) {
  CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute);
  if (mode == CUDNN_POINTWISE_RELU_FWD) {  // otherwise NaN may become 0
    constexpr cudnnNanPropagation_t kKept = CUDNN_PROPAGATE_NAN;
    what.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &kKept);
  }
  add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(what))},
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
       {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b},
       {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, t},
       {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void CudnnGraph::index(int64_t axis, Tensor x, Tensor y) {
  constexpr cudnnPointwiseMode_t kMode = CUDNN_POINTWISE_GEN_INDEX;
  CudnnDescriptor what(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &kMode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  what.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, keep(std::move(what))},
       {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
       {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}});
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t operator_, Tensor x, Tensor y) {
  CudnnDescriptor what(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  what.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &operator_);
  what.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_REDUCTION_DESC, keep(std::move(what))},
       {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x},
       {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}});
}

void CudnnGraph::matmul(Tensor a, Tensor b, Tensor c) {
  CudnnDescriptor what(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  what.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_MATMUL_DESC, keep(std::move(what))},
       {CUDNN_ATTR_OPERATION_MATMUL_ADESC, a},
       {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b},
       {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c}});
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  add(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR,
      {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}});
}

std::unique_ptr<CudnnPlan> CudnnGraph::plan(const CudnnTarget& target, const CudnnNotes& without,
                                            size_t most_workspace, std::string& why) {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::ssize(operations_),
            operations_.data());
  if (target.handle != nullptr) {
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &target.handle);
  }
  graph.finalize();
  const auto note = [&why](const std::string& text) {
    if (!why.ends_with(text)) why += text;
  };
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    try {
      for (CudnnDescriptor& config : configs_of(graph, target, mode)) {
        const Engine engine = engine_of(config);
        if (std::ranges::any_of(engine.notes,
                                [&](const auto one) { return without.contains(one); })) {
          note(engine.describe() + " not wanted; ");
          continue;
        }
        try {
          auto plan = std::make_unique<CudnnPlan>(target, std::move(config));
          if (plan->workspace_bytes() <= most_workspace) return plan;
          note(fmt::format("{} needs a workspace of {} bytes; ", engine.describe(),
                           plan->workspace_bytes()));
        } catch (const LibraryError& error) {
          if (error.is_out_of_memory()) throw;
          note(fmt::format("{}: {}; ", engine.describe(), error.what()));
        }
      }
    } catch (const LibraryError& error) {  // no heuristics for such a graph
      if (error.is_out_of_memory()) throw;
      note(fmt::format("heuristics {}: {}; ", static_cast<int>(mode), error.what()));
    }
  }
  return nullptr;
}

}  // namespace cornu::cuda
