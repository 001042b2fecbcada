// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/simulator.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "framework/core/error.h"
#include "tests/support/cuda/block_runner.h"
#include "tests/support/cuda/collectives.h"
#include "tests/support/cuda/libraries.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/process_collectives.h"
#include "tests/support/cuda/streams.h"

namespace cornu::cuda {

class RuntimeFunction {
 public:
  explicit RuntimeFunction(simulated::CompiledKernel kernel) : kernel_(std::move(kernel)) {}

  const std::string& name() const { return kernel_.name; }
  // Every second run goes backwards.
  void run(simulated::BlockRunner& runner, const simulated::GridLaunch& launch) {
    runner.run(kernel_, launch, runs_++ % 2 == 1);
  }

 private:
  simulated::CompiledKernel kernel_;
  uint64_t runs_ = 0;
};

namespace simulated {
namespace {

using Lock = std::lock_guard<std::mutex>;

std::atomic<bool> copies_fail = false;
std::atomic<int> lacking = 0;  // kernels of libraries
std::atomic<bool> collectives_missing = false;
std::atomic<bool> ranks_unreachable = false;

// Kernels by text; guarded by the lock. The kernels, and the stacks of their threads, are never
// destroyed.
std::map<std::string, std::unique_ptr<RuntimeFunction>>& loaded() {
  static auto* functions = new std::map<std::string, std::unique_ptr<RuntimeFunction>>;
  return *functions;
}
BlockRunner& runner() {
  static auto* runner = new BlockRunner;
  return *runner;
}

class Simulator : public Runtime {
 public:
  explicit Simulator(const SimulatorOptions& options)
      : options_(options), memory_(options.gpus, options.memory_bytes, options.pinned_bytes) {}

  int gpu_count() const override { return options_.gpus; }
  GpuFacts facts(int gpu) const override {
    check_gpu(gpu);
    return {.name = "Simulated GPU",
            .major = options_.major,
            .minor = options_.minor,
            .memory_bytes = options_.memory_bytes,
            .multiprocessors = 4,
            .uuid = fmt::format("{} of process {}", gpu, ::getpid())};
  }
  std::vector<std::string> versions() const override { return {"Simulator of GPUs"}; }

  void* allocate(int gpu, size_t bytes) override {
    const Lock lock(lock_of_all());
    check_gpu(gpu);
    refuse_in_capture("allocates memory");
    return memory_.allocate(gpu, bytes);
  }
  void free(int gpu, void* memory) override {
    if (memory == nullptr) return;
    const Lock lock(lock_of_all());
    check_gpu(gpu);
    refuse_in_capture("frees memory");
    check_unused(memory);
    memory_.free(gpu, memory);
  }
  size_t free_bytes(int gpu) const override {
    const Lock lock(lock_of_all());
    check_gpu(gpu);
    return memory_.free_bytes(gpu);
  }
  void* allocate_pinned(size_t bytes) override {
    const Lock lock(lock_of_all());
    return memory_.allocate_pinned(bytes);
  }
  void free_pinned(void* memory) override {
    if (memory == nullptr) return;
    const Lock lock(lock_of_all());
    check_unused(memory);
    memory_.free_pinned(memory);
  }

  RuntimeStream* make_stream(int gpu) override {
    const Lock lock(lock_of_all());
    check_gpu(gpu);
    return streams_.emplace_back(std::make_unique<RuntimeStream>(gpu)).get();
  }
  std::shared_ptr<RuntimeEvent> record(RuntimeStream* stream) override {
    const Lock lock(lock_of_all());
    refuse_in_capture("records an event");
    return std::make_shared<RuntimeEvent>(*stream);
  }
  void wait(RuntimeStream* stream, const RuntimeEvent& event) override {
    const Lock lock(lock_of_all());
    refuse_in_capture("waits for an event");
    stream->enqueue(
        {.name = "a wait", .memory = {}, .run = [] {}, .prepare = [event] { return event.run(); }});
  }
  bool is_done(const RuntimeEvent& event) override {
    const Lock lock(lock_of_all());
    return const_cast<RuntimeEvent&>(event).ask();
  }
  void synchronize(const RuntimeEvent& event) override {
    std::unique_lock lock(lock_of_all());
    refuse_in_capture("waits for the GPU");
    while (!event.run()) collectives_changed().wait(lock);
  }
  void synchronize(RuntimeStream* stream) override {
    std::unique_lock lock(lock_of_all());
    refuse_in_capture("waits for the GPU");
    const uint64_t end = stream->enqueued();
    while (!stream->run_until(end)) collectives_changed().wait(lock);
  }

