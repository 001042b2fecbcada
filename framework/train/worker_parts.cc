// SPDX-License-Identifier: Apache-2.0
#include "framework/train/worker_parts.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/saving/saved_variables.h"
#include "framework/strategy/strategy.h"
#include "framework/train/resumed_parts.h"

namespace cornu {
namespace {

std::string name_of_part(int64_t worker) { return fmt::format("worker {}", worker); }

RunState part_of(const RunState& state, int64_t worker) {
  const Tensor& bytes = state.tensor(name_of_part(worker));
  return decode_run_state({reinterpret_cast<const char*>(bytes.raw()), bytes.bytes()});
}

}  // namespace

void agree_on_learning_rate(const Optimizer& optimizer) {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return;
  const auto parts = optimizer.impl().parts();
  for (const auto& part : parts) agree_on_learning_rate(part.second);
  if (!parts.empty()) return;
  // A schedule's rate depends on the optimizer's iterations, which are worker 0's from the first
  // step on.
  if (optimizer.impl().options().learning_rate.schedule()) return;
  const double own = ops::cast(optimizer.learning_rate(), DType::Float64).host().item<double>();
  const std::vector<std::string> all = strategy.exchange("learning rates", Json(own).dump());
  for (size_t worker = 1; worker < all.size(); ++worker) {
    if (all[worker] == all.front()) continue;
    logging::warn(fmt::format(
        "fit: the learning rate of worker {} is {}, that of worker 0 is {}, which all take. "
        "Callbacks that set it must do so on every worker.",
        worker, all[worker], all.front()));
    if (static_cast<int64_t>(worker) == strategy.worker()) {
      optimizer.set_learning_rate(Json::parse(all.front()).as_double());
    }
  }
}

void agree_on_seeds() {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return;
  const SeedSequence own = seed_sequence();
  const Json chiefs = Json::parse(
      strategy
          .exchange("seeds of fit", Json::object({{"seed", static_cast<int64_t>(own.seed)},
                                                  {"drawn", static_cast<int64_t>(own.drawn)},
                                                  {"chosen", own.chosen}})
                                        .dump())
          .front());
  restore_seed_sequence({.seed = static_cast<uint64_t>(chiefs.at("seed").as_int()),
                         .drawn = static_cast<uint64_t>(chiefs.at("drawn").as_int()),
                         .chosen = chiefs.at("chosen").as_bool()});
}

void add_worker_parts(RunState& state, const RunState& own) {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return;
  const std::vector<std::string> parts =
      strategy.exchange("parts of a state", encode_run_state(own));
  for (size_t worker = 0; worker < parts.size(); ++worker) {
    Tensor bytes = Tensor::empty({static_cast<int64_t>(parts[worker].size())}, DType::UInt8);
    std::memcpy(bytes.mutable_raw(), parts[worker].data(), parts[worker].size());
    state.tensors.emplace_back(name_of_part(static_cast<int64_t>(worker)), std::move(bytes));
  }
  state.info.set("workers", static_cast<int64_t>(parts.size()));
  if (strategy.worker() > 0) take_callbacks(state, part_of(state, 0).info.at(kCallbacks));
}

int64_t workers_of(const RunState& state) {
  const Json* saved = state.info.find("workers");
  return saved ? saved->as_int() : 1;
}

namespace {

// Combines the workers' own values in the same way as reading the variable does.
Tensor together(const Variable& variable, const std::vector<Tensor>& by_worker) {
  const VariableAggregation how = variable.aggregation();
  if (how != VariableAggregation::Sum && how != VariableAggregation::Mean) return by_worker.front();
  Tensor sum = by_worker.front();
  for (size_t worker = 1; worker < by_worker.size(); ++worker) sum = sum + by_worker[worker];
  if (how == VariableAggregation::Sum) return sum;
  return ops::cast(sum / static_cast<int64_t>(by_worker.size()), variable.dtype());
}

}  // namespace

std::optional<RunState> own_worker_part(const RunState& state) {
  const int64_t workers = workers_of(state);
  if (workers == 1) return {};
  const StrategyImpl& strategy = get_strategy().impl();
  return part_of(state, workers == strategy.num_workers() ? strategy.worker() : 0);
}

void restore_own_variables(const RunState& state, const std::vector<Variable>& variables) {
  const StrategyImpl& strategy = get_strategy().impl();
  const int64_t workers = workers_of(state);
  if (workers == strategy.num_workers()) {
    if (workers > 1) restore_variables(*own_worker_part(state), kOwnVariables, variables);
    return;
  }
  std::vector<std::vector<Tensor>> values(variables.size());  // for each variable, by worker
  for (int64_t worker = 0; worker < workers; ++worker) {
    // With a single worker, they were restored along with all others.
    if (workers > 1) restore_variables(part_of(state, worker), kOwnVariables, variables);
    for (size_t i = 0; i < variables.size(); ++i) values[i].push_back(variables[i].value());
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    const Tensor all = together(variables[i], values[i]);
    const bool is_others = variables[i].aggregation() == VariableAggregation::Sum &&
                           strategy.num_workers() > 1 && strategy.worker() > 0;
    variables[i].assign(is_others ? ops::zeros_like(all) : all);
  }
}

std::optional<RunState> newest_state(std::optional<RunState> own) {
  StrategyImpl& strategy = get_strategy().impl();
  if (strategy.num_workers() == 1) return own;
  std::string place;
  if (own) {
    const auto [epoch, batch] = place_in_run(*own);
    place = Json::array({epoch, batch}).dump();
  }
  std::optional<std::vector<int64_t>> newest;
  int64_t source = 0;
  const std::vector<std::string> places = strategy.exchange("places of states", place);
  for (size_t worker = 0; worker < places.size(); ++worker) {
    if (places[worker].empty()) continue;
    const std::vector<int64_t> theirs = Json::parse(places[worker]).as_ints();
    if (newest && theirs <= *newest) continue;
    newest = theirs;
    source = static_cast<int64_t>(worker);
  }
  if (!newest) return {};
  const bool gives = strategy.worker() == source;
  const std::vector<std::string> all =
      strategy.exchange("a state", gives ? encode_run_state(*own) : "");
  if (source > 0) {
    logging::info(
        fmt::format("fit: the newest state is that of worker {}, which all take.", source));
  }
  return decode_run_state(all[static_cast<size_t>(source)]);
}

}  // namespace cornu
