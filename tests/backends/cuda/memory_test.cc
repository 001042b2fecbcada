// SPDX-License-Identifier: Apache-2.0
// Memory of the CUDA backend, and what arrays of the host pass through, on simulated GPUs.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>

#include "framework/backends/cuda/gpu_device.h"
#include "framework/backends/cuda/memory_pool.h"
#include "tests/backends/cuda/on_gpu.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using namespace cornu::cuda::testing;
using test::error_of;

TEST_CASE("libraries get the memory that the pool doesn't use") {
  const auto held = [] { return cuda::gpu_device(0).memory().usage().held; };
  const DeviceScope scope(kFirst);
  const Tensor x = ops::reshape(on(kFirst, numbers(12)), {3, 4});
  { const Tensor large = ops::zeros({1000, 1000}); }
  const size_t before = held();
  cuda::simulated::let_libraries_lack_memory(1);
  const Function product =
      function([](const Tensor& a) { return ops::matmul(a, ops::transpose(a)); });
  CHECK(values(product(x)).front() == 14);
  CHECK(held() < before);
  cuda::simulated::let_libraries_lack_memory(2);
  const Function other =
      function([](const Tensor& a) { return ops::matmul(ops::transpose(a), a); });
  CHECK(error_of([&] { other(x); }) ==
        "ResourceExhausted: There is no memory on the GPU to choose a kernel.");
  CHECK(values(other(x)).front() == 80);
}

TEST_CASE("page-locked memory that is kept is there for others when it is short") {
  const auto runtime = cuda::simulated::make_runtime(
      {.gpus = 1, .memory_bytes = 64 << 20, .pinned_bytes = (6 << 20) + 8192});
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 0);  // never destroyed
  std::vector<Tensor> copies;
  for (const int64_t kibi : {1024, 2100, 4300, 1024, 5000}) {
    copies.push_back(device.upload(Tensor::from(numbers(kibi * 256))));
  }
  for (const Tensor& copy : copies) {
    std::vector<float> found(static_cast<size_t>(copy.num_elements()));
    device.read(reinterpret_cast<std::byte*>(found.data()), copy.address(), copy.bytes(), nullptr);
    CHECK(found == numbers(copy.num_elements()));
  }
  device.drain();
}

TEST_CASE("an array of the host may be larger than the page-locked memory it goes through") {
  const auto runtime = cuda::simulated::make_runtime(
      {.gpus = 1, .memory_bytes = 128 << 20, .pinned_bytes = (40 << 20) + 8192});
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 0);  // never destroyed
  const std::vector<float> many = numbers((int64_t{50} << 18) + 3);
  const Tensor copy = device.upload(Tensor::from(many));
  std::vector<float> found(many.size());
  device.read(reinterpret_cast<std::byte*>(found.data()), copy.address(), copy.bytes(), nullptr);
  CHECK(found == many);
  device.drain();
}

TEST_CASE("memory that is exhausted says who wanted it") {
  const auto runtime = cuda::simulated::make_runtime({.gpus = 1, .memory_bytes = 64 << 20});
  int drains = 0;
  cuda::MemoryPool pool(*runtime, 0, "GPU:7", 16 << 20, [&] { ++drains; });
  std::byte* first = pool.take(9 << 20, "a test");
  CHECK(error_of([&] { pool.take(9 << 20, "another test"); }) ==
        "ResourceExhausted: GPU:7: out of memory: another test needs 9.0 MiB; 9.0 MiB are in use "
        "here and 10.0 MiB held, of a limit of 16.0 MiB. Use smaller batches, a smaller model or "
        "mixed precision.");
  CHECK(drains == 1);
  pool.give(first, 9 << 20);
  CHECK(pool.take(9 << 20, "a test") == first);
  pool.give(first, 9 << 20);
  // Free blocks of other sizes are released to make room for it.
  std::byte* second = pool.take(12 << 20, "a test");
  CHECK(drains == 2);
  pool.give(second, 12 << 20);
  CHECK(pool.usage().used == 0);
  CHECK(pool.usage().peak == 12 << 20);
  CHECK(pool.take(0, "nothing") != nullptr);
}

TEST_CASE("memory that one thread is about to return is there for others meanwhile") {
  const auto runtime = cuda::simulated::make_runtime({.gpus = 1, .memory_bytes = 64 << 20});
  std::function<void()> meanwhile = [] {};
  cuda::MemoryPool pool(*runtime, 0, "GPU:7", 16 << 20, [&] { meanwhile(); });
  std::byte* const first = pool.take(8 << 20, "a test");
  pool.give(first, 8 << 20);
  std::byte* taken = nullptr;
  meanwhile = [&] { taken = pool.take(8 << 20, "another thread"); };
  CHECK_THROWS_AS(pool.take(12 << 20, "a test"), ResourceExhausted);
  CHECK(taken == first);
  pool.give(taken, 8 << 20);
  // Memory returned during a drain isn't free yet: work enqueued on it may still be pending.
  int calls = 0;
  meanwhile = [&] {
    if (calls++ == 0) pool.give(pool.take(8 << 20, "another thread"), 8 << 20);
  };
  CHECK_THROWS_AS(pool.take(12 << 20, "a test"), ResourceExhausted);
  CHECK(pool.take(12 << 20, "a test") != nullptr);
}

TEST_CASE("memory that is kept for uploads is there for others when it is short") {
  const auto runtime = cuda::simulated::make_runtime({.gpus = 1, .memory_bytes = 64 << 20});
  // Like all of the backend's devices, it is never destroyed.
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 16 << 20);
  for (const int64_t count : {500'000, 600'000, 700'000, 800'000}) {
    device.upload(Tensor::from(std::vector<float>(static_cast<size_t>(count))));
  }
  CHECK(device.allocate(9 << 20, "a test")->bytes() == 9 << 20);
  device.drain();
}

TEST_CASE("arrays that nobody waits for pass through a few blocks of page-locked memory") {
  // Page-locked memory for six large arrays and the status.
  const auto runtime = cuda::simulated::make_runtime(
      {.gpus = 1, .memory_bytes = 64 << 20, .pinned_bytes = (6 << 20) + 8192});
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 0);  // never destroyed
  Tensor last;
  for (int k = 0; k < 40; ++k) {
    last = device.upload(Tensor::from(std::vector<float>((1 << 20) / 4, static_cast<float>(k))));
  }
  std::vector<float> found((1 << 20) / 4);
  device.read(reinterpret_cast<std::byte*>(found.data()), last.address(), last.bytes(), nullptr);
  CHECK(std::ranges::count(found, 39.0f) == 1 << 18);
  device.drain();
}

TEST_CASE("page-locked memory of a copy that fails is there for others") {
  const auto runtime = cuda::simulated::make_runtime(
      {.gpus = 1, .memory_bytes = 64 << 20, .pinned_bytes = (2 << 20) + 8192});
  auto& device = *new cuda::GpuDevice(*runtime, 0, kFirst, 0);  // never destroyed
  const Tensor x = Tensor::from(numbers((1 << 20) / 4));
  for (int k = 0; k < 3; ++k) {
    const cuda::simulated::FailingCopies failing;
    CHECK_THROWS_AS(device.upload(x), Internal);
  }
  const size_t used = device.memory().usage().used;
  const Tensor copy = device.upload(x);
  CHECK(device.memory().usage().used == used);  // reuses the memory of a failed copy
  std::vector<float> found((1 << 20) / 4);
  device.read(reinterpret_cast<std::byte*>(found.data()), copy.address(), copy.bytes(), nullptr);
  CHECK(found == numbers((1 << 20) / 4));
  device.drain();
}
