// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda_runtime/library.h"

#include <algorithm>

#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr size_t round_up(size_t bytes) { return (bytes + 255) / 256 * 256; }

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

// Aligned copies of operands, in memory that is allocated and freed in stream order.
class Copies {
 public:
  explicit Copies(RuntimeStream& stream) : stream_(stream) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() {
    for (const Copy& copy : copies_) cuMemFreeAsync(copy.place, stream_.handle());
  }

  void* copy(void* memory, const Operand& operand) {
    CUdeviceptr place = 0;
    stream_.check(cuMemAllocAsync(&place, operand.bytes, stream_.handle()), "aligning an operand");
    copies_.push_back({place, address(memory), operand});
    if (!operand.written) move(place, address(memory), operand.bytes);
    return reinterpret_cast<void*>(place);
  }

  void write_back() {
    for (const Copy& copy : copies_) {
      if (copy.operand.written) move(copy.original, copy.place, copy.operand.bytes);
    }
  }

 private:
  struct Copy {
    CUdeviceptr place;
    CUdeviceptr original;
    Operand operand;
  };

  void move(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
    stream_.check(cuMemcpyDtoDAsync(to, from, bytes, stream_.handle()), "aligning an operand");
  }

  RuntimeStream& stream_;
  std::vector<Copy> copies_;
};

}  // namespace

void LibraryKernelBase::run(RuntimeStream& stream, std::span<void* const> operands,
                            void* workspace) {
  check<Internal>(operands.size() == operands_.size(), "{} takes {} operands, got {}.", label_,
                  operands_.size(), operands.size());
  const auto is_odd = [](const void* memory) { return address(memory) % kOperandAlignment != 0; };
  if (std::ranges::none_of(operands, is_odd)) [[likely]] {
    enqueue(stream, operands, workspace);
    return;
  }
  Copies copies(stream);
  std::vector<void*> aligned(operands.begin(), operands.end());
  for (size_t i = 0; i < aligned.size(); ++i) {
    if (is_odd(aligned[i])) aligned[i] = copies.copy(aligned[i], operands_[i]);
  }
  enqueue(stream, aligned, workspace);
  copies.write_back();
}

CudnnKernel::CudnnKernel(const std::string& name, std::unique_ptr<CudnnPlan> plan,
                         const std::vector<Operand>& operands, std::vector<Extra> extras,
                         std::vector<Scalar> scalars, size_t parts)
    : LibraryKernelBase(name + " by cuDNN, " + plan->describe() +
                            (parts > 1 ? fmt::format(", in {} parts", parts) : ""),
                        operands),
      plan_(std::move(plan)),
      parts_(parts),
      extras_(std::move(extras)),
      scalars_(std::move(scalars)) {
  for (const Operand& operand : operands) {
    part_bytes_.push_back(operand.divided ? operand.bytes / parts_ : 0);
    ids_.push_back(std::ssize(part_bytes_));
  }
  for (const Extra& extra : extras_) {
    ids_.push_back(extra.id);
    extra_bytes_ += round_up(extra.bytes);
  }
  for (const Scalar& scalar : scalars_) ids_.push_back(scalar.id);
}

void CudnnKernel::enqueue(RuntimeStream& stream, std::span<void* const> operands, void* workspace) {
  std::vector<void*> memory(operands.begin(), operands.end());
  char* place = static_cast<char*>(workspace);
  for (const Extra& extra : extras_) {
    memory.push_back(place);
    place += round_up(extra.bytes);
  }
  for (Scalar& scalar : scalars_) memory.push_back(&scalar.value);
  for (size_t part = 0; part < parts_; ++part) {
    for (size_t i = 0; i < operands.size(); ++i) {
      memory[i] = static_cast<char*>(operands[i]) + part * part_bytes_[i];
    }
    plan_->run(cudnn_handle(stream), ids_, memory, place);
  }
}

cudnnHandle_t cudnn_handle(RuntimeStream& stream) {
  if (!stream.library) {
    cudnnHandle_t handle = nullptr;
    check_cudnn(cudnnCreate(&handle), "starting");
    stream.library = std::shared_ptr<void>(
        handle, [](void* own) { cudnnDestroy(static_cast<cudnnHandle_t>(own)); });
    check_cudnn(cudnnSetStream(handle, stream.handle()), "taking a stream");
  }
  return static_cast<cudnnHandle_t>(stream.library.get());
}

}  // namespace cornu::cuda
