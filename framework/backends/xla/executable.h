// SPDX-License-Identifier: Apache-2.0
// The XLA backend's executable: one program for each device, or set of devices, it was run on.
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

// The graph after the passes that XLA has no counterpart of.
Graph optimize(Graph graph, passes::Dump& dump);

// Thread-safe.
class XlaExecutable : public Executable {
 public:
  // Lowers the graph, for one replica; compiles nothing yet.
  XlaExecutable(Graph graph, Client& client);

  std::string describe() const override { return graph_.to_string(); }
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override { return 0; }  // the plugin's

  const Graph& graph() const { return graph_; }
  bool writes(size_t state) const { return graph_.states.at(state).out != graph_.states[state].in; }
  // What runs on `replicas` devices at once.
  const ProgramText& text(size_t replicas);
  LoadedProgram& program_for(const std::vector<int>& devices);
  // The same with its collectives on the host.
  Segments& segments();

 private:
  Graph graph_;
  Client& client_;
  std::mutex mutex_;  // guards the maps; what is in them stays
  std::map<size_t, ProgramText> texts_;
  std::map<std::vector<int>, std::shared_ptr<LoadedProgram>> programs_;
  std::unique_ptr<Segments> segments_;
};

// The array of a tensor on a device of the client's, of the tensor's own type.
ArrayPtr array_of(const Tensor& tensor, Client& client);

// Runs one op's executable, and throws what it refuses.
std::vector<Tensor> run_op(XlaExecutable& executable, std::span<const Tensor> inputs, int device,
                           Client& client);

// Backend::run.
void run_launches(std::span<Launch> launches, Client& client);

}  // namespace cornu::xla
