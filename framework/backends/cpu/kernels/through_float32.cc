// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/through_float32.h"

#include <algorithm>

#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr int64_t kConversionGrain = 4096;  // elements

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

template <class From, class To>
void convert(const void* from, void* to, int64_t count) {
  parallel_for(count, kConversionGrain, [&](int64_t begin, int64_t end) {
    const auto* source = static_cast<const From*>(from);
    auto* target = static_cast<To*>(to);
    for (int64_t i = begin; i < end; ++i) target[i] = static_cast<To>(source[i]);
  });
}

struct Slot {
  DType dtype;
  int64_t count;
  size_t offset;  // in scratch memory; half tensors only
};

class ThroughFloat32 : public Kernel {
 public:
  ThroughFloat32(std::unique_ptr<Kernel> inner, const KernelSpec& spec) : inner_(std::move(inner)) {
    bytes_ = aligned(inner_->scratch_bytes());
    add(spec.inputs, in_);
    add(spec.outputs, out_);
    in_pointers_.resize(in_.size());
    out_pointers_.resize(out_.size());
  }

  size_t scratch_bytes() const override { return bytes_; }

  void run(const KernelArgs& args) override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    for (size_t i = 0; i < in_.size(); ++i) {
      const Slot& slot = in_[i];
      void* wide = scratch + slot.offset;
      in_pointers_[i] = is_half(slot.dtype) ? wide : args.in[i];
      if (slot.dtype == DType::Float16) convert<float16, float>(args.in[i], wide, slot.count);
      if (slot.dtype == DType::BFloat16) convert<bfloat16, float>(args.in[i], wide, slot.count);
    }
    for (size_t i = 0; i < out_.size(); ++i) {
      out_pointers_[i] = is_half(out_[i].dtype) ? scratch + out_[i].offset : args.out[i];
    }
    KernelArgs inner = args;
    inner.in = in_pointers_.data();
    inner.out = out_pointers_.data();
    inner_->run(inner);
    for (size_t i = 0; i < out_.size(); ++i) {
      const Slot& slot = out_[i];
      const void* wide = out_pointers_[i];
      if (slot.dtype == DType::Float16) convert<float, float16>(wide, args.out[i], slot.count);
      if (slot.dtype == DType::BFloat16) convert<float, bfloat16>(wide, args.out[i], slot.count);
    }
  }

 private:
  static size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  void add(std::span<const TensorType> types, std::vector<Slot>& slots) {
    for (const TensorType& type : types) {
      const int64_t count = type.shape.num_elements();
      slots.push_back({type.dtype, count, bytes_});
      if (is_half(type.dtype)) bytes_ += aligned(static_cast<size_t>(count) * sizeof(float));
    }
  }

  std::unique_ptr<Kernel> inner_;
  std::vector<Slot> in_;
  std::vector<Slot> out_;
  std::vector<const void*> in_pointers_;
  std::vector<void*> out_pointers_;
  size_t bytes_ = 0;
};

std::vector<TensorType> widened(std::span<const TensorType> types) {
  std::vector<TensorType> result(types.begin(), types.end());
  for (TensorType& type : result) {
    if (is_half(type.dtype)) type.dtype = DType::Float32;
  }
  return result;
}

}  // namespace

std::unique_ptr<Kernel> through_float32(const KernelSpec& spec, const KernelFactory& make) {
  const std::vector<TensorType> inputs = widened(spec.inputs);
  const std::vector<TensorType> outputs = widened(spec.outputs);
  if (std::ranges::equal(inputs, spec.inputs) && std::ranges::equal(outputs, spec.outputs)) {
    return nullptr;
  }
  auto inner = make({spec.op, spec.attributes, inputs, outputs});
  if (!inner) return nullptr;
  return std::make_unique<ThroughFloat32>(std::move(inner), spec);
}

}  // namespace cornu::cpu
