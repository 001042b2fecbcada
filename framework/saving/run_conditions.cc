// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_conditions.h"

#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"

namespace cornu {

void save_conditions(RunState& state) {
  const SeedSequence seeds = seed_sequence();
  state.info.set(
      "seeds", Json::array({static_cast<int64_t>(seeds.seed), static_cast<int64_t>(seeds.drawn)}));
  state.info.set("compute_threads", static_cast<int64_t>(compute_threads()));
}

void restore_seeds(const RunState& state) {
  const Json& seeds = state.info.at("seeds");
  restore_seed_sequence(
      {static_cast<uint64_t>(seeds[0].as_int()), static_cast<uint64_t>(seeds[1].as_int())});
}

void warn_of_other_threads(const RunState& state) {
  const int64_t then = state.info.at("compute_threads").as_int();
  if (then == compute_threads()) return;
  logging::warn(fmt::format(
      "The saved run computed on {} threads, this one does on {}: its last bits may differ.", then,
      compute_threads()));
}

void warn_of_other_replicas(const RunState& state, int64_t replicas) {
  const Json* then = state.info.find("replicas");
  if (!then || then->as_int() == replicas) return;
  logging::warn(fmt::format(
      "The saved run computed on {} replicas, this one does on {}: its last bits may differ, and "
      "more where each replica normalizes its own part of a batch (BatchNormalization that isn't "
      "synchronized).",
      then->as_int(), replicas));
}

void warn_of_other_seed(const RunState& state) {
  const SeedSequence now = seed_sequence();
  const auto then = static_cast<uint64_t>(state.info.at("seeds")[0].as_int());
  if (!now.chosen || now.seed == then) return;
  logging::warn(
      fmt::format("The saved run drew its random numbers from seed {}, this program sets {}: it "
                  "goes on with {}, as saved.",
                  then, now.seed, then));
}

}  // namespace cornu
