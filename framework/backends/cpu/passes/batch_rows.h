// SPDX-License-Identifier: Apache-2.0
// Whether a loop's body computes the rows of a batch independently of each other, so that threads
// can each take some of them through all iterations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "framework/graph/graph.h"

namespace cornu::cpu {

// A body in which row i of every carry and every output depends only on row i of some inputs, the
// divided ones, and on all of the others (weights). Rows are along the first axis, or along the
// first one whose size isn't 1.
class BatchRows {
 public:
  // Returns nullopt unless it follows from the ops' definitions that rows are independent. There
  // are at least two of them, and nothing in the body checks values, communicates, has an effect or
  // runs graphs. The first `carries` inputs are divided; without any, the outputs decide.
  static std::optional<BatchRows> of(const Graph& body, size_t carries);

  const Graph& body() const { return body_; }
  int64_t batch() const { return batch_; }
  bool is_divided(ValueId id) const { return divided_[static_cast<size_t>(id)]; }
  // The same computation for this number of rows.
  Graph with_rows(int64_t rows) const;
  // The work of an iteration for all rows, in elements computed one by one. A matrix product counts
  // as one element for every 16 multiplications.
  int64_t work() const;
  size_t undivided_bytes() const;  // of inputs
  size_t nodes() const { return body_.nodes.size(); }

 private:
  BatchRows(const Graph& body, int64_t batch);

  int64_t row_axis(ValueId id) const;
  bool divide(const Node& node);
  bool divide_matmul(const Node& node);
  bool divide_broadcast(const Node& node);
  bool leaves_rows(const Node& node) const;
  bool mark(ValueId id);
  bool mark_all(const Node& node);

  Graph body_;
  int64_t batch_;
  std::vector<bool> divided_;  // by value
  bool changed_ = false;
};

}  // namespace cornu::cpu
