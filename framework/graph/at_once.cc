// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/at_once.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/core/per_thread.h"
#include "framework/graph/backend.h"
#include "framework/graph/op_cache.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

constexpr size_t kPrograms = 128;  // kept per thread
constexpr int kCallsOneByOne = 2;  // with the same types: compiling takes as long as dozens of ops
constexpr size_t kMaxMemory = size_t{32} << 20;  // for intermediate values, which stay allocated

struct Program {
  int64_t calls = 0;
  bool is_large = false;  // needs more memory than kMaxMemory: its ops are applied one by one
  std::unique_ptr<Executable> executable;
};

bool is_plain(const Tensor& x) {
  return x.defined() && !x.is_symbolic() && !x.is_weak() && x.on_host() &&
         x.dtype() != DType::String && !is_half(x.dtype());
}

std::unique_ptr<Executable> compile(const OpDef& composite, const std::vector<TensorType>& types,
                                    FunctionRef<Tensor(const std::vector<Tensor>&)> body) {
  TracedGraph traced = trace(
      types, [&](const std::vector<Tensor>& symbols) { return std::vector<Tensor>{body(symbols)}; },
      {.name = composite.name});
  return backend_for(default_device())
      .compile(std::move(traced.graph), {.name = composite.name, .device = default_device()});
}

}  // namespace

bool goes_at_once(const std::vector<Tensor>& inputs) {
  return !current_tracer() && default_device().type == DeviceType::Cpu &&
         std::ranges::all_of(inputs, is_plain) && !(has_op_observers() && is_followed(inputs, {}));
}

Tensor compute_at_once(const OpDef& composite, const std::vector<Tensor>& inputs,
                       const Attributes& attributes,
                       FunctionRef<Tensor(const std::vector<Tensor>&)> body) {
  if (!goes_at_once(inputs)) return body(inputs);
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  // One cache per thread, as for kernels: nothing here waits for another thread's trace.
  OpCache<Program>& cache = per_thread([] { return OpCache<Program>(kPrograms); });
  Program& program = cache.get({composite, attributes, types, {}}, compute_threads(),
                               [] { return std::make_unique<Program>(); });
  // Compiled sums are added in a different order than by single ops, so the first call must already
  // be compiled.
  const bool is_due = !composite.traits.elementwise || program.calls++ >= kCallsOneByOne;
  if (!program.executable && !program.is_large && is_due) {
    auto executable = compile(composite, types, body);
    program.is_large = executable->workspace_bytes() > kMaxMemory;
    if (!program.is_large) program.executable = std::move(executable);
  }
  if (!program.executable) return body(inputs);
  Launch launch{.executable = program.executable.get(),
                .device = default_device(),
                .inputs = inputs,
                .variables = {},
                .outputs = {}};
  backend_for(launch.device).run({&launch, 1});
  Tensor result = std::move(launch.outputs.front());
  if (std::ranges::any_of(inputs, [](const Tensor& input) { return input.is_bound(); })) {
    result.bind();
  }
  return result;
}

}  // namespace cornu
