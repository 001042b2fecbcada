// SPDX-License-Identifier: Apache-2.0
// The library above the driver: libcornu_cuda.so with the test's own driver (fake_driver.h).
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstring>
#include <thread>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/backends/cuda/runtime.h"
#include "tests/backends/cuda_runtime/fake_driver.h"
#include "tests/support/errors.h"

using namespace cornu;
using namespace cornu::cuda;
using test::message_of;

namespace {

constexpr int kOutOfMemory = 2;       // CUDA_ERROR_OUT_OF_MEMORY
constexpr int kNotReady = 600;        // CUDA_ERROR_NOT_READY
constexpr int kIllegalAddress = 700;  // CUDA_ERROR_ILLEGAL_ADDRESS

Runtime& runtime() {
  static Runtime* made = [] {
    void* library = dlopen(CORNU_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library != nullptr, CORNU_CUDA_LIBRARY);
    const auto make = reinterpret_cast<MakeRuntime>(dlsym(library, "cornu_cuda_runtime"));
    REQUIRE(static_cast<bool>(make));
    std::string error;
    Runtime* result = make(kRuntimeVersion, error);
    REQUIRE_MESSAGE(result != nullptr, error);
    return result;
  }();
  return *made;
}

// Makes a function of the driver fail during its lifetime.
class Failing {
 public:
  Failing(const char* function, int result, int after = 0) : function_(function) {
    fake_cuda_fail(function, result, after);
  }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { fake_cuda_fail(function_, 0, 0); }

