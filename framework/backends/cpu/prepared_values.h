// SPDX-License-Identifier: Apache-2.0
// Values that an executable computes from variables that it doesn't write, cached while these don't
// change.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "framework/backends/cpu/program.h"
#include "framework/core/threads.h"
#include "framework/core/variable.h"

namespace cornu::cpu {

// Thread-safe. Keeps the values for as many sets of variables as a run may have replicas.
class PreparedValues {
 public:
  // `graph`: the optimized graph of passes::PreparedGraph.
  explicit PreparedValues(Graph graph);

  using Values = std::shared_ptr<const std::vector<Tensor>>;
  // Returns the outputs of the graph for its states; computes them unless they are cached for the
  // same versions. For callers that have read access to the variables: `states` is their memory,
  // and `version(i)` the version of the value in it.
  Values of(std::span<const Variable> variables, std::span<void* const> states,
            FunctionRef<uint64_t(size_t)> version);

  const Graph& graph() const { return graph_; }

 private:
  using Versions = std::vector<std::pair<uint64_t, uint64_t>>;  // of each variable: number, version
  struct Entry {
    Versions versions;
    Values values;
  };
  Values compute(std::span<void* const> states);

  const Graph graph_;
  std::vector<size_t> read_;  // the states that it reads
  std::mutex mutex_;          // guards all below
  std::unique_ptr<Program> program_;
  int threads_ = 0;             // that it was made for
  std::vector<Entry> entries_;  // the most recently used is the last
};

}  // namespace cornu::cpu
