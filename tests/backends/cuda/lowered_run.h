// SPDX-License-Identifier: Apache-2.0
// Runs what single ops are lowered to on a simulated GPU, and compares it with the CPU's kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/graph/backend.h"
#include "framework/graph/graph.h"
#include "framework/graph/op.h"

namespace cornu::cuda::testing {

// Whether there is a lowering for the op on these inputs.
bool has_lowering(const std::string& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, const std::vector<TensorType>& outputs);

// While one lives, there are no libraries: ops run on kernels of Cornu's own.
class WithoutLibraries {
 public:
  WithoutLibraries();
  ~WithoutLibraries();
  WithoutLibraries(const WithoutLibraries&) = delete;
  WithoutLibraries& operator=(const WithoutLibraries&) = delete;
};

// Lowers an op of the registry, eagerly's way (sizes are arguments) and specialized, and runs the
// steps of both over memory full of rubbish, twice; then with each output over each input that
// may_alias names. All times must give the same bits, and nothing may be written but outputs and
// scratch memory. Values that the op refuses throw what its checks throw.
std::vector<Tensor> run_lowered(const std::string& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes,
                                const std::vector<TensorType>& outputs);

// What a "fused" node's body computes, by the CPU's kernel of each op.
inline std::vector<Tensor> run_each_on_cpu(const Graph& body, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> values(body.types.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<size_t>(body.inputs[i])] = inputs[i];
  }
  for (const Node& node : body.nodes) {
    const ValueId result = node.outputs[0];
    std::vector<Tensor> operands;
    for (const ValueId id : node.inputs) operands.push_back(values[static_cast<size_t>(id)]);
    values[static_cast<size_t>(result)] =
        node.is("constant") ? node.attributes.get_tensor("value")
                            : cpu_backend().execute(*node.op, operands, node.attributes,
                                                    std::vector{body.type(result)}, Device{})[0];
  }
  std::vector<Tensor> outputs;
  for (const ValueId id : body.outputs) outputs.push_back(values[static_cast<size_t>(id)]);
  return outputs;
}

// CHECKs that run_lowered gives what the CPU's kernel gives, within `tolerance` * max(1, |value|);
// NaN equals NaN. 0: the same numbers.
void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<TensorType>& outputs,
                    double tolerance = 0);
// The same, with the outputs' types from the op's own inference.
void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, double tolerance = 0);

// CHECKs that a program gives on a GPU what it gives on the CPU, which are the default device
// meanwhile, as above; returns what it launched, a line each.
std::vector<std::string> check_program_like_cpu(const std::function<std::vector<Tensor>()>& program,
                                                double tolerance);

}  // namespace cornu::cuda::testing