  void copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) override;
  void copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) override;
  void copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) override;
  void fill(RuntimeStream* stream, void* memory, int byte, size_t bytes) override;

  std::vector<RuntimeFunction*> load(int gpu, std::span<const KernelCode> codes) override;
  void launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
              uint32_t shared_bytes, std::span<const uint64_t> words) override;

  std::shared_ptr<LibraryKernel> prepare(int gpu, const MatmulSpec& spec) override {
    return prepare_any(gpu, spec);
  }
  std::shared_ptr<LibraryKernel> prepare(int gpu, const ConvSpec& spec) override {
    return prepare_any(gpu, spec);
  }
  std::shared_ptr<LibraryKernel> prepare(int gpu, const AttentionSpec& spec) override {
    return prepare_any(gpu, spec);
  }
  void run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
           void* workspace) override;

  void begin_capture(RuntimeStream* stream) override {
    const Lock lock(lock_of_all());
    refuse_in_capture("captures another graph");
    stream->begin_capture();
    capturing_[std::this_thread::get_id()] = stream;
  }
  std::shared_ptr<RuntimeGraph> end_capture(RuntimeStream* stream) override {
    const Lock lock(lock_of_all());
    check<Internal>(stream->is_capturing(), "A capture ends that never began.");
    capturing_.erase(std::this_thread::get_id());
    return stream->end_capture();
  }
  void launch(RuntimeStream* stream, RuntimeGraph& graph) override {
    const Lock lock(lock_of_all());
    check<Internal>(stream->gpu() == graph.gpu(), "A graph of GPU {} is launched on GPU {}.",
                    graph.gpu(), stream->gpu());
    stream->enqueue(graph.as_operation());
  }

  std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      std::span<const int> gpus) override {
    check<FailedPrecondition>(gpus.size() > 1 && !collectives_missing,
                              "The library that connects GPUs is missing.");
    for (const int gpu : gpus) check_gpu(gpu);
    return simulated::make_collectives(gpus, memory_);
  }
  std::vector<std::byte> collectives_id() override { return make_group_id(); }
  std::vector<std::unique_ptr<DeviceCollectives>> make_collectives(
      std::span<const int> gpus, int first, int size, std::span<const std::byte> id,
      const std::function<void()>& look) override {
    // With one rank too many, the group never gets complete.
    return make_process_collectives(gpus, first, size + (ranks_unreachable ? 1 : 0), id, look,
                                    memory_);
  }
  std::string collectives_version() override {
    check<FailedPrecondition>(!collectives_missing, "The library that connects GPUs is missing.");
    return "Simulated collectives 1";
  }

 private:
  template <class Spec>
  std::shared_ptr<LibraryKernel> prepare_any(int gpu, const Spec& spec) {
    check_gpu(gpu);
    if (lacking > 0) {
      --lacking;
      raise<ResourceExhausted>("There is no memory on the GPU to choose a kernel.");
    }
    return options_.libraries ? make_library_kernel(spec) : nullptr;
  }

  void check_gpu(int gpu) const {
    check<Internal>(gpu >= 0 && gpu < options_.gpus, "There is no GPU {} among {}.", gpu,
                    options_.gpus);
  }
  // As in CUDA, for the thread that captures.
  void refuse_in_capture(const char* what) {
    const auto it = capturing_.find(std::this_thread::get_id());
    if (it == capturing_.end()) return;
    it->second->spoil_capture();
    raise<Internal>("A thread {} while it captures a graph.", what);
  }
  void check_unused(const void* memory) const {
    for (const auto& stream : streams_) {
      const Operation* operation = stream->find(memory);
      check<Internal>(operation == nullptr, "Memory is freed while {} is still to run.",
                      operation ? operation->name : "");
    }
  }
  // For an operation: the allocation that contains the `bytes` bytes at an address.
  const void* used(const void* address, size_t bytes, const std::string& what) const {
    return memory_.allocation_of(address, bytes, what);
  }

  SimulatorOptions options_;
  Memory memory_;
  std::vector<std::unique_ptr<RuntimeStream>> streams_;
  std::map<std::thread::id, RuntimeStream*> capturing_;
  std::map<std::string, std::string> texts_;  // kernel texts by name
};

