// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/at_once.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
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
// Operands of fewer bytes are differentiated op by op: compiling takes as long as dozens of passes
// over them, and their shapes may be others in each call.
constexpr size_t kFewBytes = size_t{128} << 10;

using Body = FunctionRef<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Program {
  std::shared_ptr<const Graph> body;  // once traced
  std::vector<bool> is_defined;       // by result of the body; the graph has the defined ones
  int64_t calls = 0;
  bool is_large = false;  // needs more memory than kMaxMemory: its ops are applied one by one
  std::unique_ptr<Executable> executable;
};

bool is_plain(const Tensor& x) {
  return x.defined() && !x.is_symbolic() && !x.is_weak() && x.on_host() &&
         x.dtype() != DType::String && !is_half(x.dtype());
}

size_t bytes_of(const std::vector<Tensor>& inputs) {
  size_t bytes = 0;
  for (const Tensor& input : inputs) bytes += input.bytes();
  return bytes;
}

std::vector<Tensor> defined_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> defined;
  std::ranges::copy_if(tensors, std::back_inserter(defined), &Tensor::defined);
  return defined;
}

void trace_body(Program& program, const OpDef& composite, const std::vector<TensorType>& types,
                Body body) {
  const StopRecordingScope quiet;
  TracedGraph traced = trace(types,
                             [&](const std::vector<Tensor>& symbols) {
                               const std::vector<Tensor> results = body(symbols);
                               program.is_defined.clear();
                               for (const Tensor& result : results)
                                 program.is_defined.push_back(result.defined());
                               return defined_of(results);
                             },
                             {.name = composite.name});
  program.body = std::make_shared<const Graph>(std::move(traced.graph));
}

void compile(Program& program, const std::string& name) {
  auto executable = backend_for(default_device())
                        .compile(*program.body, {.name = name, .device = default_device()});
  program.is_large = executable->workspace_bytes() > kMaxMemory;
  if (!program.is_large) program.executable = std::move(executable);
}

// The defined results.
std::vector<Tensor> run(Executable& executable, const std::vector<Tensor>& inputs) {
  Launch launch{.executable = &executable,
                .device = default_device(),
                .inputs = inputs,
                .variables = {},
                .outputs = {}};
  backend_for(launch.device).run({&launch, 1});
  std::vector<Tensor> results = std::move(launch.outputs);
  if (std::ranges::any_of(inputs, &Tensor::is_bound)) {
    for (Tensor& result : results) result.bind();
  }
  return results;
}

std::vector<Tensor> one_by_one(Body body, const std::vector<Tensor>& inputs) {
  const StopRecordingScope quiet;
  return defined_of(body(inputs));
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
  const bool is_followed_now = is_followed(inputs, {});
  if (is_followed_now && bytes_of(inputs) < kFewBytes) return body(inputs);
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
  if (!program->body && (is_due || is_followed_now)) trace_body(*program, composite, types, body);
  if (is_due && !program->executable && !program->is_large) compile(*program, composite.name);
  if (!program->executable && !is_followed_now) return body(inputs);
  const std::vector<Tensor> found =
      program->executable ? run(*program->executable, inputs) : one_by_one(body, inputs);
  // One op from the first call on: the order in which a tape adds gradients up depends on it.
  if (is_followed_now) observe(observed_composite(), inputs, {{"body", program->body}}, found);
  std::vector<Tensor> results;
  size_t next = 0;
  for (const bool is_defined : program->is_defined) {
    results.push_back(is_defined ? found[next++] : Tensor());
  }
  return results;
}

void set_composite_vjp(VjpFunction vjp) { observed_composite().vjp = std::move(vjp); }

}  // namespace cornu
