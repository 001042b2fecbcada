// SPDX-License-Identifier: Apache-2.0
// What the kernels of libraries have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/backends/cuda_runtime/cudnn_graph.h"
#include "framework/backends/cuda_runtime/driver.h"

namespace cornu::cuda {

inline constexpr size_t kOperandAlignment = 16;  // what kernels are chosen for, in bytes

struct Operand {
  size_t bytes = 0;
  bool written = false;
  bool divided = true;  // its first axis is the batch
};

class LibraryKernelBase : public LibraryKernel {
 public:
  LibraryKernelBase(std::string label, std::vector<Operand> operands)
      : label_(std::move(label)), operands_(std::move(operands)) {}

  std::string describe() const override { return label_; }
  const std::string& label() const { return label_; }

  // Operands that lie at odd addresses, such as slices of an array of float16, are copied.
  void run(RuntimeStream& stream, std::span<void* const> operands, void* workspace);

 protected:
  virtual void enqueue(RuntimeStream& stream, std::span<void* const> operands, void* workspace) = 0;

 private:
  std::string label_;
  std::vector<Operand> operands_;
};

// A plan over the operands of a spec, numbered from 1 on in their order.
class CudnnKernel : public LibraryKernelBase {
 public:
  // An array of `bytes` that the plan keeps in the workspace, under this number.
  struct Extra {
    int64_t id = 0;
    size_t bytes = 0;
  };
  // A number that it takes from the host.
  struct Scalar {
    int64_t id = 0;
    float value = 0;
  };

  // `parts`: the plan is of so large a part of the batch, and is run for one part after the other.
  CudnnKernel(const std::string& name, std::unique_ptr<CudnnPlan> plan,
              const std::vector<Operand>& operands, std::vector<Extra> extras = {},
              std::vector<Scalar> scalars = {}, size_t parts = 1);

  size_t workspace_bytes() const override { return extra_bytes_ + plan_->workspace_bytes(); }

 protected:
  void enqueue(RuntimeStream& stream, std::span<void* const> operands, void* workspace) override;

 private:
  std::unique_ptr<CudnnPlan> plan_;
  size_t parts_;
  std::vector<size_t> part_bytes_;  // by operand
  std::vector<int64_t> ids_;
  std::vector<Extra> extras_;
  std::vector<Scalar> scalars_;
  size_t extra_bytes_ = 0;
};

// The stream's own handle of cuDNN, made on first use: not while a graph is captured.
cudnnHandle_t cudnn_handle(RuntimeStream& stream);

size_t element_bytes(DType dtype);

}  // namespace cornu::cuda