void Simulator::copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  check<Internal>(!copies_fail, "A copy to a GPU has failed.");
  const Lock lock(lock_of_all());
  Operation operation{.name = "a copy to a GPU", .memory = {}, .run = {}};
  operation.memory.push_back(used(to, bytes, operation.name));
  if (const void* pinned = memory_.pinned_block_of(from)) {
    operation.memory.push_back(pinned);
    operation.run = [=] { std::memcpy(Memory::open(to), from, bytes); };
  } else {
    check<Internal>(!stream->is_capturing(), "A copy from usual memory can't be captured.");
    // The driver stages small copies, and waits for the GPU before larger ones.
    check<Internal>(bytes <= size_t{64} << 10, "A copy of {} bytes from usual memory waits.",
                    bytes);
    const auto* begin = static_cast<const std::byte*>(from);
    operation.run = [=, held = std::vector<std::byte>(begin, begin + bytes)] {
      std::memcpy(Memory::open(to), held.data(), bytes);
    };
  }
  stream->enqueue(std::move(operation));
}

void Simulator::copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const Lock lock(lock_of_all());
  Operation operation{.name = "a copy to the host", .memory = {}, .run = {}};
  operation.memory.push_back(used(from, bytes, operation.name));
  if (const void* pinned = memory_.pinned_block_of(to)) operation.memory.push_back(pinned);
  operation.run = [=] { std::memcpy(to, Memory::open(from), bytes); };
  stream->enqueue(std::move(operation));
}

void Simulator::copy(RuntimeStream* stream, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  const Lock lock(lock_of_all());
  Operation operation{.name = "a copy on a GPU", .memory = {}, .run = {}};
  operation.memory = {used(to, bytes, operation.name), used(from, bytes, operation.name)};
  operation.run = [=] {
    const std::byte* source = Memory::open(from);
    std::byte* target = Memory::open(to);
    check<Internal>(target + bytes <= source || source + bytes <= target,
                    "A copy on a GPU has a source and a target that overlap.");
    std::memcpy(target, source, bytes);
  };
  stream->enqueue(std::move(operation));
}

void Simulator::fill(RuntimeStream* stream, void* memory, int byte, size_t bytes) {
  if (bytes == 0) return;
  const Lock lock(lock_of_all());
  Operation operation{.name = "a fill", .memory = {}, .run = {}};
  operation.memory.push_back(used(memory, bytes, operation.name));
  operation.run = [=] { std::memset(Memory::open(memory), byte, bytes); };
  stream->enqueue(std::move(operation));
}

