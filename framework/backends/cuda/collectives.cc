// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/collectives.h"

#include <map>

#include "framework/backends/cuda/connected_group.h"
#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr size_t kPartAlignment = 64;

// Arrays that are reduced together.
class Reduction {
 public:
  Reduction(std::span<const TensorType> types, ReduceOp op)
      : types_(types.begin(), types.end()), op_(op) {
    for (const TensorType& type : types_) {
      places_.push_back(bytes_);
      bytes_ += (type.bytes() + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
    }
  }

  void operator()(std::span<void* const> in, std::span<void* const> out,
                  RunContext& context) const {
    if (!context.group) {
      copy(in, out, context);
    } else if (auto* connected = connection_for(context)) {
      reduce_on_gpus(in, out, *connected, context);
    } else {
      reduce_on_host(in, out, context);
    }
  }

 private:
  using ByType = std::map<DType, std::vector<Segment>>;

  // Null: reduce through host memory.
  static ConnectedGroup* connection_for(const RunContext& context) {
    auto* connected = dynamic_cast<ConnectedGroup*>(context.group);
    if (connected && context.nested && connected->connection().spans_processes()) return nullptr;
    return connected;
  }

  void reduce_on_gpus(std::span<void* const> in, std::span<void* const> out, ConnectedGroup& group,
                      RunContext& context) const {
    ByType by_dtype;
    for (size_t i = 0; i < types_.size(); ++i) {
      by_dtype[types_[i].dtype].push_back({in[i], out[i], types_[i].shape.num_elements()});
    }
    for (const auto& [dtype, segments] : by_dtype) {
      group.all_reduce(context.device.stream(), segments, dtype, op_);
    }
  }

  // Blocks until previously enqueued work is done.
  void reduce_on_host(std::span<void* const> in, std::span<void* const> out,
                      RunContext& context) const {
    GpuDevice& device = context.device;
    Runtime& runtime = device.runtime();
    std::byte* host = device.exchange(bytes_);
    for (size_t i = 0; i < types_.size(); ++i) {
      runtime.copy_to_host(device.stream(), host + places_[i], in[i], types_[i].bytes());
    }
    runtime.synchronize(device.stream());
    ByType by_dtype;
    for (size_t i = 0; i < types_.size(); ++i) {
      by_dtype[types_[i].dtype].push_back(
          {host + places_[i], host + places_[i], types_[i].shape.num_elements()});
    }
    for (const auto& [dtype, segments] : by_dtype) {
      context.group->all_reduce(segments, dtype, op_);
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      runtime.copy_to_gpu(device.stream(), out[i], host + places_[i], types_[i].bytes());
    }
    // The copies read page-locked memory when they run: the next reduction mustn't write to it
    // before that.
    runtime.synchronize(device.stream());
  }

  // A group of one already has the results.
  void copy(std::span<void* const> in, std::span<void* const> out, RunContext& context) const {
    GpuDevice& device = context.device;
    for (size_t i = 0; i < types_.size(); ++i) {
      if (types_[i].bytes() > 0 && in[i] != out[i]) {
        device.runtime().copy(device.stream(), out[i], in[i], types_[i].bytes());
      }
    }
  }

  std::vector<TensorType> types_;
  ReduceOp op_;
  std::vector<size_t> places_;
  size_t bytes_ = 0;
};

class AllReduce : public Instruction {
 public:
  explicit AllReduce(const KernelSpec& spec) : reduce_(spec.outputs, reduce_op_of(spec)) {}
  void enqueue(const OpMemory& memory, RunContext& context) override {
    reduce_(memory.in, memory.out, context);
  }
  std::string describe() const override { return "all_reduce\n"; }
  bool communicates() const override { return true; }

 private:
  Reduction reduce_;
};

}  // namespace

std::unique_ptr<Instruction> make_collective(const KernelSpec& spec) {
  return spec.op.name == "all_reduce" ? std::make_unique<AllReduce>(spec) : nullptr;
}

}  // namespace cornu::cuda
