// SPDX-License-Identifier: Apache-2.0
// The simulator itself: what it accepts, and which errors it finds.
#include "tests/support/cuda/simulator.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

#include "tests/support/errors.h"

namespace cornu::cuda::simulated {
namespace {

using test::message_of;

// An array of numbers in a GPU's memory.
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

TEST_CASE("warps: sums by shuffles of every kind, and votes") {
  RuntimeFunction* sums = load("warp_sums", R"(
extern "C" __global__ void warp_sums(const i32* in, i32* out) {
  const int lane = threadIdx.x % 32;
  i32 sum = in[threadIdx.x];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, by);
  i32 scan = in[threadIdx.x];
  for (int by = 1; by < 32; by *= 2) {
    const i32 other = __shfl_up_sync(0xffffffffu, scan, by);
    if (lane >= by) scan += other;
  }
  const i64 last = __shfl_sync(0xffffffffu, (i64)scan << 20, 31);
  const i32 next = __shfl_down_sync(0xffffffffu, lane, 1);
  const u32 odd = __ballot_sync(0xffffffffu, in[threadIdx.x] % 2 == 1);
  __syncwarp();
  out[threadIdx.x * 4] = sum;
  out[threadIdx.x * 4 + 1] = scan;
  out[threadIdx.x * 4 + 2] = (i32)(last >> 20) + next;
  out[threadIdx.x * 4 + 3] = __popc(odd);
})");
  std::vector<int32_t> numbers(64), expected;
  std::iota(numbers.begin(), numbers.end(), 1);
  for (int i = 0, scan = 0; i < 64; ++i) {
    const int lane = i % 32, first = i - lane + 1;
    const int sum = 32 * first + 31 * 16;
    scan = lane == 0 ? first : scan + first + lane;
    expected.insert(expected.end(), {sum, scan, sum + std::min(lane + 1, 31), 16});
  }
  const Array<int32_t> in(stream(), numbers);
  const Array<int32_t> out(stream(), std::vector<int32_t>(256));
  launch(stream(), sums, {}, {64}, {in.memory(), out.memory()});
  CHECK(out.read() == expected);
}

TEST_CASE("integer atomics, dynamic shared memory, and indices of three axes") {
  RuntimeFunction* count = load("count", R"(
extern "C" __global__ void count(i32* out) {
  DYNAMIC_SHARED(memory);
  i32* counts = (i32*)memory;
  const u32 number = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (number < 4) counts[number] = 0;
  __syncthreads();
  atomicAdd(&counts[threadIdx.z], 1 + (i32)blockIdx.y);
  __syncthreads();
  if (number < 4) atomicAdd(&out[number], counts[number]);
  const u32 block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (number == 0) atomicMax(&out[4], (i32)block);
})");
  const Array<int32_t> out(stream(), std::vector<int32_t>(5));
  launch(stream(), count, {2, 3, 2}, {5, 2, 4}, {out.memory()}, 16);
  // In each layer of a block, 10 threads add 1, 2 or 3; there are four blocks of each.
  CHECK(out.read() == std::vector<int32_t>{240, 240, 240, 240, 11});
}

TEST_CASE("what depends on the order of threads differs from launch to launch") {
  RuntimeFunction* first = load("order", R"(
extern "C" __global__ void order(i32* out) { *out = (i32)thread_number(); })");
  const Array<int32_t> out(stream(), {-1});
  launch(stream(), first, {3}, {4}, {out.memory()});
  CHECK(out.read()[0] == 11);
  launch(stream(), first, {3}, {4}, {out.memory()});
  CHECK(out.read()[0] == 0);
}

TEST_CASE("shared memory is rubbish in every block") {
  RuntimeFunction* look = load("look", R"(
extern "C" __global__ void look(i32* out) {
  __shared__ i32 held[2];
  DYNAMIC_SHARED(memory);
  out[blockIdx.x] = held[1] == (i32)0xcdcdcdcd && ((i32*)memory)[0] == (i32)0xcdcdcdcd;
  held[threadIdx.x] = 1;
  ((i32*)memory)[0] = 1;
})");
  const Array<int32_t> out(stream(), {0, 0, 0});
  launch(stream(), look, {3}, {1}, {out.memory()}, 4);
  CHECK(out.read() == std::vector<int32_t>{1, 1, 1});
}

TEST_CASE("barriers that some threads never reach are errors") {
  const auto run = [](const std::string& name, const std::string& statements) {
    RuntimeFunction* function =
        load(name, "extern \"C\" __global__ void " + name + "(i32* out) {\n" + statements + "\n}");
    return message_of<Internal>([&] {
      launch(stream(), function, {}, {64}, {nullptr});
      simulated_runtime().synchronize(stream());
    });
  };
  CHECK(run("fine", "if (threadIdx.x < 40) return; __syncthreads();") == "nothing thrown");
  CHECK(run("two_places", "if (threadIdx.x < 40) __syncthreads();\nelse __syncthreads();") ==
        "Kernel two_places: the threads of a block wait for each other in different places: "
        "__syncthreads in line 2, __syncthreads in line 3; 0 of 64 have returned.");
  CHECK(run("lost_lane", "if (threadIdx.x == 40) return;\n__shfl_sync(0xffffffffu, 1, 0);") ==
        "Kernel lost_lane: the threads of a block wait for each other in different places: "
        "a shuffle in line 3; 33 of 64 have returned.");
  CHECK(run("mixed", "if (threadIdx.x == 0) __syncwarp();\nelse __syncthreads();") ==
        "Kernel mixed: the threads of a block wait for each other in different places: "
        "__syncthreads in line 3, __syncwarp in line 2; 0 of 64 have returned.");
}

TEST_CASE("launches must fit the kernel and the GPU") {
  RuntimeFunction* one = load("one", "extern \"C\" __global__ void one(i32* out) {}");
  const auto run = [&](Dim3 grid, Dim3 block, const std::vector<void*>& arguments) {
    return message_of<Internal>([&] {
      launch(stream(), one, grid, block, arguments);
      simulated_runtime().synchronize(stream());
    });
  };
  CHECK(run({1, 65535}, {1}, {nullptr}) == "nothing thrown");
  CHECK(run({}, {1}, {}) == "Kernel one: has parameters of 1 words, not of 0.");
  CHECK(run({}, {1025}, {nullptr}) == "Kernel one: blocks can't have 1025 x 1 x 1 threads.");
  CHECK(run({1, 65536}, {1}, {nullptr}) == "Kernel one: a grid can't have 1 x 65536 x 1 blocks.");
}

TEST_CASE("launches must fit the kernel's bounds and a block's shared memory") {
  RuntimeFunction* small = load("small", R"(
#define WARPS 2
extern "C" __global__ void __launch_bounds__(WARPS * 32) small(i32* out) {
  __shared__ i32 held[256];
  held[threadIdx.x] = 1;
  if (out) *out = held[63 - threadIdx.x];
})");
  const auto run = [&](uint32_t threads, uint32_t shared_bytes) {
    return message_of<Internal>([&] {
      launch(stream(), small, {}, {threads}, {nullptr}, shared_bytes);
      simulated_runtime().synchronize(stream());
    });
  };
  CHECK(run(64, 98 << 10) == "nothing thrown");
  CHECK(run(65, 0) == "Kernel small: has __launch_bounds__ of 64 threads, not of 65.");
  CHECK(run(64, (98 << 10) + 1) ==
        "Kernel small: blocks can't have 1024 bytes of shared memory and another 100353.");
}

// Runs statements as a kernel of two blocks of 64 threads over `data`, which has 256 numbers, on a
// simulator that checks accesses. Returns the error without the place in the code.
std::string fault_of(const std::string& statements) {
  static Runtime* runtime = make_runtime({.gpus = 1, .checks = true}).release();
  static RuntimeStream* own = runtime->make_stream(0);
  static void* data = runtime->allocate(0, 1024);
  static int number = 0;
  const std::string name = fmt::format("checked_{}", number++);
  const KernelCode code{
      name, "struct alignas(16) Four {\n  i32 v[4];\n};\nextern \"C\" __global__ void " + name +
                "(i32* data) {\n" + statements + "\n}"};
  RuntimeFunction* function = runtime->load(0, {&code, 1})[0];
  runtime->fill(own, data, 0, 1024);
  const uint64_t words[] = {reinterpret_cast<uint64_t>(data)};
  runtime->launch(own, function, {2}, {64}, 0, words);
  const std::string text = message_of<Internal>([&] { runtime->synchronize(own); });
  const size_t begin = text.find(" (at "), end = text.find(')', begin);
  return begin == text.npos ? text : text.substr(0, begin) + text.substr(end + 1);
}

TEST_CASE("checks: accesses that nothing orders are errors") {
  const std::string fill = "__shared__ i32 held[64];\nheld[threadIdx.x] = 1 + threadIdx.x;\n";
  const std::string mirrored = "data[blockIdx.x * 64 + threadIdx.x] = held[63 - threadIdx.x];\n";
  CHECK(fault_of(fill + mirrored) ==
        "Kernel checked_0: thread 32 writes 4 bytes, which thread 31 of its block reads, without a "
        "barrier in between.");
  CHECK(fault_of(fill + "__syncthreads();\n" + mirrored) == "nothing thrown");
  CHECK(fault_of(fill + "__syncthreads();\n" + mirrored + "held[threadIdx.x] = 0;") ==
        "Kernel checked_2: thread 32 reads 4 bytes, which thread 31 of its block writes, without a "
        "barrier in between.");
  const std::string neighbor = "data[blockIdx.x * 64 + threadIdx.x] = held[threadIdx.x ^ 1];";
  CHECK(fault_of(fill + "__syncwarp();\n" + neighbor) == "nothing thrown");
  CHECK(fault_of(fill + "__shfl_sync(0xffffffffu, 1, 0);\n" + neighbor) ==
        "Kernel checked_4: thread 0 reads 4 bytes, which thread 1 of its block writes, without a "
        "barrier in between.");
  CHECK(
      fault_of("data[threadIdx.x] = 1 + blockIdx.x;") ==
      "Kernel checked_5: thread 0 writes 4 bytes, which thread 0 of another block writes, without "
      "a barrier in between.");
  CHECK(fault_of("atomicAdd(data, 1);\nif (threadIdx.x == 5) data[1] = 7;") == "nothing thrown");
}

TEST_CASE("checks: what isn't an array, or not aligned as the code expects, isn't accessed") {
  CHECK(fault_of("if (data[4 * threadIdx.x + 4] > 0) data[threadIdx.x + 64 * blockIdx.x] = 1;") ==
        "Kernel checked_7: thread 63 reads 4 bytes outside of the kernel's arrays.");
  CHECK(fault_of("Four own = *(const Four*)(data + 4 * (threadIdx.x / 2) + 1);\n"
                 "*(Four*)(data + 128 + 64 * blockIdx.x) = own;") ==
        "Kernel checked_8: thread 0 uses an address in line 5 that isn't a multiple of 16.");
}

TEST_CASE("text that doesn't compile is an error with the compiler's message") {
  const std::string text = message_of<Internal>([] {
    load("broken", "extern \"C\" __global__ void broken(i32* out) {\n  *out = nonsense;\n}");
  });
  CHECK(text.find("Kernel broken doesn't compile; its text is in /") == 0);
  CHECK(text.find("broken.cu:2:") != text.npos);
  CHECK(text.find("nonsense") != text.npos);
}

TEST_CASE("a missing wait between streams gives stale numbers, a wait the right ones") {
  Runtime& runtime = simulated_runtime();
  RuntimeStream* other = runtime.make_stream(0);
  for (const bool waits : {false, true}) {
    const Array<int32_t> from(stream(), {1, 2});
    const Array<int32_t> to(other, {0, 0});
    if (waits) runtime.wait(other, *runtime.record(stream()));
    runtime.copy(other, to.memory(), from.memory(), from.bytes());
    const auto rubbish = static_cast<int32_t>(0xCDCDCDCD);
    CHECK(to.read() ==
          (waits ? std::vector<int32_t>{1, 2} : std::vector<int32_t>{rubbish, rubbish}));
  }
}

TEST_CASE("copies read page-locked memory late, other memory at once") {
  Runtime& runtime = simulated_runtime();
  const Array<int32_t> array(stream(), {0});
  int32_t plain = 1;
  runtime.copy_to_gpu(stream(), array.memory(), &plain, 4);
  plain = 2;
  CHECK(array.read()[0] == 1);
  auto* pinned = static_cast<int32_t*>(runtime.allocate_pinned(4));
  *pinned = 3;
  runtime.copy_to_gpu(stream(), array.memory(), pinned, 4);
  *pinned = 4;
  CHECK(message_of<Internal>([&] { runtime.free_pinned(pinned); }) ==
        "Memory is freed while a copy to a GPU is still to run.");
  CHECK(array.read()[0] == 4);
  runtime.free_pinned(pinned);
}

TEST_CASE("events are done when someone has waited, or asked three times") {
  Runtime& runtime = simulated_runtime();
  const Array<int32_t> array(stream(), {1});
  const auto event = runtime.record(stream());
  CHECK_FALSE(runtime.is_done(*event));
  CHECK_FALSE(runtime.is_done(*event));
  CHECK(runtime.is_done(*event));
  runtime.fill(stream(), array.memory(), 0, 4);
  const auto next = runtime.record(stream());
  CHECK_FALSE(runtime.is_done(*next));
  runtime.synchronize(*next);
  CHECK(runtime.is_done(*next));
}

TEST_CASE("a captured graph runs when it is launched, as often as it is") {
  Runtime& runtime = simulated_runtime();
  RuntimeFunction* add = load("add_one", R"(
extern "C" __global__ void add_one(i32* out) { out[threadIdx.x] += 1; })");
  const Array<int32_t> array(stream(), {5, 6});
  runtime.begin_capture(stream());
  launch(stream(), add, {}, {2}, {array.memory()});
  launch(stream(), add, {}, {1}, {array.memory()});
  const auto graph = runtime.end_capture(stream());
  REQUIRE(graph);
  CHECK(array.read() == std::vector<int32_t>{5, 6});
  runtime.launch(stream(), *graph);
  runtime.launch(stream(), *graph);
  CHECK(array.read() == std::vector<int32_t>{9, 8});
  runtime.begin_capture(stream());
  CHECK(message_of<Internal>([&] { runtime.record(stream()); }) ==
        "A thread records an event while it captures a graph.");
  CHECK(runtime.end_capture(stream()) == nullptr);
}

TEST_CASE("memory: its end, and what must not be done with it") {
  const auto small = make_runtime({.gpus = 1, .memory_bytes = 1000, .libraries = false});
  void* memory = small->allocate(0, 600);
  REQUIRE(memory);
  CHECK(small->allocate(0, 401) == nullptr);
  CHECK(small->free_bytes(0) == 400);
  RuntimeStream* stream = small->make_stream(0);
  small->fill(stream, memory, 1, 600);
  CHECK(message_of<Internal>([&] { small->free(0, memory); }) ==
        "Memory is freed while a fill is still to run.");
  CHECK(message_of<Internal>([&] { small->fill(stream, memory, 1, 601); }) ==
        "a fill: 601 bytes are more than the memory has from that address on.");
  small->synchronize(stream);
  small->free(0, memory);
  CHECK(small->free_bytes(0) == 1000);
  CHECK(message_of<Internal>([&] { small->fill(stream, memory, 1, 1); }) ==
        "a fill: an address isn't in allocated memory of a GPU.");
  CHECK(small->prepare(0, MatmulSpec{.m = 1, .n = 1, .k = 1}) == nullptr);
}

}  // namespace
}  // namespace cornu::cuda::simulated
