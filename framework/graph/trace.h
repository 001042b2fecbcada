// SPDX-License-Identifier: Apache-2.0
// Tracing: running code on symbols to record it as a graph.
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

// Held while a function is traced. Only one trace runs at a time, since bodies share C++ objects
// (layers, optimizers, metrics) that a trace may build. Recursive, since a trace may start another.
std::unique_lock<std::recursive_mutex> tracing_lock();

struct TraceOptions {
  std::string name = "function";
  // Whether variables become state of the graph. Otherwise (branches of a cond, map functions)
  // their values are taken from outside, as captures or constants, and assigning a variable is an
  // error.
  bool allow_state = true;
  // Without allow_state: return assigned values in `followed`, for the enclosing trace to assign,
  // instead of throwing.
  bool carry_assignments = false;
  // Unseeded random ops draw from a key that is an input of this graph: each new key gives new
  // numbers. Otherwise (branches of a cond) they use the enclosing trace's key.
  bool own_key = true;
  uint32_t draws = 0;  // number of draws already made from that key by other graphs that share it
  // Whether tensors with values also become captures, rather than constants.
  bool capture_values = false;
};

// The aspects of a variable that a trace follows: its value and, if the replicas' values are
// combined at the end of the step, what the combination depends on besides the value.
enum class VariablePart {
  Value,
  Base,      // the last value that all replicas had in common
  Replaced,  // bool: has this replica assigned its own value since then, rather than only added?
};

// A graph with the outer symbols that it uses. `captures` are the last inputs of the graph (after
// the function's own, the key and the replica values), in order: symbols of an enclosing trace.
struct TracedGraph {
  // A part of a variable that the body has assigned or, as a state, read.
  struct Followed {
    Variable variable;
    VariablePart part;
    ValueId in;   // at the start, if variables are states
    ValueId out;  // at the end
    // For an assigned value (even if equal to the previous one): whether it may differ between
    // replicas.
    std::optional<bool> differs;
  };
  Graph graph;
  std::vector<Tensor> captures;
  bool has_key = false;                      // an input uint32[2] after the function's own
  std::vector<ReplicaValue> replica_values;  // inputs after that: int64 scalars
  std::vector<double> replica_sums;  // and float64 scalars: this replica's parts of the sums
  uint32_t draws = 0;                // the first unused draw number
  std::vector<Followed> followed;
};

// The current value of a part of a variable.
Tensor read_part(const Variable& variable, VariablePart part);
// Whether replicas' values of a variable may currently differ, according to what the trace has
// recorded.
bool may_differ(const Variable& variable);
// Whether values of the outermost trace on this thread may differ between replicas: if they depend
// on more than shared variables, results of collectives and constants, or on constants alone.
std::vector<bool> may_differ(const std::vector<Tensor>& symbols);
// Sets a part to the result of a traced body; `differs` applies to values.
void assign_part(const Variable& variable, VariablePart part, const Tensor& value, bool differs);

// The source of an unseeded random op in traced code: the key of the trace, and a number that is
// unique within the graph.
struct TracedDraw {
  Tensor key;
  uint32_t number = 0;
};
// Returns the next one on this thread; nullopt outside of traces.
std::optional<TracedDraw> next_traced_draw();

// Returns a value that differs between replicas, as an input of the outermost trace on this thread;
// nullopt outside of traces.
std::optional<Tensor> traced_replica_value(ReplicaValue which);
// Likewise for a sum over replicas, of which `own` is this replica's part.
std::optional<Tensor> traced_sum_of_known(double own);

// Whether a symbol belongs to a trace, rather than being a functional model's placeholder.
bool is_traced(const Tensor& symbol);

// Takes everything that the active trace has recorded in a RematRegion out of the region.
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

// Output types of `body` for inputs that may have unknown axes, found by tracing it with two or
// three substitutes for each unknown axis (open_axes.h): output axes that differ are unknown. If
// the substituted inputs don't go together, unknown axes take multiples of common numbers, sizes
// that other inputs have at the same positions, else at any position, or sizes from within the body
// (`shapes_within`). Nothing of this trace is run, so strings are allowed among its inputs and
// outputs.
std::vector<TensorType> infer_types(
    const std::vector<TensorType>& inputs,
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& body,
    const std::function<std::vector<Shape>()>& shapes_within = {});
// Whether this thread is tracing for infer_types: results then have only shapes and dtypes.
bool is_inferring_types();
// A size, for use during infer_types, for an axis whose size depends on values: it becomes unknown.
int64_t unknown_size();

}  // namespace cornu
