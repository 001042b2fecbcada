// SPDX-License-Identifier: Apache-2.0
// Runs the tests of lowerings (../cuda) again: here the CUDA compiler compiles their kernels, at
// the end, and the results that the tests check come from the CPU.
#include <doctest/doctest.h>

#include "framework/backends/cuda/cuda_backend.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/graph/backend.h"
#include "framework/graph/dispatch.h"
#include "framework/ops/ops.h"
#include "tests/backends/cuda/lowered_run.h"
#include "tests/backends/cuda_runtime/compiling_runtime.h"
#include "tests/support/launches.h"

namespace cornu::cuda::testing {
namespace {

int without_libraries_now = 0;

Runtime& compiling() {
  static Runtime* plain = make_compiling_runtime({.libraries = false}).release();
  static Runtime* usual = make_compiling_runtime({.libraries = true}).release();
  return without_libraries_now > 0 ? *plain : *usual;
}

// The registry's op; for "fused", which may not be registered, an op with nothing but the name.
const OpDef& op_of(const std::string& name) {
  if (const OpDef* op = OpRegistry::global().find(name)) return *op;
  static const OpDef fused{.name = "fused", .infer = {}, .vjp = {}, .traits = {}};
  check<InvalidArgument>(name == "fused", "There is no op '{}'.", name);
  return fused;
}

std::vector<TensorType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(type_of(tensor));
  return types;
}

void note_steps(const Lowering& lowering) {
  std::vector<KernelCode> codes;
  for (const Step& step : lowering.steps()) {
    if (const auto* kernel = std::get_if<KernelStep>(&step)) codes.push_back(kernel->code);
  }
  lowering.runtime().load(0, codes);
}

void note_kernels(const std::string& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, const std::vector<TensorType>& outputs) {
  const std::vector<TensorType> types = types_of(inputs);
  for (const bool specialize : {false, true}) {
    Lowering lowering(compiling(), 0, specialize);
    lowering_table().lower({op_of(op), attributes, types, outputs}, lowering);
    note_steps(lowering);
  }
}

// A convolution with a residual, which is added before the activation, or with no channels: the CPU
// supports neither.
Tensor conv_on_cpu(const std::vector<Tensor>& inputs, Attributes attributes,
                   const std::vector<TensorType>& outputs) {
  const bool is_rectified = attributes.get_string("activation") == "relu";
  attributes.set("activation", std::string(""));
  const std::vector<Tensor> usual(inputs.begin(), inputs.begin() + 3);
  Tensor y = inputs[1].num_elements() == 0
                 ? ops::broadcast_to(inputs[2], outputs[0].shape)
                 : cpu_backend().execute(op_of("conv_bias_act"), usual, attributes, outputs, {})[0];
  if (inputs.size() == 4) y = y + inputs[3];
  return is_rectified ? ops::relu(y) : y;
}

std::vector<Tensor> on_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                           const Attributes& attributes, const std::vector<TensorType>& outputs) {
  if (op == "fused") {  // the CPU's doesn't sum 16-bit floats
    return run_each_on_cpu(attributes.get_graph("body"), inputs);
  }
  if (op == "column_moments") {  // only the CUDA backend has it
    const Tensor x = ops::cast(inputs[0], outputs[0].dtype);
    const Tensor sums = ops::sum(x, {0});
    const Tensor distances = x - sums / static_cast<double>(x.dim(0));
    return {sums, ops::sum(ops::square(distances), {0})};
  }
  if (op == "conv_bias_act" && (inputs.size() == 4 || inputs[1].num_elements() == 0)) {
    return {conv_on_cpu(inputs, attributes, outputs)};
  }
  if (op == "fused_rows") {  // which the CPU lacks
    std::vector<Tensor> zeros;
    for (const TensorType& type : outputs) zeros.push_back(ops::zeros(type.shape, type.dtype));
    return zeros;
  }
  return cpu_backend().execute(op_of(op), inputs, attributes, outputs, Device{});
}

}  // namespace

WithoutLibraries::WithoutLibraries() { ++without_libraries_now; }
WithoutLibraries::~WithoutLibraries() { --without_libraries_now; }

bool has_lowering(const std::string& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, const std::vector<TensorType>& outputs) {
  const std::vector<TensorType> types = types_of(inputs);
  Lowering lowering(compiling(), 0, false);
  return lowering_table().try_lower({op_of(op), attributes, types, outputs}, lowering);
}

std::vector<Tensor> run_lowered(const std::string& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes,
                                const std::vector<TensorType>& outputs) {
  note_kernels(op, inputs, attributes, outputs);
  return on_cpu(op, inputs, attributes, outputs);
}

void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<TensorType>& outputs, double) {
  CAPTURE(op);
  CHECK_NOTHROW(note_kernels(op, inputs, attributes, outputs));
}

void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, double tolerance) {
  const std::vector<TensorType> types = types_of(inputs);
  check_like_cpu(op, inputs, attributes, op_of(op).infer(types, attributes), tolerance);
}

std::vector<std::string> check_program_like_cpu(const std::function<std::vector<Tensor>()>& program,
                                                double) {
  register_backend(DeviceType::Gpu, cuda_backend(compiling()));
  const DeviceScope scope("GPU:0");
  return test::launches_of(program);
}

}  // namespace cornu::cuda::testing

// This test case is the last one: they run in the order of their files.
TEST_CASE("the CUDA compiler takes the kernels of the tests above") {
  const auto counts = cornu::cuda::testing::compile_noted();
  MESSAGE(counts.compiled << " of " << counts.noted << " kernels");
}
