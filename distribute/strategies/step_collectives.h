// SPDX-License-Identifier: Apache-2.0
// The collectives of a step, for comparison between workers.
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

// Calls visit(graph, node) for the nodes of a graph and of the branches and loops in it.
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

// Whether gathered tensors may have other sizes along their axis elsewhere; texts then omit these.
enum class GatheredSizes { Alike, Any };

// A graph's collectives in order, including those of branches and loops: kinds, dtypes and shapes,
// as text.
std::vector<std::string> collectives_in(const Graph& graph,
                                        GatheredSizes sizes = GatheredSizes::Alike);

// Hashes of collectives_in() and the function's name, computed once for each live function.
class CollectiveHashes {
 public:
  explicit CollectiveHashes(GatheredSizes sizes) : sizes_(sizes) {}
  uint64_t of(const std::shared_ptr<const CompiledFunction>& function);

 private:
  GatheredSizes sizes_;
  std::map<std::weak_ptr<const CompiledFunction>, uint64_t, std::owner_less<>> known_;
};

// Tells how recently a function was run, so that those who run functions of the same name can tell
// whether they run them in the same order.
class RunOrder {
 public:
  static constexpr uint32_t kNew = ~uint32_t{0};
  // Returns how many other functions have been run since this one was run last; kNew if it hasn't
  // been run, or was so long ago that it is forgotten. Makes it the most recent one.
  uint32_t run(uint64_t function);
  void clear() { recent_.clear(); }

 private:
  std::vector<uint64_t> recent_;  // their numbers, most recent first
};

// A worker's step and the calls it makes.
struct StepOfWorker {
  std::string name;
  uint32_t order = RunOrder::kNew;
  std::vector<std::string> calls;

  Json to_json() const;
  static StepOfWorker from_json(const Json& json);
};

// Throws RanksDiffer when a worker's step isn't worker 0's: it is another one, or makes other
// calls.
void require_same_steps(const std::string& strategy, const StepOfWorker& expected,
                        const StepOfWorker& step, int64_t worker);

// Throws RanksDiffer when the calls of a step aren't the expected ones, naming the first difference
// on both sides. `who`: "worker"; `number`: whose calls these are, as opposed to those of number 0.
void require_same_calls(const std::string& strategy, const std::string& step,
                        const std::vector<std::string>& expected,
                        const std::vector<std::string>& calls, const char* who, int64_t number);

}  // namespace cornu::distribute
