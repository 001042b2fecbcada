// SPDX-License-Identifier: Apache-2.0
// A graph with collectives, cut at these: programs that run one after the other, between which
// replicas reduce through the host's memory and whatever group they have. For replicas whose
// programs differ, or that share a device, and for those of several processes.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "framework/backends/xla/client.h"
#include "framework/backends/xla/lowering.h"
#include "framework/graph/communicator.h"

namespace cornu::xla {

// Thread-safe; replicas run it at once, each on a thread of its own.
class Segments {
 public:
  // Unimplemented when a loop communicates.
  Segments(const Graph& graph, Client& client);

  // Of the graph's inputs and states; returns its outputs and the states that it writes. Throws
  // what is refused.
  std::vector<ArrayPtr> run(const std::vector<ArrayPtr>& arguments, int device,
                            CollectiveGroup& group);

 private:
  struct Segment {
    std::vector<ValueId> in;
    std::vector<ValueId> out;
    ProgramText program;
    const Node* collective = nullptr;  // after it; null: the last
    // Where that is a condition: its branches, of which the host chooses.
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

// What a program refused, by the status that is its last result, which is taken away; null:
// nothing.
std::exception_ptr take_refused(const ProgramText& program, std::vector<ArrayPtr>& results);

}  // namespace cornu::xla
