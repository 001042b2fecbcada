// SPDX-License-Identifier: Apache-2.0
#include "distribute/strategies/step_collectives.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "framework/core/error.h"
#include "framework/core/strings.h"
#include "framework/io/hash.h"
#include "framework/strategy/collective_calls.h"

namespace cornu::distribute {
namespace {

constexpr size_t kMany = 256;
constexpr size_t kMaxRecent = 64;

std::string text_of_call(const Graph& graph, const Node& node, GatheredSizes sizes) {
  const Attributes& attributes = node.attributes;
  if (attributes.find("gathers")) {
    const int64_t axis = attributes.get_int("axis");
    Shape shape = attributes.get_shape("gathers");
    if (sizes == GatheredSizes::Any) shape[axis] = kUnknown;
    return fmt::format("all_gather along axis {} of {} {}", axis,
                       graph.type(node.inputs.front()).dtype, shape);
  }
  std::vector<std::string> types;
  for (const ValueId input : node.inputs) {
    types.push_back(fmt::format("{} {}", graph.type(input).dtype, graph.type(input).shape));
  }
  const char* reduce = attributes.find("reduce") ? attributes.get_string("reduce").c_str() : "";
  return fmt::format("{} ({}{}) of {}", node.op->name, reduce,
                     attributes.find("sparse") ? ", by rows" : "", join(types, ", "));
}

}  // namespace

std::vector<std::string> collectives_in(const Graph& graph, GatheredSizes sizes) {
  std::vector<std::string> found;
  each_node(graph, [&](const Graph& of, const Node& node) {
    if (!node.op->traits.collective) return;
    found.push_back(text_of_call(of, node, sizes) +
                    (&of == &graph ? "" : ", within a loop or a branch"));
  });
  return found;
}

uint64_t CollectiveHashes::of(const std::shared_ptr<const CompiledFunction>& function) {
  if (const auto known = known_.find(function); known != known_.end()) return known->second;
  if (known_.size() >= kMany) {
    std::erase_if(known_, [](const auto& entry) { return entry.first.expired(); });
  }
  const std::string text =
      function->name + "\n" + join(collectives_in(function->graph, sizes_), "\n");
  const std::string hash = hash_of(std::as_bytes(std::span(text)), HashAlgorithm::Sha256);
  return known_[function] = std::stoull(hash.substr(0, 16), nullptr, 16);
}

uint32_t RunOrder::run(uint64_t function) {
  const auto found = std::ranges::find(recent_, function);
  const bool is_new = found == recent_.end();
  const auto order = is_new ? kNew : static_cast<uint32_t>(found - recent_.begin());
  if (is_new && recent_.size() < kMaxRecent) {
    recent_.insert(recent_.begin(), function);
  } else {  // overwrite the place of the forgotten one, or its own
    const auto last = is_new ? recent_.end() : found + 1;
    std::shift_right(recent_.begin(), last, 1);
    recent_.front() = function;
  }
  return order;
}

Json StepOfWorker::to_json() const {
  return Json::object({{"name", name}, {"order", static_cast<int64_t>(order)}, {"calls", calls}});
}

StepOfWorker StepOfWorker::from_json(const Json& json) {
  return {.name = json.at("name").as_string(),
          .order = static_cast<uint32_t>(json.at("order").as_int()),
          .calls = json.at("calls").as_strings()};
}

namespace {

std::string text_of(const StepOfWorker& step) {
  return step.order == RunOrder::kNew ? fmt::format("'{}', which is new", step.name)
         : step.order == 0            ? fmt::format("'{}', as before", step.name)
                           : fmt::format("the '{}' that it ran before {} other{}", step.name,
                                         step.order, step.order == 1 ? "" : "s");
}

}  // namespace

void require_same_steps(const std::string& strategy, const StepOfWorker& expected,
                        const StepOfWorker& step, int64_t worker) {
  const auto require_same = [&](bool is_same, const std::string& here, const std::string& there) {
    check<RanksDiffer>(is_same,
                       "Strategy '{}': every worker must run the same steps in the same order, but "
                       "worker {} runs the step {}, and worker 0 {}. Look for an if or a loop that "
                       "a worker's number or its data decides.",
                       strategy, worker, here, there);
  };
  require_same(step.name == expected.name, fmt::format("'{}'", step.name),
               fmt::format("'{}'", expected.name));
  try {
    require_same_calls(strategy, step.name, expected.calls, step.calls, "worker", worker);
  } catch (RanksDiffer& error) {
    error.add_advice(
        "What is gathered must have one shape on the replicas of all workers: pad it in the step, "
        "or return it and join it outside with Strategy::gather.");
    throw;
  }
  require_same(step.order == expected.order, text_of(step), text_of(expected));
}

void require_same_calls(const std::string& strategy, const std::string& step,
                        const std::vector<std::string>& expected,
                        const std::vector<std::string>& calls, const char* who, int64_t number) {
  const auto [there, here] = std::ranges::mismatch(expected, calls);
  if (there == expected.end() && here == calls.end()) return;
  const auto text = [](const auto& call, const std::vector<std::string>& all) {
    return call == all.end() ? "nothing more" : *call;
  };
  raise<RanksDiffer>(
      "Strategy '{}': every {} must make the same collective calls in the same order, but call {} "
      "of the step '{}' on {} {} is {}; expected {}, as on {} 0. Look for an if, a loop or a shape "
      "that a {}'s number, its data or the size of its part of the batch decides, with a "
      "collective behind it (apply_gradients, losses and metrics have some, too).",
      strategy, who, here - calls.begin() + 1, step, who, number, text(here, calls),
      text(there, expected), who, who);
}

}  // namespace cornu::distribute
