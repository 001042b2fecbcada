// SPDX-License-Identifier: Apache-2.0
// A graph with collectives, split at these into programs that run one after another; in between,
// replicas reduce through host memory with whatever group they have. For replicas whose programs
// differ or that share a device, and for those of several processes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/xla/client.h"
#include "framework/backends/xla/lowering.h"
#include "framework/graph/communicator.h"

namespace cornu::xla {

// Thread-safe; replicas run it concurrently, each on its own thread.
class Segments {
 public:
  // Throws Unimplemented when a loop communicates.
  Segments(const Graph& graph, Client& client);

  // Takes the graph's inputs and states; returns its outputs and the states that it writes. Throws
  // failed checks.
  std::vector<ArrayPtr> run(const std::vector<ArrayPtr>& arguments, int device,
                            CollectiveGroup& group);

 private:
  struct Segment {
    std::vector<ValueId> in;
    std::vector<ValueId> out;
    ProgramText program;
    const Node* collective = nullptr;  // that follows it; null: it is the last segment
    // If the collective is a condition: its branches, one of which the host chooses.
    std::unique_ptr<Segments> then = {};
    std::unique_ptr<Segments> otherwise = {};
    std::map<int, std::shared_ptr<LoadedProgram>> loaded = {};  // by device
  };
  LoadedProgram& program_for(Segment& segment, int device);
  void communicate(const Segment& segment, std::vector<ArrayPtr>& values, int device,
                   CollectiveGroup& group) const;
  void reduce(const Node& node, std::vector<ArrayPtr>& values, int device,
              CollectiveGroup& group) const;

  Graph graph_;
  Client& client_;
  std::mutex mutex_;  // guards the loaded programs
  std::vector<Segment> segments_;
  std::vector<ValueId> results_;
};

// Removes a program's last result, its status, and returns the failed check that it reports; null
// if there is none.
std::exception_ptr take_refused(const ProgramText& program, std::vector<ArrayPtr>& results);

}  // namespace cornu::xla
