// SPDX-License-Identifier: Apache-2.0
// The kernels of cuBLASLt and cuDNN as plain loops that accumulate in double and round once.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "framework/backends/cuda/runtime.h"

namespace cornu::cuda::simulated {

class SimulatedLibraryKernel : public LibraryKernel {
 public:
  // Computes on operands that the host can read.
  using Compute = std::function<void(std::span<void* const> operands)>;

  SimulatedLibraryKernel(std::string name, std::vector<size_t> operand_bytes, Compute compute)
      : name_(std::move(name)),
        operand_bytes_(std::move(operand_bytes)),
        compute_(std::move(compute)) {}

  // Nonzero; the workspace mustn't be in use by anything else.
  size_t workspace_bytes() const override { return 4096; }
  std::string describe() const override { return name_; }
  const std::vector<size_t>& operand_bytes() const { return operand_bytes_; }
  void compute(std::span<void* const> operands) const { compute_(operands); }

 private:
  std::string name_;
  std::vector<size_t> operand_bytes_;
  Compute compute_;
};

// Returns null for operations that the libraries don't have.
std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const MatmulSpec& spec);
std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const ConvSpec& spec);
std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const AttentionSpec& spec);

}  // namespace cornu::cuda::simulated
