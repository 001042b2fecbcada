// SPDX-License-Identifier: Apache-2.0
// The recurrent cells that ONNX has operators for, and detection of loops over them. Internal to
// saving/onnx.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::onnx {

// A single step, in ops: computes the next states from the product of the input and the kernel,
// (batch, gates * units), and the current states, each (batch, units). Weights: the recurrent
// kernel, with all gates in one tensor or one tensor per gate, then the bias of the recurrent
// products if there is one.
struct Cell {
  std::string op = {};                        // ONNX's operator
  std::vector<std::string> activations = {};  // ONNX's names, in ONNX's order
  std::vector<int64_t> gates = {};            // Keras's position of each of ONNX's gates
  size_t states = 1;
  size_t kernels = 1;
  bool biased = false;
  bool reset_after = false;  // the reset gate is applied to the product with the state
  std::function<std::vector<Tensor>(const Tensor& x, const std::vector<Tensor>& states,
                                    const std::vector<Tensor>& weights)>
      step = {};
};

// A scan whose body is a cell's step.
struct CellLoop {
  const Cell* cell = nullptr;
  int64_t units = 0;
  std::vector<size_t> states = {};   // the scan's inputs that are the initial states
  std::vector<size_t> weights = {};  // the scan's inputs that are the weights
  // For each output of the scan, the index of its state: the last value for a carry, all steps for
  // ys.
  std::vector<size_t> outputs = {};
};

// Returns nullopt for other loops, and for dtypes other than float32, which hardly any runtime
// supports. `clean` converts a graph to the form of the scan's graph.
std::optional<CellLoop> cell_loop(const Node& scan,
                                  const std::function<Graph(const Graph&)>& clean);

}  // namespace cornu::onnx
