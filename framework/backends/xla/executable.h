// SPDX-License-Identifier: Apache-2.0
// The XLA backend's executable: one program for each device, or set of devices, that it has been
// run on.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/xla/client.h"
#include "framework/backends/xla/lowering.h"
#include "framework/backends/xla/segments.h"
#include "framework/graph/backend.h"
#include "framework/graph/passes/dump.h"

namespace cornu::xla {

// The graph after the passes that have no counterpart in XLA.
Graph optimize(Graph graph, passes::Dump& dump);

// Thread-safe.
class XlaExecutable : public Executable {
 public:
  // Lowers the graph for one replica, without compiling it yet.
  XlaExecutable(Graph graph, Client& client);

  std::string describe() const override { return graph_.to_string(); }
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override { return 0; }  // the plugin manages it

  const Graph& graph() const { return graph_; }
  bool writes(size_t state) const { return graph_.states.at(state).out != graph_.states[state].in; }
  // The program that runs on `replicas` devices together.
  const ProgramText& text(size_t replicas);
  LoadedProgram& program_for(const std::vector<int>& devices);
  // The program with its collectives on the host.
  Segments& segments();

 private:
  Graph graph_;
  Client& client_;
  std::mutex mutex_;  // guards the maps; their elements are never removed
  std::map<size_t, ProgramText> texts_;
  std::map<std::vector<int>, std::shared_ptr<LoadedProgram>> programs_;
  std::unique_ptr<Segments> segments_;
};

// The array of a tensor, in the tensor's own type, on a device of the client.
ArrayPtr array_of(const Tensor& tensor, Client& client);

// Runs an executable of a single op, and throws its failed check.
std::vector<Tensor> run_op(XlaExecutable& executable, std::span<const Tensor> inputs, int device,
                           Client& client);

// Implements Backend::run.
void run_launches(std::span<Launch> launches, Client& client);

}  // namespace cornu::xla
