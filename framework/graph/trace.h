// SPDX-License-Identifier: Apache-2.0
// Tracing: running code on symbols to record what it does as a graph.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "framework/graph/dispatch.h"
#include "framework/graph/graph.h"
#include "framework/graph/replica.h"

namespace cornu {

// Bodies share C++ objects (layers, optimizers, metrics) that a trace may build: functions are
// traced one at a time, while this is held. On one thread a trace may need another.
std::unique_lock<std::recursive_mutex> tracing_lock();

struct TraceOptions {
  std::string name = "function";
  // Whether variables become state of the graph. Otherwise (branches of a cond, map functions)
  // their values are taken from outside, as captures or constants, and assigning one is an error.
  bool allow_state = true;
  // Where it doesn't: whether what is assigned is told as the graph's assignments instead, for the
  // enclosing trace to make.
  bool carry_assignments = false;
  // Random ops without a seed draw from a key that is an input of this graph: new numbers with each
  // new key. Otherwise (branches of a cond) the enclosing trace's key serves them.
  bool own_key = true;
  uint32_t draws = 0;  // made from that key already, by another graph that is given the same one
  // Whether tensors with values become captures too, rather than constants.
  bool capture_values = false;
};

// How a replica has assigned a variable, which says what its replicas' values become.
enum class Assigned {
  Never,
  Sum,     // by assign_add and assign_sub alone
  Value,   // also where it is the old one
  Merged,  // in a merge_call: the same on all replicas
};
// Assigns a variable once more, as it was assigned by a traced body.
void assign_as(Assigned how, const Variable& variable, const Tensor& value);

// A graph with the outer symbols it uses. `captures` are inputs of the graph that come after the
// function's own (and the key and what a replica brings), in order: symbols of an enclosing trace.
struct TracedGraph {
  struct Assignment {
    Variable variable;
    ValueId value;  // the last one
    Assigned how;
  };
  Graph graph;
  std::vector<Tensor> captures;
  bool has_key = false;                      // an input uint32[2] after the function's own
  std::vector<ReplicaValue> replica_values;  // inputs after that: int64 scalars
  uint32_t draws = 0;                        // the first number that nothing was drawn by
  std::vector<Assignment> assignments;
  std::vector<Assigned> assigned;  // by state
};

// What a random op without a seed draws from in traced code: the key of the trace, and a number
// that no other op of the graph has.
struct TracedDraw {
  Tensor key;
  uint32_t number = 0;
};
// The next one on this thread; nothing outside of traces.
std::optional<TracedDraw> next_traced_draw();

// What replicas of one graph differ in, as an input of the outermost trace on this thread; nothing
// outside of traces.
std::optional<Tensor> traced_replica_value(ReplicaValue which);

// Runs `body` on symbols of the given types and records its ops. Tensors with values that it uses
// become constants; variables it reads or assigns become states; symbols of an enclosing trace
// become captures. An undefined output is an error.
TracedGraph trace(const std::vector<TensorType>& inputs,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
                  const TraceOptions& options = {});

// Applies a graph's nodes anew to `inputs` through apply(), so that tapes and traces see them; its
// states are read and assigned as variables. Returns the graph's outputs.
std::vector<Tensor> replay(const Graph& graph, const std::vector<Tensor>& inputs);

// Output types of `body` for inputs that may have unknown axes, by tracing it with two
// substitutes for each unknown axis: output axes that differ are unknown.
std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body);

}  // namespace cornu
