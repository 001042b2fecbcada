// SPDX-License-Identifier: Apache-2.0
// The simulator itself: what it lets pass, and what it finds.
#include "tests/support/cuda/simulator.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "tests/support/errors.h"

namespace cornu::cuda::simulated {
namespace {

using test::message_of;

// A GPU's array of numbers.
template <class T>
class Array {
 public:
  Array(RuntimeStream* stream, const std::vector<T>& values)
      : stream_(stream), count_(values.size()) {
    memory_ = runtime().allocate(0, bytes());
    runtime().copy_to_gpu(stream_, memory_, values.data(), bytes());
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() {
    runtime().synchronize(stream_);
    runtime().free(0, memory_);
  }

  static Runtime& runtime() { return simulated_runtime(); }
  size_t bytes() const { return count_ * sizeof(T); }
  void* memory() const { return memory_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    runtime().copy_to_host(stream_, values.data(), memory_, bytes());
    runtime().synchronize(stream_);
    return values;
  }

 private:
  RuntimeStream* stream_;
  size_t count_;
  void* memory_;
};

RuntimeStream* stream() {
  static RuntimeStream* stream = simulated_runtime().make_stream(0);
  return stream;
}

RuntimeFunction* load(const std::string& name, const std::string& text) {
  const KernelCode code{name, text};
  return simulated_runtime().load(0, {&code, 1})[0];
}

void launch(RuntimeStream* stream, RuntimeFunction* function, Dim3 grid, Dim3 block,
            const std::vector<void*>& pointers, uint32_t shared_bytes = 0) {
  std::vector<uint64_t> words;
  for (void* pointer : pointers) words.push_back(reinterpret_cast<uint64_t>(pointer));
  simulated_runtime().launch(stream, function, grid, block, shared_bytes, words);
}

TEST_CASE("barriers: a block reverses its elements in shared memory") {
  RuntimeFunction* reverse = load("reverse", R"(
extern "C" __global__ void reverse(i32* data) {
  __shared__ i32 held[96];
  held[threadIdx.x] = data[blockIdx.x * 96 + threadIdx.x];
  __syncthreads();
  data[blockIdx.x * 96 + threadIdx.x] = held[95 - threadIdx.x];
})");
  std::vector<int32_t> numbers(192), expected;
  std::iota(numbers.begin(), numbers.end(), 0);
  for (int i = 0; i < 192; ++i) expected.push_back(i < 96 ? 95 - i : 287 - i);
  const Array<int32_t> array(stream(), numbers);
  launch(stream(), reverse, {2}, {96}, {array.memory()});
  CHECK(array.read() == expected);
  launch(stream(), reverse, {2}, {96}, {array.memory()});
  CHECK(array.read() == numbers);
}

TEST_CASE("shuffles: a warp adds up its numbers") {
  RuntimeFunction* add = load("add_up", R"(
extern "C" __global__ void add_up(i32* data) {
  i32 sum = data[threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) data[threadIdx.x] = sum;
})");
  std::vector<int32_t> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  const Array<int32_t> array(stream(), numbers);
  launch(stream(), add, {1}, {64}, {array.memory()});
  CHECK(array.read()[0] == 496);
  CHECK(array.read()[32] == 1520);
}

TEST_CASE("a barrier that some threads never reach is an error") {
  RuntimeFunction* stuck = load("stuck", R"(
extern "C" __global__ void stuck(i32* data) {
  if (threadIdx.x < 32) __syncthreads();
  if (threadIdx.x >= 32) __shfl_sync(0xffffffffu, data[0], 0);
  if (threadIdx.x >= 32) __syncthreads();
  if (threadIdx.x < 16) __syncwarp();
})");
  RuntimeStream* own = simulated_runtime().make_stream(0);
  const Array<int32_t> array(own, {1});
  launch(own, stuck, {1}, {64}, {array.memory()});
  CHECK_THROWS_AS(simulated_runtime().synchronize(own), Internal);
}

TEST_CASE("nothing runs before it is waited for: what doesn't wait reads what was there before") {
  RuntimeFunction* twice = load("twice", R"(
extern "C" __global__ void twice(const i32* from, i32* to) { to[0] = 2 * from[0]; })");
  Runtime& runtime = simulated_runtime();
  RuntimeStream* first = runtime.make_stream(0);
  RuntimeStream* second = runtime.make_stream(0);
  const Array<int32_t> from(first, {21});
  const Array<int32_t> between(first, {1});
  const Array<int32_t> to(second, {0});
  from.read();
  between.read();
  to.read();
  for (const bool waits : {false, true}) {
    launch(first, twice, {1}, {1}, {from.memory(), between.memory()});
    const auto event = runtime.record(first);
    if (waits) runtime.wait(second, *event);
    launch(second, twice, {1}, {1}, {between.memory(), to.memory()});
    CHECK(to.read()[0] == (waits ? 84 : 2));
  }
  runtime.synchronize(first);
}

TEST_CASE("captured launches are replayed as one") {
  RuntimeFunction* increment = load("increment", R"(
extern "C" __global__ void increment(i32* data) { data[0] += 1; })");
  Runtime& runtime = simulated_runtime();
  const Array<int32_t> array(stream(), {5});
  runtime.begin_capture(stream());
  for (int i = 0; i < 3; ++i) launch(stream(), increment, {1}, {1}, {array.memory()});
  const auto graph = runtime.end_capture(stream());
  REQUIRE(graph);
  CHECK(array.read()[0] == 5);
  runtime.launch(stream(), *graph);
  runtime.launch(stream(), *graph);
  CHECK(array.read()[0] == 11);
}

TEST_CASE("memory: the GPU's own, as much as it has, freed when nothing uses it") {
  const auto runtime = make_runtime({.gpus = 1, .memory_bytes = 1 << 20});
  void* block = runtime->allocate(0, 900'000);
  REQUIRE(block != nullptr);
  CHECK(runtime->allocate(0, 900'000) == nullptr);
  RuntimeStream* own = runtime->make_stream(0);
  runtime->fill(own, block, 1, 900'000);
  CHECK_THROWS_AS(runtime->free(0, block), Internal);
  runtime->synchronize(own);
  runtime->free(0, block);
  CHECK(runtime->allocate(0, 900'000) != nullptr);
}

TEST_CASE("kernels that aren't C++ say where") {
  CHECK_THROWS_WITH_AS(load("broken", "extern \"C\" __global__ void broken( { }"),
                       doctest::Contains("Kernel broken doesn't compile"), Internal);
}

}  // namespace
}  // namespace cornu::cuda::simulated
