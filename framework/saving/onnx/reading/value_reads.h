// SPDX-License-Identifier: Apache-2.0
// Which nodes read the values of a graph.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "framework/saving/onnx/reading/onnx_file.h"

namespace cornu::onnx::reading {

// The nodes that read a graph's values. Those in its branches and loops count as several, since
// they may run any number of times.
class ValueReads {
 public:
  explicit ValueReads(const FileGraph& graph) { count(graph, 1); }

  // Returns the reader of a value if it is read exactly once and isn't an output; otherwise null.
  const FileNode* only(const std::string& value) const;

 private:
  struct Reads {
    size_t count = 0;
    const FileNode* last = nullptr;
  };

  void count(const FileGraph& graph, size_t times);

  std::unordered_map<std::string, Reads> reads_;
};

}  // namespace cornu::onnx::reading
