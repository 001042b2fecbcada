// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/cuda_backend.h"

#include <set>
#include <unordered_map>

#include "framework/backends/cuda/connected_group.h"
#include "framework/backends/cuda/executable.h"
#include "framework/backends/cuda/loader.h"
#include "framework/backends/cuda/one_card.h"
#include "framework/backends/cuda/passes/passes.h"
#include "framework/backends/cuda/process_connection.h"
#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/graph/execution_config.h"
#include "framework/graph/op_cache.h"
#include "framework/graph/single_op.h"

namespace cornu::cuda {
namespace {

constexpr size_t kCachedOps = 1024;  // eager ops cached per device

const std::shared_ptr<const std::vector<Variable>>& no_variables() {
  static const auto* none = new auto(std::make_shared<const std::vector<Variable>>());
  return *none;
}

// Settings that eager ops depend on in addition to their operands.
int execution_settings() {
  return (config::tensor_float_32_execution_enabled() ? 1 : 0) +
         (config::op_determinism_enabled() ? 2 : 0);
}

// Its kernels only depend on dtypes and ranks, so that compiled kernels are reused for other
// shapes.
std::unique_ptr<PreparedProgram> prepare_op(const KernelSpec& spec, GpuDevice& device) {
  return std::make_unique<PreparedProgram>(expand_dropout(single_op_graph(spec)), device, false);
}

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(Runtime& runtime) : runtime_(runtime) {
    for (int gpu = 0; gpu < runtime.gpu_count(); ++gpu) places_.push_back({gpu, 0});
  }

  std::string name() const override { return "cuda"; }

  std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) override {
    const int index = options.device.type == DeviceType::Gpu ? options.device.index : 0;
    return std::make_unique<CudaExecutable>(std::move(graph), options, at(index).device);
  }

  void run(std::span<Launch> launches) override { run_launches(launches); }

