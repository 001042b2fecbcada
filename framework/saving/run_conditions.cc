// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/run_conditions.h"

#include <string_view>

#include "framework/core/logging.h"
#include "framework/core/random.h"
#include "framework/core/threads.h"
#include "framework/graph/cpu_instructions.h"

namespace cornu {
namespace {

// Names of the conditions in a state.
constexpr const char* kComputeThreads = "compute_threads";
constexpr const char* kLibraryVersion = "version";
constexpr const char* kInstructionSets = "instruction_sets";

// `before` and `after` make a phrase of its value. States of earlier versions lack some conditions.
void warn_of_other(const RunState& state, const char* condition, const Json& now,
                   std::string_view before, std::string_view after = "") {
  const Json* then = state.info.find(condition);
  if (!then || *then == now) return;
  const auto told = [&](const Json& value) {
    return fmt::format("{}{}{}", before, value.is_string() ? value.as_string() : value.dump(),
                       after);
  };
  logging::warn(
      fmt::format("The saved run computed {}, this one does {}: its last bits may differ.",
                  told(*then), told(now)));
}

}  // namespace

void save_conditions(RunState& state) {
  const SeedSequence seeds = seed_sequence();
  state.info.set(
      "seeds", Json::array({static_cast<int64_t>(seeds.seed), static_cast<int64_t>(seeds.drawn)}));
  state.info.set(kComputeThreads, static_cast<int64_t>(compute_threads()));
  state.info.set(kLibraryVersion, CORNU_VERSION);
  state.info.set(kInstructionSets, cpu_instruction_sets());
}

void restore_seeds(const RunState& state) {
  const Json& seeds = state.info.at("seeds");
  restore_seed_sequence(
      {static_cast<uint64_t>(seeds[0].as_int()), static_cast<uint64_t>(seeds[1].as_int())});
}

void warn_of_other_conditions(const RunState& state) {
  warn_of_other(state, kComputeThreads, static_cast<int64_t>(compute_threads()), "on ", " threads");
  warn_of_other(state, kLibraryVersion, CORNU_VERSION, "with Cornu ");
  warn_of_other(state, kInstructionSets, cpu_instruction_sets(), "on a CPU with ");
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
                  "continues with {}, as saved.",
                  then, now.seed, then));
}

}  // namespace cornu
