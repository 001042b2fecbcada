// SPDX-License-Identifier: Apache-2.0
// Writes ops as statements of a kernel, one per node.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/backends/cuda/lowering.h"
#include "framework/graph/graph.h"

namespace cornu::cuda {

// The elementwise ops in functions.cu, and "cast".
std::vector<std::string_view> elementwise_ops();

// A computed value rounded to a 16-bit float.
std::string rounded(DType dtype, const std::string& value);

class BodyWriter {
 public:
  // Declares the node's value; returns false when there is no function for it.
  bool add(const Node& node, const Graph& graph);

  void note_constant(const Node& node) {
    if (node.is("constant")) constants_.emplace_back(node.outputs[0], &node);
  }
  void set_name(ValueId id, std::string text) { names_.emplace_back(id, std::move(text)); }
  const std::string& name(ValueId id) const;
  const std::string& text() const { return text_; }
  // Returns what has been written since the last call.
  std::string take_text() { return std::exchange(text_, {}); }

 private:
  bool declare(ValueId id, const Graph& graph, const std::string& value);
  std::string simple_power(const Node& node, const Graph& graph) const;

  std::vector<std::pair<ValueId, std::string>> names_;
  std::vector<std::pair<ValueId, const Node*>> constants_;
  std::string text_;
};

}  // namespace cornu::cuda
