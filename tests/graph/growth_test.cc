// SPDX-License-Identifier: Apache-2.0
// The cost of compiling deeper graphs, measured in allocations: the same on every machine and under
// any load.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "framework/graph/backend.h"
#include "framework/graph/trace.h"

using namespace cornu;

namespace {

std::atomic<size_t> allocations = 0;
std::atomic<size_t> allocated_bytes = 0;

}  // namespace

// Not inlined: g++ would warn that memory from new is passed to free.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  allocated_bytes += bytes;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  allocated_bytes += bytes;
  return std::malloc(bytes ? bytes : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace {

struct Cost {
  double allocations;
  double bytes;
};

using Forward = std::function<Tensor(const Tensor& x, const Tensor& w)>;

// The cost of tracing and compiling a step through `depth` blocks, with its gradients.
Cost cost_of(int depth, const Shape& input, const Shape& weight, const Forward& block) {
  const Variable w(ops::zeros(weight), {.name = "w"});
  const auto body = [&](const std::vector<Tensor>& inputs) {
    GradientTape tape;
    tape.watch(inputs[0]);
    Tensor x = inputs[0];
    for (int i = 0; i < depth; ++i) x = block(x, w.value());
    return tape.gradient(ops::sum(ops::square(x)), {inputs[0]});
  };
  const size_t count = allocations;
  const size_t bytes = allocated_bytes;
  TracedGraph traced = trace({{DType::Float32, input}}, body);
  cpu_backend().compile(std::move(traced.graph), {.name = "growth"});
  return {static_cast<double>(allocations - count), static_cast<double>(allocated_bytes - bytes)};
}

// Twice as many additional blocks may cost about twice as much more.
void check_grows_linearly(const Shape& input, const Shape& weight, const Forward& block) {
  cost_of(8, input, weight, block);  // warms up caches
  const Cost small = cost_of(32, input, weight, block);
  const Cost middle = cost_of(64, input, weight, block);
  const Cost large = cost_of(128, input, weight, block);
  CHECK(large.allocations - middle.allocations < 2.3 * (middle.allocations - small.allocations));
  CHECK(large.bytes - middle.bytes < 2.3 * (middle.bytes - small.bytes));
}

}  // namespace

TEST_CASE("compiling grows linearly with the depth of dense layers") {
  check_grows_linearly({4, 8}, {8, 8}, [](const Tensor& x, const Tensor& w) {
    return ops::relu(ops::matmul(x, w) + ops::sum(w, {0}));
  });
}

TEST_CASE("compiling grows linearly with the depth of residual blocks that normalize") {
  check_grows_linearly({2, 4, 4, 8}, {1, 1, 8, 8}, [](const Tensor& x, const Tensor& w) {
    const Tensor y = ops::conv(x, w);
    const Tensor centered = y - ops::mean(y, {0, 1, 2}, true);
    const Tensor variance = ops::mean(ops::square(centered), {0, 1, 2}, true);
    return x + ops::relu(centered * ops::rsqrt(variance + 1e-3f));
  });
}
