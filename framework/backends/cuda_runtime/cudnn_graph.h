// SPDX-License-Identifier: Apache-2.0
// cuDNN's graph API: operations over described tensors, and plans that run them.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/backends/cuda_runtime/driver.h"
#include "framework/core/dtype.h"

namespace cornu::cuda {

// Throws LibraryError with cuDNN's message.
[[noreturn]] void raise_cudnn(cudnnStatus_t status, std::string_view doing);

inline void check_cudnn(cudnnStatus_t status, std::string_view doing) {
  if (status != CUDNN_STATUS_SUCCESS) [[unlikely]] {
    raise_cudnn(status, doing);
  }
}

// The GPU that plans are made for: that of a handle, or one described by a DEVICEPROP descriptor,
// which needn't be present.
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  cudnnBackendDescriptor_t properties = nullptr;
  int major = 0;  // compute capability
};

// A cuDNN descriptor.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  cudnnBackendDescriptor_t get() const { return handle_.get(); }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void* values);
  void set(cudnnBackendAttributeName_t name, int64_t value) {
    set(name, CUDNN_TYPE_INT64, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, float value) {
    set(name, CUDNN_TYPE_FLOAT, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, bool value) {
    set(name, CUDNN_TYPE_BOOLEAN, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
  }
  void finalize();

  // Returns the number of values.
  int64_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
              void* values) const;

 private:
  struct Destroy {
    void operator()(void* descriptor) const { cudnnBackendDestroyDescriptor(descriptor); }
  };
  std::unique_ptr<void, Destroy> handle_;
};

using Dims = std::vector<int64_t>;

// Row-major strides of an array whose axes are stored in the order `order`.
Dims strides_of(const Dims& dims, std::initializer_list<size_t> order);

cudnnDataType_t cudnn_type(DType dtype);

// A way to run a graph. Keeps what it needs of the graph.
class CudnnPlan {
 public:
  CudnnPlan(const CudnnTarget& target, CudnnDescriptor config);

  size_t workspace_bytes() const { return workspace_bytes_; }
  // "engine 37: tensor cores"
  const std::string& describe() const { return description_; }
  void run(cudnnHandle_t handle, std::span<const int64_t> ids, std::span<void* const> memory,
           void* workspace);

 private:
  CudnnDescriptor config_;
  CudnnDescriptor plan_;
  size_t workspace_bytes_ = 0;
  std::string description_;
  std::mutex mutex_;  // some of cuDNN's engines keep state in a plan
};

using CudnnNotes = std::set<cudnnBackendNumericalNote_t>;

class CudnnGraph {
 public:
  // Owned by the graph.
  using Tensor = cudnnBackendDescriptor_t;

  // An array in memory, passed to the plan under this ID.
  Tensor array(int64_t id, cudnnDataType_t type, const Dims& dims, const Dims& strides);
  // A value on the host: run() gets its address.
  Tensor scalar(int64_t id, const Dims& dims);
  // A virtual tensor: passed from one operation to the next.
  Tensor between(cudnnDataType_t type, const Dims& dims, const Dims& strides);

  // y = mode(x, [b], [t]), with numbers of type `compute`.
  void pointwise(cudnnPointwiseMode_t mode, Tensor x, Tensor b, Tensor y,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT, Tensor t = nullptr);
  // y: the index along `axis` of each element of x.
  void index(int64_t axis, Tensor x, Tensor y);
  // Reduces over the axes that have size 1 in y.
  void reduce(cudnnReduceTensorOp_t operation, Tensor x, Tensor y);
  void matmul(Tensor a, Tensor b, Tensor c);
  void reshape(Tensor x, Tensor y);
  // Adds an operation of any type; `fill` sets its attributes.
  void add(cudnnBackendDescriptorType_t type, const std::function<void(CudnnDescriptor&)>& fill);
  // The same if all attributes are tensors or descriptors; null ones are skipped.
  void add(cudnnBackendDescriptorType_t type,
           std::initializer_list<std::pair<cudnnBackendAttributeName_t, Tensor>> operands);
  // Keeps a descriptor that an operation refers to.
  cudnnBackendDescriptor_t keep(CudnnDescriptor descriptor);

  // Returns the first plan suggested by cuDNN whose engine has none of the notes `without` and
  // which needs no more than `most_workspace`. Returns null when there is none; `why` then says
  // what was tried.
  std::unique_ptr<CudnnPlan> plan(const CudnnTarget& target, const CudnnNotes& without,
                                  size_t most_workspace, std::string& why);

 private:
  Tensor tensor(int64_t id, cudnnDataType_t type, const Dims& dims, const Dims& strides,
                bool is_virtual, bool by_value);

  std::vector<CudnnDescriptor> kept_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t next_between_ = 1000;
};

}  // namespace cornu::cuda
