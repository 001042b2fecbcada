// SPDX-License-Identifier: Apache-2.0
// A traced step, divided among the worker that runs it and the servers that keep its variables.
#pragma once

#include <string>
#include <vector>

#include "distribute/parameter_server/placement.h"
#include "framework/graph/graph.h"

namespace cornu::distribute {

// Of a variable, or of one of its shards.
struct ShardOf {
  Variable variable;
  size_t shard = 0;
};

// What one server does at the end of a step: an optimizer's update, and what assigns variables.
struct ServerUpdate {
  size_t server = 0;
  Graph graph;                  // its inputs are what the worker sends, its states shards
  std::vector<ShardOf> states;  // by state
  std::vector<size_t> sent;     // by input: which of the worker's outputs it is
  // A variable that the step updates on another server, by whose value, as the worker has read it,
  // this part chooses what it does; "": none.
  std::string chooses_by = {};
};

// Rows of a variable that a step takes: all that it reads of it.
struct RowsTaken {
  Variable variable;
  size_t indices = 0;  // which of the outputs of `ahead`
};

struct DividedStep {
  // The worker's part has no states. Inputs: those of the step, then the values of `read`, then
  // what was `taken`. Outputs: those of the step, then what servers are sent.
  Graph worker;
  std::vector<Variable> read;
  std::vector<RowsTaken> taken;
  // Which rows these are, of the step's inputs; run before it. Without outputs where none are
  // taken.
  Graph ahead;
  size_t results = 0;  // outputs that are the step's
  std::vector<ServerUpdate> updates;
};

// Nodes that update variables (Node::updates), and sums, multiples and moving averages that are
// assigned to a variable of its own value, are left to the server where they depend on what it
// keeps, so that updates of several workers build on each other; the rest of the step is computed
// by the worker, with the values that it has read at its beginning. Of variables that several
// servers keep, each updates its rows where the update is elementwise; of other updates (by norms,
// say) the worker computes the part that isn't, with the values that it has read.
//
// What travels is little where a step uses little: of a variable of which it only takes rows
// (Embedding) those rows are read, and what is larger than what it is made of by cheap ops (the
// gradient of those rows) is made by the server.
DividedStep divide_step(const Graph& traced, const PlacementOf& placement_of);

}  // namespace cornu::distribute
