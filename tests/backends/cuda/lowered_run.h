// SPDX-License-Identifier: Apache-2.0
// Runs lowerings of single ops on a simulated GPU and compares the results with the CPU's kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/graph/backend.h"
#include "framework/graph/graph.h"
#include "framework/graph/op.h"

namespace cornu::cuda::testing {

// Returns whether there is a lowering for the op on these inputs.
bool has_lowering(const std::string& op, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, const std::vector<TensorType>& outputs);

// During its lifetime no libraries are used: ops run on Cornu's own kernels.
class WithoutLibraries {
 public:
  WithoutLibraries();
  ~WithoutLibraries();
  WithoutLibraries(const WithoutLibraries&) = delete;
  WithoutLibraries& operator=(const WithoutLibraries&) = delete;
};

// Lowers a registered op both as for eager execution (sizes are arguments) and specialized, and
// runs the steps of each twice over memory full of garbage; then with each output over each input
// that may_alias names. All runs must produce the same bits, and nothing but outputs and scratch
// memory may be written. Throws what the op's checks throw for values that it rejects.
std::vector<Tensor> run_lowered(const std::string& op, const std::vector<Tensor>& inputs,
                                const Attributes& attributes,
                                const std::vector<TensorType>& outputs);

// Computes the body of a "fused" node with the CPU's kernel for each op.
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

// CHECKs that run_lowered returns what the CPU's kernel returns, within `tolerance` * max(1,
// |value|); NaN equals NaN. With a tolerance of 0, the numbers must be equal.
void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<TensorType>& outputs,
                    double tolerance = 0);
// Overload that infers the outputs' types with the op's own inference.
void check_like_cpu(const std::string& op, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, double tolerance = 0);

// CHECKs, with the tolerance above, that a program returns the same on a GPU as on the CPU, each
// being the default device meanwhile; returns what the program launched, one line each.
std::vector<std::string> check_program_like_cpu(const std::function<std::vector<Tensor>()>& program,
                                                double tolerance);

}  // namespace cornu::cuda::testing