std::vector<RuntimeFunction*> Simulator::load(int gpu, std::span<const KernelCode> codes) {
  const Lock lock(lock_of_all());
  check_gpu(gpu);
  const auto key = [&](const KernelCode& code) {
    return fmt::format("{}\n{}\n{}", options_.checks, code.name, code.text);
  };
  std::vector<const KernelCode*> missing;
  for (const KernelCode& code : codes) {
    const bool is_new = std::ranges::none_of(
        missing, [&](const KernelCode* one) { return key(*one) == key(code); });
    if (is_new && !loaded().contains(key(code))) missing.push_back(&code);
  }
  for (const KernelCode* code : missing) {
    const auto known = texts_.try_emplace(code->name, code->text).first;
    check<Internal>(known->second == code->text,
                    "Kernel {} has two texts: what runs kernels tells them apart by their names.",
                    code->name);
  }
  std::vector<CompiledKernel> kernels = compile_kernels(missing, options_.checks);
  for (size_t i = 0; i < missing.size(); ++i) {
    loaded()[key(*missing[i])] = std::make_unique<RuntimeFunction>(std::move(kernels[i]));
  }
  std::vector<RuntimeFunction*> functions;
  for (const KernelCode& code : codes) functions.push_back(loaded().at(key(code)).get());
  return functions;
}

void Simulator::launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
                       uint32_t shared_bytes, std::span<const uint64_t> words) {
  const Lock lock(lock_of_all());
  Operation operation{.name = "kernel " + function->name(), .memory = {}, .run = {}};
  GridLaunch launch{grid, block, shared_bytes, {}, {}};
  for (uint64_t value : words) {
    const auto* address = reinterpret_cast<const void*>(value);  // possibly
    if (Memory::is_of_gpu(address)) {
      operation.memory.push_back(used(address, 0, operation.name));
      if (options_.checks) launch.arrays.push_back(memory_.opened(operation.memory.back()));
      value = reinterpret_cast<uint64_t>(Memory::open(address));
    }
    launch.words.push_back(value);
  }
  operation.run = [function, launch = std::move(launch)] { function->run(runner(), launch); };
  stream->enqueue(std::move(operation));
}

void Simulator::run(RuntimeStream* stream, LibraryKernel& kernel, std::span<void* const> operands,
                    void* workspace) {
  const Lock lock(lock_of_all());
  // The kernel may have been destroyed by the time it runs.
  const SimulatedLibraryKernel own = static_cast<const SimulatedLibraryKernel&>(kernel);
  Operation operation{.name = own.describe(), .memory = {}, .run = {}};
  const std::vector<size_t>& bytes = own.operand_bytes();
  check<Internal>(operands.size() == bytes.size(), "{}: has {} operands, not {}.", operation.name,
                  bytes.size(), operands.size());
  std::vector<void*> opened;
  for (size_t i = 0; i < operands.size(); ++i) {
    operation.memory.push_back(used(operands[i], bytes[i], operation.name));
    opened.push_back(Memory::open(operands[i]));
  }
  operation.memory.push_back(used(workspace, own.workspace_bytes(), operation.name));
  std::byte* rubbish = Memory::open(workspace);
  operation.run = [=] {
    std::memset(rubbish, 0xCD, own.workspace_bytes());
    own.compute(opened);
  };
  stream->enqueue(std::move(operation));
}

}  // namespace

bool are_checks_wanted() {
  const char* text = std::getenv("CORNU_SIMULATOR_CHECKS");
  return text != nullptr && std::string_view(text) == "1";
}

std::unique_ptr<Runtime> make_runtime(const SimulatorOptions& options) {
  return std::make_unique<Simulator>(options);
}

void let_libraries_lack_memory(int times) { lacking = times; }

FailingCopies::FailingCopies() { copies_fail = true; }
FailingCopies::~FailingCopies() { copies_fail = false; }

MissingCollectives::MissingCollectives() { collectives_missing = true; }
MissingCollectives::~MissingCollectives() { collectives_missing = false; }

UnreachableRanks::UnreachableRanks() { ranks_unreachable = true; }
UnreachableRanks::~UnreachableRanks() { ranks_unreachable = false; }

Runtime& simulated_runtime() {
  static Runtime* runtime = make_runtime({}).release();
  return *runtime;
}

}  // namespace simulated
}  // namespace cornu::cuda
