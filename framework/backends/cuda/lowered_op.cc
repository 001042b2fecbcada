// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/lowered_op.h"

#include <atomic>
#include <bit>

#include "framework/core/error.h"
#include "framework/core/per_thread.h"

namespace cornu::cuda {
namespace {

// Larger than the number of checks of any op.
constexpr int64_t kMaxChecks = 16;

int64_t next_checks() {
  static std::atomic<int64_t> next = 1;
  return next.fetch_add(kMaxChecks);
}

void* address_of(const Slot& slot, const OpMemory& memory) {
  switch (slot.kind) {
    case Slot::Kind::Input:
      return static_cast<std::byte*>(memory.in[slot.index]) + slot.offset;
    case Slot::Kind::Output:
      return static_cast<std::byte*>(memory.out[slot.index]) + slot.offset;
    case Slot::Kind::Scratch:
      return memory.scratch + slot.offset;
    case Slot::Kind::Status:
      break;
  }
  return memory.status;
}

// The 8-byte word passed to a kernel.
uint64_t word_of(const Argument& argument, const OpMemory& memory) {
  if (const auto* slot = std::get_if<Slot>(&argument)) {
    return std::bit_cast<uint64_t>(address_of(*slot, memory));
  }
  if (const auto* number = std::get_if<int64_t>(&argument)) {
    return std::bit_cast<uint64_t>(*number);
  }
  return std::bit_cast<uint64_t>(std::get<double>(argument));
}

void run_kernel(const KernelStep& step, RuntimeFunction* function, GpuDevice& device,
                const OpMemory& memory) {
  auto& words = per_thread([] { return std::vector<uint64_t>(); });
  words.clear();
  for (const Argument& argument : step.arguments) words.push_back(word_of(argument, memory));
  device.runtime().launch(device.stream(), function, step.grid, step.block, step.shared_bytes,
                          words);
}

void run_library(const LibraryStep& step, GpuDevice& device, const OpMemory& memory) {
  auto& operands = per_thread([] { return std::vector<void*>(); });
  operands.clear();
  for (const Slot& slot : step.operands) operands.push_back(address_of(slot, memory));
  device.runtime().run(device.stream(), *step.kernel, operands, address_of(step.workspace, memory));
}

}  // namespace

LoweredOp::LoweredOp(const KernelSpec& spec, GpuDevice& device, bool specialize) {
  const int64_t first = next_checks();
  Lowering lowering(device.runtime(), device.gpu(), specialize, first);
  lowering_table().lower(spec, lowering);
  steps_ = lowering.steps();
  functions_.assign(steps_.size(), nullptr);
  scratch_bytes_ = lowering.scratch_bytes();
  aliases_ = lowering.aliases();
  CORNU_ASSERT(static_cast<int64_t>(lowering.checks().size()), <=, kMaxChecks);
  for (size_t i = 0; i < lowering.checks().size(); ++i) {
    checks_.emplace(first + static_cast<int64_t>(i), lowering.checks()[i]);
  }
}

void LoweredOp::load(std::span<LoweredOp* const> ops, GpuDevice& device) {
  std::vector<KernelCode> codes;
  std::vector<RuntimeFunction**> places;
  for (LoweredOp* op : ops) {
    for (size_t i = 0; i < op->steps_.size(); ++i) {
      if (auto* kernel = std::get_if<KernelStep>(&op->steps_[i])) {
        codes.push_back({kernel->code.name, std::move(kernel->code.text)});
        places.push_back(&op->functions_[i]);
      }
    }
  }
  if (codes.empty()) return;
  const std::vector<RuntimeFunction*> functions =
      device.with_memory([&] { return device.runtime().load(device.gpu(), codes); });
  for (size_t i = 0; i < places.size(); ++i) *places[i] = functions[i];
}

std::string LoweredOp::describe() const {
  std::string text;
  for (const Step& step : steps_) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      const Dim3& grid = kernel->grid;
      text += fmt::format("kernel {} <<<{} {} {}, {}>>>\n", kernel->code.name, grid.x, grid.y,
                          grid.z, kernel->block.x);
    } else if (const auto* copy = std::get_if<CopyStep>(&step)) {
      text += fmt::format("copy {} bytes\n", copy->bytes);
    } else if (const auto* fill = std::get_if<FillStep>(&step)) {
      text += fmt::format("fill {} bytes\n", fill->bytes);
    } else {
      text += fmt::format("library {}\n", std::get<LibraryStep>(step).kernel->describe());
    }
  }
  return text;
}

void LoweredOp::run(GpuDevice& device, const OpMemory& memory) const {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    if (const auto* kernel = std::get_if<KernelStep>(&step)) {
      run_kernel(*kernel, functions_[i], device, memory);
    } else if (const auto* copy = std::get_if<CopyStep>(&step)) {
      void* to = address_of(copy->to, memory);
      void* from = address_of(copy->from, memory);
      if (to != from) device.runtime().copy(device.stream(), to, from, copy->bytes);
    } else if (const auto* fill = std::get_if<FillStep>(&step)) {
      device.runtime().fill(device.stream(), address_of(fill->to, memory), fill->byte, fill->bytes);
    } else {
      run_library(std::get<LibraryStep>(step), device, memory);
    }
  }
}

}  // namespace cornu::cuda
