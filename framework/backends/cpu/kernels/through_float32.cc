// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/through_float32.h"

#include <algorithm>

#include "framework/backends/cpu/kernels/elementwise/ops.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr int64_t kConversionGrain = 4096;  // elements

void convert_all(DType from, DType to, const void* source, void* target, int64_t count) {
  const TileFn cast = cast_tile(from, to);
  parallel_for(count, kConversionGrain, [&](int64_t begin, int64_t end) {
    const auto at = static_cast<size_t>(begin);
    convert(cast, static_cast<const std::byte*>(source) + size_of(from) * at,
            static_cast<std::byte*>(target) + size_of(to) * at, end - begin);
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
      if (is_half(slot.dtype))
        convert_all(slot.dtype, DType::Float32, args.in[i], wide, slot.count);
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
      if (!is_half(slot.dtype)) continue;
      convert_all(DType::Float32, slot.dtype, out_pointers_[i], args.out[i], slot.count);
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

bool computes_in_float32(DType dtype) { return dtype == DType::Float32 || is_half(dtype); }

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