  std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                              const Attributes& attributes,
                              std::span<const TensorType> output_types,
                              const Device& device) override {
    if (op.traits.view) {
      return {inputs[0].with_shape(output_types[0].shape)};
    }
    Opened& opened = at(device.index);
    GpuDevice& gpu = opened.device;
    std::vector<TensorType> input_types;
    std::vector<Tensor> aligned;
    std::vector<void*> in;
    for (const Tensor& input : inputs) {
      input_types.push_back(type_of(input));
      aligned.push_back(gpu.aligned(input));
      in.push_back(const_cast<std::byte*>(aligned.back().address()));
    }
    const Origin origin = origin_of(inputs);
    const uint64_t last_run = last_run_of(inputs);
    require_right(origin);
    std::vector<Tensor> outputs;
    std::vector<void*> out;
    for (const TensorType& type : output_types) {
      outputs.push_back(gpu.empty(type, op.name));
      out.push_back(const_cast<std::byte*>(outputs.back().address()));
      buffer_of(outputs.back()).set_origin(origin);
      buffer_of(outputs.back()).set_last_run(last_run);
    }
    std::shared_ptr<GpuDevice::CheckedRun> checked;
    {
      const auto lock = gpu.lock();
      const KernelSpec spec{op, attributes, input_types, output_types};
      PreparedProgram& program =
          opened.ops.get(spec, execution_settings(), [&] { return prepare_op(spec, gpu); });
      RunContext context{.device = gpu, .origin = origin};
      program.enqueue_directly({in, {}, out}, context);
      if (!program.checks()->empty()) {
        checked = gpu.expect(GpuDevice::next_run_number(), program.checks(), no_variables(), true);
        checked->origin = origin;
      }
    }
    if (checked) gpu.settle(*checked);
    return outputs;
  }

  Tensor to_device(const Tensor& tensor, const Device& device) override {
    GpuDevice& gpu = at(device.index).device;
    return tensor.on_host() ? gpu.upload(tensor)
                            : gpu.copy_from(at(tensor.device().index).device, tensor);
  }

  void bring(std::span<Tensor> tensors, const Device& device) override {
    GpuDevice& gpu = at(device.index).device;
    std::vector<Tensor*> from_host;
    for (Tensor& tensor : tensors) {
      if (is_there(tensor, device)) continue;
      if (tensor.on_host()) {
        from_host.push_back(&tensor);
      } else {
        tensor = copy(tensor, device);
      }
    }
    gpu.upload(from_host);
  }

  int device_count() const override { return runtime_.gpu_count(); }
  int logical_device_count() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(places_.size());
  }

  std::map<std::string, std::string> device_details(int index) const override {
    const GpuFacts facts = runtime_.facts(index);
    std::map<std::string, std::string> details = {
        {"device_name", facts.name},
        {"compute_capability", fmt::format("{}.{}", facts.major, facts.minor)},
        {"memory", std::to_string(facts.memory_bytes)},
        {"multiprocessors", std::to_string(facts.multiprocessors)}};
    for (const std::string& version : runtime_.versions()) {  // "cuDNN 9.13.0"
      const size_t space = version.rfind(' ');
      details[version.substr(0, space)] = version.substr(space + 1);
    }
    return details;
  }

  std::pair<size_t, size_t> memory_usage(const Device& device) override {
    const MemoryPool::Usage usage = at(device.index).device.memory().usage();
    return {usage.used, usage.peak};
  }

  Group connect(std::span<const Device> devices, Group group) override {
    Connection::Links links = links_between(devices);
    if (links.empty()) return group;
    const auto connection = std::make_shared<Connection>(runtime_, std::move(links));
    Group connected;
    for (std::unique_ptr<CollectiveGroup>& end : group) {
      connected.push_back(std::make_unique<ConnectedGroup>(std::move(end), connection));
    }
    return connected;
  }

  std::shared_ptr<GroupConnection> connect_processes(std::span<const Device> devices,
                                                     const std::shared_ptr<ProcessGroup>& processes,
                                                     std::chrono::milliseconds timeout) override {
    std::vector<GpuDevice*> own;
    for (const Device& device : devices) own.push_back(&at(device.index).device);
    return cuda::connect_processes(runtime_, std::move(own), processes, timeout);
  }

  void split_device(int index, std::span<const size_t> memory_limits) override {
    const std::lock_guard lock(mutex_);
    check<InvalidArgument>(
        index >= 0 && index < runtime_.gpu_count(),
        "set_logical_device_configuration: there is no physical GPU {}, expected "
        "an index below {}.",
        index, runtime_.gpu_count());
    check<FailedPrecondition>(
        opened_.empty(),
        "set_logical_device_configuration: GPUs have been used already. Split "
        "them before the first use of one.");
    std::vector<Place> others;
    for (const Place& place : places_) {
      if (place.gpu < index) others.push_back(place);
    }
    for (const size_t limit : memory_limits) others.push_back({index, limit});
    for (const Place& place : places_) {
      if (place.gpu > index) others.push_back(place);
    }
    places_ = std::move(others);
  }

  bool supports(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
                std::span<const TensorType> outputs) const override {
    return is_instruction({op, attributes, inputs, outputs}, runtime_);
  }

  GpuDevice& device(int index) { return at(index).device; }

 private:
  struct Place {
    int gpu;  // the physical index
    size_t limit;
  };
  struct Opened {
    Opened(Runtime& runtime, const Place& place, int index)
        : device(runtime, place.gpu, {DeviceType::Gpu, index}, place.limit) {}
    GpuDevice device;
    OpCache<PreparedProgram> ops{kCachedOps};  // used with the device's lock held
  };

  // A library connects physical GPUs, each as one member of a group; parts of a single card don't
  // need it. Empty if there is no library, and for several cards of which some are divided.
  Connection::Links links_between(std::span<const Device> devices) {
    std::vector<int> gpus;
    for (const Device& device : devices) gpus.push_back(at(device.index).device.gpu());
    const std::set<int> cards(gpus.begin(), gpus.end());
    if (cards.size() == 1 && gpus.size() > 1) {
      return make_one_card_collectives(runtime_, gpus.front(), static_cast<int>(gpus.size()));
    }
    if (cards.size() < gpus.size()) return {};
    try {
      return runtime_.make_collectives(gpus);
    } catch (const Unimplemented&) {
      return {};
    } catch (const ResourceExhausted&) {
      throw;
    } catch (const Error& error) {  // the library can't be loaded, or can't connect them
      logging::warn(fmt::format("{} GPUs communicate through the host's memory. {}", gpus.size(),
                                error.what()));
      return {};
    }
  }

  // Opened on first use.
  Opened& at(int index) {
    const std::lock_guard lock(mutex_);
    check<InvalidArgument>(index >= 0 && index < static_cast<int>(places_.size()),
                           "GPU:{}: there is no such device, expected an index below {}.", index,
                           places_.size());
    std::unique_ptr<Opened>& opened = opened_[index];
    if (!opened) {
      opened = std::make_unique<Opened>(runtime_, places_[static_cast<size_t>(index)], index);
    }
    return *opened;
  }

  Runtime& runtime_;
  mutable std::mutex mutex_;  // guards all members below
  std::vector<Place> places_;
  std::unordered_map<int, std::unique_ptr<Opened>> opened_;
};

CudaBackend* made_backend = nullptr;

}  // namespace

Backend& cuda_backend(Runtime& runtime) {
  static auto* backend = new CudaBackend(runtime);
  made_backend = backend;
  return *backend;
}

GpuDevice& gpu_device(int index) {
  CORNU_ASSERT(made_backend != nullptr, ==, true);
  return made_backend->device(index);
}

}  // namespace cornu::cuda

namespace cornu {

Backend* find_cuda_backend(std::string& why) {
  const cuda::FoundRuntime& found = cuda::find_runtime();
  why = found.why;
  return found.runtime ? &cuda::cuda_backend(*found.runtime) : nullptr;
}

}  // namespace cornu
