// SPDX-License-Identifier: Apache-2.0
#include "tests/support/device/guarded_device.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "framework/backends/cpu/program.h"
#include "framework/core/threads.h"
#include "framework/core/variable_access.h"
#include "framework/graph/dispatch.h"
#include "tests/support/device/guarded_heap.h"

namespace cornu::test {
namespace {

int devices = 2;  // set before they are registered

// Never destroyed: tensors in static objects may outlive any order of destruction.
GuardedHeap& heap() {
  static auto* heap = new GuardedHeap;
  return *heap;
}

class GuardedBuffer : public Buffer {
 public:
  GuardedBuffer(size_t bytes, const Device& device) : Buffer(heap().take(bytes), bytes, device) {}
  ~GuardedBuffer() override { heap().give(data(), bytes()); }

  void copy_to_host(size_t offset, std::span<std::byte> to) const override {
    std::copy_n(heap().open(data()) + offset, to.size(), to.data());
  }
  std::shared_ptr<Buffer> clone(size_t offset, size_t bytes) const override {
    auto copy = std::make_shared<GuardedBuffer>(bytes, device());
    std::copy_n(heap().open(data()) + offset, bytes, heap().open(copy->data()));
    return copy;
  }
};

// Uninitialized memory, and the address to write it through.
std::pair<Tensor, std::byte*> new_tensor(const TensorType& type, const Device& device) {
  auto buffer = std::make_shared<GuardedBuffer>(type.bytes(), device);
  std::byte* open = heap().open(buffer->data());
  return {Tensor::from_buffer(std::move(buffer), 0, type.shape, type.dtype), open};
}

const std::byte* open_address(const Tensor& tensor, const Device& device) {
  CORNU_ASSERT(tensor.device(), ==, device);
  CORNU_ASSERT(tensor.on_host(), ==, false);
  return heap().open(tensor.address());
}

// Runs the CPU's kernels on the device's memory.
class GuardedExecutable : public Executable {
 public:
  GuardedExecutable(Graph graph, const ExecutableOptions& options)
      : graph_(options.optimize ? cpu::optimize(std::move(graph), options.name)
                                : std::move(graph)) {
    give(take());  // fails right away for ops without a kernel
  }

  std::string describe() const override { return graph_.to_string(); }
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override { return 0; }
  bool writes(size_t state) const { return graph_.states[state].out != graph_.states[state].in; }

  void launch(Launch& args, std::span<void* const> states, bool& touched) {
    std::vector<const void*> inputs;
    for (const Tensor& input : args.inputs) inputs.push_back(open_address(input, args.device));
    std::vector<void*> outputs;
    args.outputs.clear();
    for (ValueId id : graph_.outputs) {
      const auto [tensor, open] = new_tensor(graph_.type(id), args.device);
      args.outputs.push_back(tensor);
      outputs.push_back(open);
    }
    Prepared prepared = take();
    const auto workspace = allocate_host(prepared.program->workspace_bytes());
    try {
      prepared.program->run({.inputs = inputs,
                             .states = states,
                             .outputs = outputs,
                             .workspace = workspace->data(),
                             .group = args.group});
    } catch (...) {
      if (prepared.program->states_touched()) touched = true;
      give(std::move(prepared));
      throw;
    }
    touched = true;
    give(std::move(prepared));
  }

 private:
  struct Prepared {
    int threads;
    std::unique_ptr<cpu::Program> program;
  };

  // A program that nobody else uses, for this thread's number of compute threads.
  Prepared take() {
    const int threads = compute_threads();
    const std::lock_guard lock(mutex_);
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (it->threads != threads) continue;
      Prepared found = std::move(*it);
      idle_.erase(it);
      return found;
    }
    return {threads, std::make_unique<cpu::Program>(graph_)};
  }
  void give(Prepared prepared) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(prepared));
  }

  Graph graph_;  // optimized
  std::mutex mutex_;
  std::vector<Prepared> idle_;
};

// Runs every launch on a thread of its own.
void run_launches(std::span<Launch> launches) {
  auto code = [](const Launch& launch) -> GuardedExecutable& {
    return static_cast<GuardedExecutable&>(*launch.executable);
  };
  VariableAccess access;
  for (const Launch& launch : launches) {
    for (size_t i = 0; i < launch.variables.size(); ++i) {
      access.add(launch.variables[i], code(launch).writes(i));
    }
  }
  access.acquire();
  std::vector<std::vector<void*>> states(launches.size());
  for (size_t r = 0, next = 0; r < launches.size(); ++r) {
    for (size_t i = 0; i < launches[r].variables.size(); ++i) {
      states[r].push_back(heap().open(access.memory(next++, launches[r].device)));
    }
  }
  std::mutex mutex;
  std::exception_ptr cause;  // the first error; errors of aborted collectives come after it
  std::vector<char> touched(launches.size(), false);
  auto launch = [&](size_t r) {
    bool wrote = false;
    try {
      code(launches[r]).launch(launches[r], states[r], wrote);
      if (launches[r].group) launches[r].group->end_step();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      if (!cause) cause = std::current_exception();
      if (launches[r].group) launches[r].group->abort(error.what());
    }
    touched[r] = wrote;
  };
  std::vector<std::thread> threads;
  for (size_t r = 1; r < launches.size(); ++r) threads.emplace_back(launch, r);
  launch(0);
  for (std::thread& thread : threads) thread.join();
  if (!cause) return;
  const bool lost = std::find(touched.begin(), touched.end(), true) != touched.end();
  for (const Launch& one : launches) {
    for (size_t i = 0; lost && i < one.variables.size(); ++i) {
      if (code(one).writes(i)) one.variables[i].poison("a kernel failed on a guarded device");
    }
  }
  std::rethrow_exception(cause);
}

class GuardedBackend : public Backend {
 public:
  std::string name() const override { return "guarded"; }

  std::unique_ptr<Executable> compile(Graph graph, const ExecutableOptions& options) override {
    return std::make_unique<GuardedExecutable>(std::move(graph), options);
  }

  void run(std::span<Launch> launches) override { run_launches(launches); }

  std::vector<Tensor> execute(const OpDef& op, std::span<const Tensor> inputs,
                              const Attributes& attributes,
                              std::span<const TensorType> output_types,
                              const Device& device) override {
    std::vector<Tensor> opened;
    for (const Tensor& input : inputs) {
      opened.push_back(Tensor::wrap(static_cast<const void*>(open_address(input, device)),
                                    input.shape(), input.dtype()));
    }
    std::vector<Tensor> results;
    for (const Tensor& result :
         cpu_backend().execute(op, opened, attributes, output_types, Device{})) {
      results.push_back(to_device(result, device));
    }
    return results;
  }

  Tensor to_device(const Tensor& tensor, const Device& device) override {
    CORNU_ASSERT((tensor.on_host() || tensor.device().type == device.type), ==, true);
    const auto [copy, open] = new_tensor(type_of(tensor), device);
    tensor.copy_to_host(open);
    return copy;
  }

  int device_count() const override { return devices; }

  bool supports(const OpDef& op, std::span<const TensorType> inputs, const Attributes& attributes,
                std::span<const TensorType> outputs) const override {
    return cpu_backend().supports(op, inputs, attributes, outputs);
  }
};

}  // namespace

Backend& guarded_backend() {
  static auto* backend = new GuardedBackend;
  return *backend;
}

void register_guarded_devices(int count, DeviceType type) {
  devices = count;
  register_backend(type, guarded_backend());
}

void use_guarded_device(const std::string& name) {
  register_guarded_devices(5);
  set_default_device(name);
}

}  // namespace cornu::test
