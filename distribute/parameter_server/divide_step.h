// SPDX-License-Identifier: Apache-2.0
// Divides a traced step between the worker that runs it and the servers that keep its variables.
#pragma once

#include <string>
#include <vector>

#include "distribute/parameter_server/placement.h"
#include "framework/graph/graph.h"

namespace cornu::distribute {

// A variable, or one of its shards.
struct ShardOf {
  Variable variable;
  size_t shard = 0;
};

// One server's part at the end of a step: an optimizer's update, and assignments to variables.
struct ServerUpdate {
  size_t server = 0;
  Graph graph;                  // its inputs are sent by the worker, its states are shards
  std::vector<ShardOf> states;  // by state
  std::vector<size_t> sent;     // by input: index into the worker's outputs
  // A variable, updated by the step on another server, whose value as read by the worker selects
  // what this part does; "": none.
  std::string chooses_by = {};
};

// Rows of a variable that a step gathers: they are all that it reads of the variable.
struct RowsTaken {
  Variable variable;
  size_t indices = 0;  // index into the outputs of `ahead`
};

struct DividedStep {
  // The worker's part, which has no states. Inputs: those of the step, then the values of `read`,
  // then the rows of `taken`. Outputs: those of the step, then what is sent to the servers.
  Graph worker;
  std::vector<Variable> read;
  std::vector<RowsTaken> taken;
  // Computes the indices of these rows from the step's inputs; run before the step. Has no outputs
  // when no rows are taken.
  Graph ahead;
  size_t results = 0;  // number of outputs that belong to the step
  std::vector<ServerUpdate> updates;
};

// Nodes that update variables (Node::updates), and sums, multiples and moving averages assigned to
// a variable from its own value, are left to the server if they depend on what it keeps, so that
// updates of several workers build on each other. The worker computes the rest of the step, using
// the values it read at its beginning. If a variable is kept by several servers, each one updates
// its rows if the update is elementwise; for other updates (e.g. by norms), the worker computes the
// non-elementwise part, using the values it has read.
//
// Little data is transferred if a step uses little: of a variable whose rows are only gathered
// (Embedding), only those rows are read; and a value larger than the operands from which cheap ops
// compute it (the gradient of those rows) is computed by the server.
DividedStep divide_step(const Graph& traced, const PlacementOf& placement_of);

}  // namespace cornu::distribute
