// SPDX-License-Identifier: Apache-2.0
// How ops of a graph are lowered to StableHLO, and the table of lowerings.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/backends/xla/writer.h"
#include "framework/graph/graph.h"
#include "framework/graph/kernel_spec.h"

namespace cornu::xla {

// Writes an op and returns its results; empty when it doesn't support the spec.
using Lower = std::function<Values(const KernelSpec& spec, std::span<const Value> in, Writer& to)>;

class LoweringTable {
 public:
  void add(std::string_view op, Lower lower) { entries_.emplace(op, std::move(lower)); }
  // Throws Unimplemented, naming op and dtypes, when there is no entry or it doesn't support the
  // spec.
  Values lower(const KernelSpec& spec, std::span<const Value> in, Writer& to) const;
  bool supports(const KernelSpec& spec) const;

 private:
  std::unordered_map<std::string, Lower> entries_;
};

// The table of this build: filled on first use by the register_* functions below.
const LoweringTable& lowering_table();

// Writes all nodes of a graph, given the values of its inputs and states; returns its outputs,
// followed by the final values of the states that it writes. The graph's own outputs are `outputs`.
Values lower_graph(const Graph& graph, std::span<const Value> inputs, Writer& to);

// Reduces values across the replicas that run a program, by this op; requires more than one.
Value reduce_replicas(Writer& to, std::string_view op, const Value& x);

// A module whose function "main" computes `results` from `parameters` by what has been written.
// Attributes of parameters are by parameter number.
std::string module_text(const Writer& to, const Values& parameters, const Values& results,
                        const std::vector<std::string>& attributes = {});

// A complete program: a module with a "main" function that takes a graph's inputs and states.
struct ProgramText {
  std::string text;
  std::vector<TensorType> outputs;  // the graph's, then the written states', then a status
  std::vector<size_t> written;      // states
  std::vector<Refusal> refusals;    // empty: there is no status
  bool communicates = false;
};
// `replicas`: the number of replicas whose collectives are part of the program. With a single
// replica, states keep their values when a check fails. Throws Unimplemented for an op without a
// lowering.
ProgramText lower_program(const Graph& graph, int replicas);

// One per file of lower/.
void register_elementwise(LoweringTable& table);
void register_matmul(LoweringTable& table);
void register_conv(LoweringTable& table);
void register_pooling(LoweringTable& table);
void register_reductions(LoweringTable& table);
void register_softmax(LoweringTable& table);
void register_shape(LoweringTable& table);
void register_index(LoweringTable& table);
void register_random(LoweringTable& table);
void register_attention(LoweringTable& table);
void register_recurrent(LoweringTable& table);
void register_fft(LoweringTable& table);
void register_linalg(LoweringTable& table);
void register_control(LoweringTable& table);
void register_collectives(LoweringTable& table);

}  // namespace cornu::xla
