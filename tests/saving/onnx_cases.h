// SPDX-License-Identifier: Apache-2.0
// Exports models with what they predict, for onnx_check.py to compare with onnxruntime; and reads
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
  double tolerance = 1e-5;                  // of numbers above 1, in parts of them
  std::vector<std::string> weights = {};    // initializers that must be there
  std::vector<std::string> operators = {};  // of the nodes, in order; empty: any
  // Those among the operators that go over steps (LSTM, GRU, RNN, Scan, Loop).
  std::optional<std::vector<std::string>> loops = {};
  // Initializers whose bytes are in a file of their own.
  std::optional<std::vector<std::string>> external = {};
  bool open_batch = true;  // the file takes any number of rows
};

class OnnxCases {
 public:
  // Exports the model, predicts each of the inputs with it, and keeps both. What export_ throws
  // comes through.
  void add(const OnnxCase& what, Model& model, const std::vector<Tensors>& inputs,
           const ExportOptions& options = {});
  // The same where other numbers than the model's own predictions are expected.
  void add_expecting(const OnnxCase& what, Model& model, const std::vector<Tensors>& inputs,
                     const std::vector<Tensors>& expected, const ExportOptions& options = {});
  int64_t count() const { return static_cast<int64_t>(cases_.size()); }
  // Whether onnx's checker accepts all files, and onnxruntime gives the same for all inputs. Says
  // how many of them were read again, and which not.
  bool check() const;

 private:
  void read_again(const OnnxCase& what, const std::string& path, const std::vector<Tensors>& inputs,
                  const std::vector<Tensors>& expected);

  Scratch scratch_;
  Json::Array cases_;
  int read_ = 0;
  std::map<std::string, int> unread_;  // by what isn't read
};

// The greatest one, of numbers above 1 in parts of them; infinite where one isn't a number.
double difference(const Tensor& found, const Tensor& wanted);

Tensor numbers(const Shape& shape, int64_t seed = 5);  // normal ones

// A batch of the first row alone, and all rows with some of them again.
std::vector<Tensors> batches_of(const std::vector<Tensor>& inputs);

}  // namespace cornu::test
