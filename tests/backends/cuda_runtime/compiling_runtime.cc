// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/cuda_runtime/compiling_runtime.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "framework/backends/cuda_runtime/compiler.h"

namespace cornu::cuda::testing {
namespace {

struct Architecture {
  int major;
  int minor;
};
constexpr Architecture kUsual = {9, 0};
constexpr Architecture kOthers[] = {{8, 0}, {10, 0}};
// Of the kernels whose names differ only in the hash, how many are compiled for all GPUs, and how
// many for the usual one.
constexpr size_t kForAll = 1;
constexpr size_t kForUsual = 6;

// The kernels that the whole process has requested.
class Noted {
 public:
  void add(std::span<const KernelCode> codes) {
    const std::lock_guard lock(mutex_);
    for (const KernelCode& code : codes) {
      if (!names_.insert(code.name).second) continue;
      const size_t before = by_family_[code.name.substr(0, code.name.rfind('_'))]++;
      if (before < kForAll) for_others_.push_back(code);
      if (before < kForUsual) for_usual_.push_back(code);
    }
  }
  CompiledCounts compile() {
    const std::lock_guard lock(mutex_);
    compile_each(for_usual_, kUsual);
    for (const Architecture& one : kOthers) compile_each(for_others_, one);
    return {.noted = names_.size(), .compiled = for_usual_.size()};
  }

 private:
  static void compile_each(const std::vector<KernelCode>& codes, const Architecture& architecture) {
    std::vector<const KernelCode*> each;
    for (const KernelCode& code : codes) each.push_back(&code);
    compile_all(each, architecture.major, architecture.minor);
  }

  std::mutex mutex_;
  std::set<std::string> names_;
  std::map<std::string, size_t> by_family_;
  std::vector<KernelCode> for_usual_;
  std::vector<KernelCode> for_others_;
};

Noted& noted() {
  static Noted one;
  return one;
}

class NoLibraryKernel : public LibraryKernel {
 public:
  size_t workspace_bytes() const override { return 4096; }
  std::string describe() const override { return "nothing"; }
};

// Handles are dummy addresses.
template <class Handle>
Handle* new_handle() {
  return reinterpret_cast<Handle*>(new char);
}
template <class Handle>
std::shared_ptr<Handle> shared_handle() {
  const auto place = std::make_shared<char>();
  return {place, reinterpret_cast<Handle*>(place.get())};
}

class CompilingRuntime : public Runtime {
 public:
  explicit CompilingRuntime(const CompilingOptions& options) : options_(options) {}

  int gpu_count() const override { return 1; }
  GpuFacts facts(int) const override {
    GpuFacts facts;
    facts.name = "no GPU";
    facts.major = kUsual.major;
    facts.minor = kUsual.minor;
    facts.memory_bytes = size_t{1} << 34;
    facts.multiprocessors = 132;
    return facts;
  }
  std::vector<std::string> versions() const override { return {compiler_version()}; }

  void* allocate(int, size_t bytes) override { return allocate_pinned(bytes); }
  void free(int, void* memory) override { std::free(memory); }
  size_t free_bytes(int) const override { return size_t{1} << 34; }
  void* allocate_pinned(size_t bytes) override {
    const size_t whole = (std::max<size_t>(bytes, 1) + 255) / 256 * 256;
    void* memory = std::aligned_alloc(256, whole);
    if (memory != nullptr) std::memset(memory, 0, whole);
    return memory;
  }
  void free_pinned(void* memory) override { std::free(memory); }

  RuntimeStream* make_stream(int) override { return new_handle<RuntimeStream>(); }
  std::shared_ptr<RuntimeEvent> record(RuntimeStream*) override {
    return shared_handle<RuntimeEvent>();
  }
  void wait(RuntimeStream*, const RuntimeEvent&) override {}
  bool is_done(const RuntimeEvent&) override { return true; }
  void synchronize(const RuntimeEvent&) override {}
  void synchronize(RuntimeStream*) override {}

  void copy_to_gpu(RuntimeStream* stream, void* to, const void* from, size_t bytes) override {
    copy(stream, to, from, bytes);
  }
  void copy_to_host(RuntimeStream* stream, void* to, const void* from, size_t bytes) override {
    copy(stream, to, from, bytes);
  }
  void copy(RuntimeStream*, void* to, const void* from, size_t bytes) override {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  void fill(RuntimeStream*, void* memory, int byte, size_t bytes) override {
    if (bytes > 0) std::memset(memory, byte, bytes);
  }

  std::vector<RuntimeFunction*> load(int, std::span<const KernelCode> codes) override {
    noted().add(codes);
    static auto* const function = new_handle<RuntimeFunction>();
    return std::vector<RuntimeFunction*>(codes.size(), function);
  }
  void launch(RuntimeStream*, RuntimeFunction*, Dim3, Dim3, uint32_t,
              std::span<const uint64_t>) override {}

  std::shared_ptr<LibraryKernel> prepare(int, const MatmulSpec&) override { return kernel(); }
  std::shared_ptr<LibraryKernel> prepare(int, const ConvSpec&) override { return kernel(); }
  std::shared_ptr<LibraryKernel> prepare(int, const AttentionSpec&) override { return kernel(); }
  void run(RuntimeStream*, LibraryKernel&, std::span<void* const>, void*) override {}

  void begin_capture(RuntimeStream*) override {}
  std::shared_ptr<RuntimeGraph> end_capture(RuntimeStream*) override {
    return shared_handle<RuntimeGraph>();
  }
  void launch(RuntimeStream*, RuntimeGraph&) override {}

 private:
  std::shared_ptr<LibraryKernel> kernel() const {
    return options_.libraries ? std::make_shared<NoLibraryKernel>() : nullptr;
  }

  CompilingOptions options_;
};

}  // namespace

std::unique_ptr<Runtime> make_compiling_runtime(const CompilingOptions& options) {
  return std::make_unique<CompilingRuntime>(options);
}

CompiledCounts compile_noted() { return noted().compile(); }

}  // namespace cornu::cuda::testing