 private:
  const char* function_;
};

RuntimeStream* stream() {
  static RuntimeStream* one = runtime().make_stream(0);
  return one;
}

// The number in the name is the number of parameters.
KernelCode kernel(const std::string& name, const std::string& parameters) {
  return {name, "extern \"C\" __global__ void " + name + "(" + parameters + ") {}\n"};
}

RuntimeFunction* load(const std::string& name, const std::string& parameters) {
  const KernelCode code = kernel(name, parameters);
  return runtime().load(0, {&code, 1}).at(0);
}

class Block {
 public:
  explicit Block(size_t bytes) : memory_(runtime().allocate(0, bytes)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { runtime().free(0, memory_); }
  void* get() const { return memory_; }
  std::string text(size_t size) const {
    std::string result(size, '?');
    runtime().copy_to_host(stream(), result.data(), memory_, size);
    runtime().synchronize(stream());
    return result;
  }

 private:
  void* memory_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a second GPU alone needs no context of the first") {
  CHECK(runtime().gpu_count() == 2);
  const GpuFacts facts = runtime().facts(1);
  CHECK(facts.name == "Fake GPU");
  CHECK(facts.major == 9);
  CHECK(facts.memory_bytes == size_t{1} << 30);
  CHECK(facts.multiprocessors == 132);
  CHECK(facts.uuid == "11111111111111111111111111111111");
  CHECK(fake_cuda_calls("cuDevicePrimaryCtxRetain") == 0);
  runtime().free(1, runtime().allocate(1, 8));
  runtime().free_pinned(runtime().allocate_pinned(8));
  CHECK(fake_cuda_calls("cuDevicePrimaryCtxRetain") == 1);
  CHECK(message_of<Internal>([] { runtime().facts(2); }) == "There is no GPU 2 among 2.");
  const std::vector<std::string> versions = runtime().versions();
  REQUIRE(versions.size() == 5);
  CHECK(versions[0].starts_with("NVIDIA driver for CUDA 13."));
  CHECK(versions[1].starts_with("NVRTC 13."));
  CHECK(versions[2].starts_with("cuBLASLt 13."));
  CHECK(versions[3].starts_with("cuDNN 9."));
  CHECK(has(versions[4], "NCCL"));
}

TEST_CASE("memory that can't be had is null, other failures are errors") {
  CHECK(runtime().allocate(0, size_t{1} << 40) == nullptr);
  CHECK(runtime().allocate_pinned(size_t{1} << 40) == nullptr);
  const int before = fake_cuda_blocks();
  {
    const Block empty(0);
    CHECK(empty.get() != nullptr);
    CHECK(fake_cuda_blocks() == before + 1);
  }
  runtime().free(0, nullptr);
  runtime().free_pinned(nullptr);
  CHECK(fake_cuda_blocks() == before);
  CHECK(runtime().free_bytes(0) == size_t{1} << 29);
  const Failing failing("cuMemAlloc", kIllegalAddress);
  CHECK(message_of<Internal>([] { runtime().allocate(0, 8); }) ==
        "CUDA failed when taking memory of a GPU: CUDA_ERROR_ILLEGAL_ADDRESS (700): as the test "
        "wants it");
}

TEST_CASE("copies and events") {
  const Block a(8);
  const Block b(8);
  runtime().copy_to_gpu(stream(), a.get(), "abcdefgh", 8);
  runtime().fill(stream(), b.get(), 'x', 8);
  runtime().copy(stream(), b.get(), a.get(), 3);
  CHECK(b.text(8) == "abcxxxxx");
  runtime().copy(stream(), nullptr, nullptr, 0);
  const int events = fake_cuda_calls("cuEventCreate");
  for (int i = 0; i < 3; ++i) {
    const auto event = runtime().record(stream());
    runtime().wait(runtime().make_stream(1), *event);
    CHECK(runtime().is_done(*event));
    runtime().synchronize(*event);
    const Failing failing("cuEventQuery", kNotReady);
    CHECK(!runtime().is_done(*event));
  }
  CHECK(fake_cuda_calls("cuEventCreate") == events + 1);  // it is reused
}

TEST_CASE("kernels are loaded once, and launched with as many arguments as they take") {
  RuntimeFunction* function = load("k2", "f32* out, i64 size");
  CHECK(load("k2", "f32* out, i64 size") == function);
  const uint64_t arguments[2] = {};
  const int before = fake_cuda_calls("cuLaunchKernel");
  runtime().launch(stream(), function, {4}, {256}, 0, arguments);
  runtime().launch(stream(), function, {0}, {256}, 0, arguments);  // a no-op
  CHECK(fake_cuda_calls("cuLaunchKernel") == before + 1);
  CHECK(message_of<Internal>([&] {
          runtime().launch(stream(), function, {1}, {1}, 0, std::span(arguments).first(1));
        }) == "Kernel k2 takes 2 words of arguments, got 1.");
  // More shared memory is requested when it is needed, once.
  CHECK(fake_cuda_calls("cuFuncSetAttribute") == 0);
  for (int i = 0; i < 2; ++i) runtime().launch(stream(), function, {1}, {64}, 100'000, arguments);
  CHECK(fake_cuda_calls("cuFuncSetAttribute") == 1);
  const Failing failing("cuLaunchKernel", kIllegalAddress);
  const std::string text = message_of<Internal>([&] {
    runtime().launch(stream(), function, {1, 2}, {64}, 16, arguments);
  });
  CHECK(has(text,
            "CUDA failed when launching k2 with grid (1, 2, 1), block (64, 1, 1) and 16 bytes "
            "of shared memory on GPU 0 (Fake GPU; launched last: k2, k2"));
}

TEST_CASE("several threads load the same kernels") {
  std::vector<std::jthread> threads;
  std::vector<std::vector<RuntimeFunction*>> loaded(3);
  for (auto& functions : loaded) {
    threads.emplace_back([&functions] {
      const KernelCode codes[] = {kernel("many1", "i64 a"), kernel("other1", "i64 a"),
                                  kernel("many1", "i64 a")};
      functions = runtime().load(0, codes);
    });
  }
  threads.clear();
  for (const auto& functions : loaded) {
    CHECK(functions == loaded[0]);
    CHECK(functions[0] == functions[2]);
  }
}

TEST_CASE("errors that come later name what was launched") {
  RuntimeFunction* function = load("late0", "");
  runtime().launch(stream(), function, {1}, {1}, 0, {});
  const auto event = runtime().record(stream());
  {
    const Failing failing("cuEventSynchronize", kIllegalAddress);
    CHECK(has(message_of<Internal>([&] { runtime().synchronize(*event); }), "late0)"));
  }
  const Failing failing("cuMemcpyAsync", kOutOfMemory);
  const Block block(8);
  CHECK(message_of<ResourceExhausted>([&] {
          runtime().copy(stream(), block.get(), block.get(), 8);
        }).starts_with("The GPU has too little memory for copying within the GPU on GPU 0"));
}

TEST_CASE("what is captured runs when the graph is launched") {
  const Block a(8);
  RuntimeStream* own = runtime().make_stream(0);
  runtime().fill(own, a.get(), 'a', 8);
  runtime().begin_capture(own);
  runtime().fill(own, a.get(), 'b', 4);
  const auto graph = runtime().end_capture(own);
  REQUIRE(graph != nullptr);
  CHECK(a.text(8) == "aaaaaaaa");
  runtime().launch(own, *graph);
  CHECK(a.text(8) == "bbbbaaaa");

  runtime().begin_capture(own);
  {
    const Failing failing("cuMemsetD8Async", kIllegalAddress);
    CHECK_THROWS_AS(runtime().fill(own, a.get(), 'c', 8), Internal);
  }
  CHECK(runtime().end_capture(own) == nullptr);
  runtime().begin_capture(own);  // the next capture is valid again
  CHECK(runtime().end_capture(own) != nullptr);

  runtime().begin_capture(own);
  const Failing failing("cuGraphInstantiateWithFlags", kOutOfMemory);
  CHECK_THROWS_AS(runtime().end_capture(own), ResourceExhausted);
}

TEST_CASE("tensors of a GPU that has failed can be destroyed") {
  static GpuDevice device(runtime(), 0, {DeviceType::Gpu, 0}, 0);
  Tensor large = device.upload(Tensor::from(std::vector<float>(20'000, 1.0f)));
  REQUIRE(large.bytes() >= size_t{64} << 10);
  const Failing recording("cuEventRecord", kIllegalAddress);
  const Failing choosing("cuCtxSetCurrent", kIllegalAddress);
  large = {};
  CHECK(has(message_of<Internal>([] { device.drain(); }), "CUDA_ERROR_ILLEGAL_ADDRESS"));
}

TEST_CASE("libraries that don't start are errors") {  // they need a complete driver
  CHECK(message_of<Internal>([] {
          runtime().prepare(0, ConvSpec{});
        }).starts_with("cuDNN doesn't start: CUDNN_STATUS_NOT_INITIALIZED"));
  CHECK(message_of<Internal>([] {
          runtime().prepare(0, MatmulSpec{.m = 1, .n = 1, .k = 1});
        }).starts_with("cuBLASLt doesn't start: CUBLAS_STATUS_NOT_INITIALIZED"));
}
