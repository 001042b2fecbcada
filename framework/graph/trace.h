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

// Held while a function is traced: one at a time, since bodies share C++ objects (layers,
// optimizers, metrics) that a trace may build. Recursive, since a trace may start another.
std::unique_lock<std::recursive_mutex> tracing_lock();

struct TraceOptions {
  std::string name = "function";
  // Whether variables become state of the graph. Otherwise (branches of a cond, map functions)
  // their values are taken from outside, as captures or constants, and assigning one is an error.
  bool allow_state = true;
  // Without allow_state: return what is assigned as `followed`, for the enclosing trace to assign,
  // instead of throwing.
  bool carry_assignments = false;
  // Random ops without a seed draw from a key that is an input of this graph: new numbers with each
  // new key. Otherwise (branches of a cond) they use the enclosing trace's key.
  bool own_key = true;
  uint32_t draws = 0;  // already made from that key by other graphs that share it
  // Whether tensors with values become captures too, rather than constants.
  bool capture_values = false;
};

// What a trace follows of a variable: its value and, where replicas' values become one at the end
// of the step, what that depends on besides.
enum class VariablePart {
  Value,
  Base,      // the last value that all replicas had
  Replaced,  // bool: has this replica assigned a value of its own since, rather than only added?
};

// A graph with the outer symbols that it uses. `captures` are the last inputs of the graph (after
// the function's own, the key and the replica values), in order: symbols of an enclosing trace.
struct TracedGraph {
  // A part of a variable that the body has assigned or, as a state, read.
  struct Followed {
    Variable variable;
    VariablePart part;
    ValueId in;   // at the start, where variables are states
    ValueId out;  // at the end
    // Of a value that was assigned (also the one that was there): may that be another one on each
    // replica?
    std::optional<bool> differs;
  };
  Graph graph;
  std::vector<Tensor> captures;
  bool has_key = false;                      // an input uint32[2] after the function's own
  std::vector<ReplicaValue> replica_values;  // inputs after that: int64 scalars
  std::vector<double> replica_sums;          // and float64 scalars: this replica's parts of them
  uint32_t draws = 0;                        // the first unused draw number
  std::vector<Followed> followed;
};

// A part of a variable at this place of the code.
Tensor read_part(const Variable& variable, VariablePart part);
// Whether replicas' values of a variable may differ there, because of what a trace has recorded.
bool may_differ(const Variable& variable);
// Makes a part what a traced body has made of it; `differs`: of a value.
void assign_part(const Variable& variable, VariablePart part, const Tensor& value, bool differs);

// What a random op without a seed draws from in traced code: the key of the trace, and a number
// unique in the graph.
struct TracedDraw {
  Tensor key;
  uint32_t number = 0;
};
// The next one on this thread; nothing outside of traces.
std::optional<TracedDraw> next_traced_draw();

// A value that differs between replicas, as an input of the outermost trace on this thread; nothing
// outside of traces.
std::optional<Tensor> traced_replica_value(ReplicaValue which);
// The same for a sum over replicas, of which `own` is this one's part.
std::optional<Tensor> traced_sum_of_known(double own);

// Whether a symbol is a trace's, rather than a functional model's placeholder.
bool is_traced(const Tensor& symbol);

// What the active trace has recorded in a RematRegion is in none, after all.
void leave_region(int64_t region);

// Runs `body` on symbols of the given types and records its ops. Tensors with values that it uses
// become constants; variables it reads or assigns become states; symbols of an enclosing trace
// become captures. An undefined output is an error.
TracedGraph trace(const std::vector<TensorType>& inputs,
                  const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
                  const TraceOptions& options = {});

// Applies a graph's nodes again to `inputs` through apply(), so that tapes and traces see them; its
// states are read and assigned as variables. Returns the graph's outputs.
std::vector<Tensor> replay(const Graph& graph, const std::vector<Tensor>& inputs);

// Output types of `body` for inputs that may have unknown axes, by tracing it with two
// substitutes for each unknown axis: output axes that differ are unknown. Where inputs don't fit
// together so, unknown axes have the sizes of other inputs' axes at the same places, else at any,
// or of what the body has of its own (`shapes_within`). Nothing of this trace is run, so that
// strings may be among its inputs and outputs.
std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
    const std::function<std::vector<Shape>()>& shapes_within = {});
// Whether this thread traces for infer_types: what it computes then has shapes and dtypes alone.
bool is_inferring_types();
// The size of an axis that depends on values, for use then: one that nobody knows.
int64_t unknown_size();

}  // namespace cornu
