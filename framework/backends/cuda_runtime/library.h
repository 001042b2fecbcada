// SPDX-License-Identifier: Apache-2.0
// Common parts of library kernels.
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

inline constexpr size_t kOperandAlignment =
    16;  // the alignment in bytes that kernels are chosen for

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

  // Misaligned operands, such as slices of a float16 array, are copied.
  void run(RuntimeStream& stream, std::span<void* const> operands, void* workspace);

 protected:
  virtual void enqueue(RuntimeStream& stream, std::span<void* const> operands, void* workspace) = 0;

 private:
  std::string label_;
  std::vector<Operand> operands_;
};

// A plan over the operands of a spec, numbered in order, starting at 1.
class CudnnKernel : public LibraryKernelBase {
 public:
  // An array of `bytes` bytes that the plan keeps in the workspace, under this ID.
  struct Extra {
    int64_t id = 0;
    size_t bytes = 0;
  };
  // A number passed from the host.
  struct Scalar {
    int64_t id = 0;
    float value = 0;
  };

  // `parts`: the plan covers 1 / parts of the batch, and is run for one part after another.
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

// The stream's own cuDNN handle, created on first use: not during graph capture.
cudnnHandle_t cudnn_handle(RuntimeStream& stream);

}  // namespace cornu::cuda
