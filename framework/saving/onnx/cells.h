// SPDX-License-Identifier: Apache-2.0
// The cells of recurrent layers that ONNX has operators for, and how loops over them are found out.
// Internal to saving/onnx.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// One step, in ops: of what the input's product with the kernel gives, (batch, gates * units), and
// the states, each (batch, units), the next states. Weights: the recurrent kernel's parts, all
// gates in one or one a gate, then a bias of the recurrent products where there is one.
struct Cell {
  std::string op = {};                        // of ONNX
  std::vector<std::string> activations = {};  // by ONNX's names, in its order
  std::vector<int64_t> gates = {};            // the place in Keras's order of each of ONNX's gates
  size_t states = 1;
  size_t kernels = 1;
  bool biased = false;
  bool reset_after = false;  // the reset gate applies to the product with the state
  std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& states,
                                    const std::vector<Tensor>& weights)>
      step = {};
};

// A scan whose body is a cell's step.
struct CellLoop {
  const Cell* cell = nullptr;
  int64_t units = 0;
  std::vector<size_t> states = {};   // the scan's inputs that each state begins with
  std::vector<size_t> weights = {};  // the scan's inputs that the weights are
  // By output of the scan: the state that it is, the last one of a carry, or of all steps of ys.
  std::vector<size_t> outputs = {};
};

// None for another loop, and for other dtypes than float32, which hardly any runtime has. `clean`
// brings a graph into the form that the scan's is in.
std::optional<CellLoop> cell_loop(const Node& scan,
                                  const std::function<Graph(const Graph&)>& clean);

}  // namespace cornu::onnx
