// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/backend.h"

#include "framework/backends/cpu/executable.h"
#include "framework/backends/cpu/program.h"
#include "framework/core/per_thread.h"
#include "framework/core/threads.h"
#include "framework/graph/op_cache.h"

namespace cornu::cpu {
namespace {

constexpr size_t kCachedKernels = 512;  // eager kernels kept per thread

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
    if (op.traits.view) {
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
    // One cache per thread, as kernels aren't shared. What they prepare, and their scratch memory,
    // may depend on the number of compute threads.
    OpCache<Kernel>& cache = per_thread([] { return OpCache<Kernel>(kCachedKernels); });
    const KernelSpec spec{op, attributes, input_types, output_types};
    Kernel& kernel = cache.get(spec, compute_threads(), [&] { return kernel_table().make(spec); });
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
