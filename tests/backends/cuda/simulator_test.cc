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
            std::vector<void*> pointers, uint32_t shared_bytes = 0) {
  std::vector<void*> arguments;
  for (void*& pointer : pointers) arguments.push_back(&pointer);
  simulated_runtime().launch(stream, function, grid, block, shared_bytes, arguments);
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

}  // namespace
}  // namespace cornu::cuda::simulated
