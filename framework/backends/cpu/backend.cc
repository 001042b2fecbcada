// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/backend.h"

#include <algorithm>
#include <list>
#include <unordered_map>

#include "framework/backends/cpu/executable.h"
#include "framework/backends/cpu/program.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

constexpr size_t kCachedKernels = 512;  // eager kernels kept per thread

// Includes the number of compute threads: prepared data and scratch memory may depend on it.
struct KernelKey {
  int threads;
  const OpDef* op;
  Attributes attributes;
  std::vector<TensorType> inputs;
  friend bool operator==(const KernelKey&, const KernelKey&) = default;
};

struct KernelKeyHash {
  size_t operator()(const KernelKey& key) const {
    size_t result = std::hash<const void*>()(key.op) ^ key.attributes.hash();
    result = result * 31 + static_cast<size_t>(key.threads);
    for (const TensorType& type : key.inputs) {
      result = result * 31 + static_cast<size_t>(type.dtype);
      for (int64_t dim : type.shape) result = result * 31 + static_cast<size_t>(dim);
    }
    return result;
  }
};

// An LRU cache of prepared kernels. One per thread: kernels aren't shared.
class KernelCache {
 public:
  Kernel& get(const KernelSpec& spec) {
    KernelKey key{
        compute_threads(), &spec.op, spec.attributes, {spec.inputs.begin(), spec.inputs.end()}};
    if (const auto it = index_.find(key); it != index_.end()) {
      entries_.splice(entries_.begin(), entries_, it->second);
      return *it->second->second;
    }
    entries_.emplace_front(key, kernel_table().make(spec));
    index_.emplace(std::move(key), entries_.begin());
    if (entries_.size() > kCachedKernels) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return *entries_.front().second;
  }

 private:
  using Entry = std::pair<KernelKey, std::unique_ptr<Kernel>>;
  std::list<Entry> entries_;
  std::unordered_map<KernelKey, std::list<Entry>::iterator, KernelKeyHash> index_;
};

class CpuBackend : public Backend {
 public:
  std::string name() const override { return "cpu"; }

  std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) override {
    return std::make_unique<CpuExecutable>(std::move(graph), options);
  }

  void run(std::span<Launch> launches) override { cpu::run(launches); }

  std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                              const Attributes& attributes,
                              std::span<const TensorType> output_types, const Device&) override {
    if (op.name == "reshape" || op.name == "identity" || op.name == "stop_gradient") {
      return {inputs[0].with_shape(output_types[0].shape)};
    }
    std::vector<TensorType> input_types;
    std::vector<const void*> in;
    for (const Tensor& input : inputs) {
      input_types.push_back(type_of(input));
      in.push_back(input.raw());
    }
    std::vector<Tensor> outputs;
    std::vector<void*> out;
    for (const TensorType& type : output_types) {
      outputs.push_back(Tensor::empty(type.shape, type.dtype));
      out.push_back(outputs.back().mutable_raw());
    }
    static thread_local KernelCache cache;
    Kernel& kernel = cache.get({op, attributes, input_types, output_types});
    std::shared_ptr<Buffer> scratch;
    if (kernel.scratch_bytes() > 0) scratch = allocate_host(kernel.scratch_bytes());
    kernel.run(
        {.in = in.data(), .out = out.data(), .scratch = scratch ? scratch->data() : nullptr});
    return outputs;
  }

  Tensor to_device(const Tensor& tensor, const Device& device) override {
    return tensor.to(device);
  }
  int device_count() const override { return 1; }

  bool supports(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
                std::span<const TensorType> outputs) const override {
    return kernel_table().try_make({op, attributes, inputs, outputs}) != nullptr;
  }
};

}  // namespace
}  // namespace cornu::cpu

namespace cornu {

Backend& cpu_backend() {
  static cpu::CpuBackend* backend = new cpu::CpuBackend;
  return *backend;
}

}  // namespace cornu
