// SPDX-License-Identifier: Apache-2.0
// What a step does with all replicas, for workers to compare.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "framework/core/json.h"
#include "framework/graph/function.h"

namespace cornu::distribute {

// Calls visit(graph, node) for the nodes of a graph, and those of branches and loops in it.
template <class Visit>
void each_node(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    visit(graph, node);
    for (const auto& [name, value] : node.attributes.entries()) {
      const auto* inner = std::get_if<std::shared_ptr<const Graph>>(&value);
      if (inner) each_node(**inner, visit);
    }
  }
}

// Whether what is gathered may have other sizes along its axis elsewhere, which texts leave out.
enum class GatheredSizes { Alike, Any };

// A graph's collectives in their order, those of branches and loops too: kinds, dtypes and shapes,
// as text.
std::vector<std::string> collectives_in(const Graph& graph,
                                        GatheredSizes sizes = GatheredSizes::Alike);

// Hashes of these and of the function's name, made once for each function that lives.
class CollectiveHashes {
 public:
  explicit CollectiveHashes(GatheredSizes sizes) : sizes_(sizes) {}
  uint64_t of(const std::shared_ptr<const CompiledFunction>& function);

 private:
  GatheredSizes sizes_;
  std::map<std::weak_ptr<const CompiledFunction>, uint64_t, std::owner_less<>> known_;
};

// Says which of the functions that were run before one is, so that those who run functions of one
// name can tell whether they run them in one order.
class RunOrder {
 public:
  static constexpr uint32_t kNew = ~uint32_t{0};
  // How many others have been run since this function was run last; kNew where it hasn't been, or
  // so many have that it is forgotten. It is the one that was run last from now on.
  uint32_t run(uint64_t function);
  void clear() { recent_.clear(); }

 private:
  std::vector<uint64_t> recent_;  // their numbers, the last one first
};

// A step of a worker, and what it calls.
struct StepOfWorker {
  std::string name;
  uint32_t order = RunOrder::kNew;
  std::vector<std::string> calls;

  Json to_json() const;
  static StepOfWorker from_json(const Json& json);
};

// RanksDiffer where a worker's step isn't worker 0's: another one, or with other calls.
void require_same_steps(const std::string& strategy, const StepOfWorker& expected,
                        const StepOfWorker& step, int64_t worker);

// RanksDiffer where the calls of a step aren't those that are expected: which one is the first, and
// what it is there and here. `who`: "worker"; `number`: whose calls these are, in place of number
// 0's.
void require_same_calls(const std::string& strategy, const std::string& step,
                        const std::vector<std::string>& expected,
                        const std::vector<std::string>& calls, const char* who, int64_t number);

}  // namespace cornu::distribute
