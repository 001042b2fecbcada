// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/at_once.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "framework/core/per_thread.h"
#include "framework/graph/backend.h"
#include "framework/graph/dispatch.h"
#include "framework/graph/observers.h"
#include "framework/graph/op_cache.h"
#include "framework/graph/trace.h"

namespace cornu {
namespace {

constexpr size_t kPrograms = 128;  // kept per thread
constexpr int kCallsOneByOne = 2;  // with the same types: compiling takes as long as dozens of ops
constexpr size_t kMaxMemory = size_t{32} << 20;  // for intermediate values, which stay allocated

using Body = FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Program {
  int64_t calls = 0;
  std::shared_ptr<const Graph> body;  // as traced
  bool is_large = false;  // needs more memory than kMaxMemory: its ops are applied one by one
  std::unique_ptr<Executable> executable;
};

bool is_plain(const Tensor& x) {
  return x.defined() && !x.is_symbolic() && !x.is_weak() && x.on_host() &&
         x.dtype() != DType::String && !is_half(x.dtype());
}

void compile(Program& program, const OpDef& composite, const std::vector<TensorType>& types,
             Body body) {
  const StopRecordingScope quiet;
  TracedGraph traced = trace(types, body, {.name = composite.name});
  auto graph = std::make_shared<const Graph>(traced.graph);
  auto executable =
      backend_for(default_device())
          .compile(std::move(traced.graph), {.name = composite.name, .device = default_device()});
  program.is_large = executable->workspace_bytes() > kMaxMemory;
  if (program.is_large) return;
  program.body = std::move(graph);
  program.executable = std::move(executable);
}

// What tapes see in place of a body's ops; never part of a graph.
OpDef& observed_composite() {
  static auto* op = new OpDef{.name = "composite", .infer = {}, .vjp = {}, .traits = {}};
  return *op;
}

}  // namespace

bool goes_at_once(const std::vector<Tensor>& inputs) {
  return !current_tracer() && default_device().type == DeviceType::Cpu &&
         std::ranges::all_of(inputs, is_plain);
}

std::vector<Tensor> compute_at_once(const OpDef& composite, const std::vector<Tensor>& inputs,
                                    const Attributes& attributes, Body body) {
  if (!goes_at_once(inputs)) return body(inputs);
  std::vector<TensorType> types;
  for (const Tensor& input : inputs) types.push_back(type_of(input));
  // One cache per thread, as for kernels: nothing here waits for another thread's trace.
  OpCache<std::shared_ptr<Program>>& cache =
      per_thread([] { return OpCache<std::shared_ptr<Program>>(kPrograms); });
  // Kept alive here, since the body may itself compute composites, and they may displace it.
  const std::shared_ptr<Program> program = cache.get(
      {composite, attributes, types, {}}, compute_threads(),
      [] { return std::make_unique<std::shared_ptr<Program>>(std::make_shared<Program>()); });
  // Compiled sums are added in a different order than by single ops, so the first call must already
  // be compiled.
  const bool is_due = !composite.traits.elementwise || program->calls++ >= kCallsOneByOne;
  if (!program->executable && !program->is_large && is_due) {
    compile(*program, composite, types, body);
  }
  if (!program->executable) return body(inputs);
  Launch launch{.executable = program->executable.get(),
                .device = default_device(),
                .inputs = inputs,
                .variables = {},
                .outputs = {}};
  backend_for(launch.device).run({&launch, 1});
  std::vector<Tensor> results = std::move(launch.outputs);
  if (std::ranges::any_of(inputs, [](const Tensor& input) { return input.is_bound(); })) {
    for (Tensor& result : results) result.bind();
  }
  if (has_op_observers()) {
    observe(observed_composite(), inputs, {{"body", program->body}}, results);
  }
  return results;
}

void set_composite_vjp(VjpFunction vjp) { observed_composite().vjp = std::move(vjp); }

}  // namespace cornu
