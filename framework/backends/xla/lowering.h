// SPDX-License-Identifier: Apache-2.0
// How an op of a graph becomes StableHLO, and the table of what makes it.
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

// Writes an op and returns its results; none, when it doesn't support the spec.
using Lower = std::function<Values(const KernelSpec& spec, std::span<const Value> in, Writer& to)>;

class LoweringTable {
 public:
  void add(std::string_view op, Lower lower) { entries_.emplace(op, std::move(lower)); }
  // Unimplemented, naming op and dtypes, when there is no entry or it doesn't support the spec.
  Values lower(const KernelSpec& spec, std::span<const Value> in, Writer& to) const;
  bool supports(const KernelSpec& spec) const;

 private:
  std::unordered_map<std::string, Lower> entries_;
};

// The table of this build: filled on first use by the register_* functions below.
const LoweringTable& lowering_table();

// Writes all nodes of a graph whose inputs and states have these values; returns its outputs', then
// those that states which it writes have at its end. Its own outputs are `outputs`.
Values lower_graph(const Graph& graph, std::span<const Value> inputs, Writer& to);

// Joins, by this op, what the replicas that run a program have; for more than one.
Value reduce_replicas(Writer& to, std::string_view op, const Value& x);

// A module whose function "main" makes `results` of `parameters`, by what was written. Attributes
// of parameters: by their number.
std::string module_text(const Writer& to, const Values& parameters, const Values& results,
                        const std::vector<std::string>& attributes = {});

// A whole program: a module with the function "main" of a graph's inputs and states.
struct ProgramText {
  std::string text;
  std::vector<TensorType> outputs;  // the graph's, then the written states', then a status
  std::vector<size_t> written;      // states
  std::vector<Refusal> refusals;    // empty: there is no status
  bool communicates = false;
};
// `replicas`: those whose collectives are one; of one alone, the states keep their values where
// something is refused. Unimplemented for an op that has no lowering.
ProgramText lower_program(const Graph& graph, int replicas);

// One for each file of lower/.
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
