// SPDX-License-Identifier: Apache-2.0
// Exports models with their predictions, for onnx_check.py to compare with onnxruntime; and imports
// them again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "framework/train/model.h"
#include "tests/support/scratch.h"

namespace cornu::test {

struct OnnxCase {
  std::string name;
  double tolerance = 1e-5;                  // absolute, but relative for numbers above 1
  std::vector<std::string> weights = {};    // initializers that must be there
  std::vector<std::string> operators = {};  // of the nodes, in order; empty: not checked
  // The operators that loop over steps (LSTM, GRU, RNN, Scan, Loop).
  std::optional<std::vector<std::string>> loops = {};
  // Initializers whose bytes are in a separate file.
  std::optional<std::vector<std::string>> external = {};
  bool open_batch = true;  // the file accepts any number of rows
};

class OnnxCases {
 public:
  // Exports the model, predicts each of the inputs with it, and stores both. Exceptions of export_
  // are propagated.
  void add(const OnnxCase& what, Model& model, const std::vector<Tensors>& inputs,
           const ExportOptions& options = {});
  // The same, with other expected values than the model's own predictions.
  void add_expecting(const OnnxCase& what, Model& model, const std::vector<Tensors>& inputs,
                     const std::vector<Tensors>& expected, const ExportOptions& options = {});
  int64_t count() const { return static_cast<int64_t>(cases_.size()); }
  // Returns whether onnx's checker accepts all files, and onnxruntime gives the same results for
  // all inputs. Prints how many of them were imported again, and which ones couldn't be.
  bool check() const;

 private:
  void read_again(const OnnxCase& what, const std::string& path, const std::vector<Tensors>& inputs,
                  const std::vector<Tensors>& expected);

  Scratch scratch_;
  Json::Array cases_;
  int read_ = 0;
  std::map<std::string, int> unread_;  // by what can't be imported
};

// Returns the largest difference, relative for numbers above 1; infinite when either is NaN.
double difference(const Tensor& found, const Tensor& wanted);

Tensor numbers(const Shape& shape, int64_t seed = 5);  // normally distributed

// Returns a batch of only the first row, and a batch of all rows with some of them repeated.
std::vector<Tensors> batches_of(const std::vector<Tensor>& inputs);

}  // namespace cornu::test
