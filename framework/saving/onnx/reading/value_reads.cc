// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/onnx/reading/value_reads.h"

namespace cornu::onnx::reading {

const FileNode* ValueReads::only(const std::string& value) const {
  const auto found = reads_.find(value);
  return found != reads_.end() && found->second.count == 1 ? found->second.last : nullptr;
}

void ValueReads::count(const FileGraph& graph, size_t times) {
  for (const FileNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      Reads& reads = reads_[input];
      reads.count += times;
      reads.last = &node;
    }
    for (const FileAttribute& attribute : node.attributes) {
      if (attribute.graph) count(*attribute.graph, 2);
    }
  }
  for (const FileValue& output : graph.outputs) reads_[output.name].count += 2;
}

}  // namespace cornu::onnx::reading
