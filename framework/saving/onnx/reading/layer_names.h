// SPDX-License-Identifier: Apache-2.0
// Names that Keras accepts, for names in ONNX files.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace cornu::onnx::reading {

// Converts to a name that Keras accepts for an input.
std::string input_name(const std::string& name, const std::string& otherwise);

// Converts to a layer name; with Keras on PyTorch, names of weights can't contain dots.
std::string layer_name(const std::string& name, const std::string& otherwise);

// A set of unique names.
class LayerNames {
 public:
  // Returns false if the name is taken.
  bool take(const std::string& name) { return taken_.insert(name).second; }
  // Takes the name, with a number appended if it is taken.
  std::string unique(const std::string& name);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int64_t> numbers_;
};

}  // namespace cornu::onnx::reading
