// SPDX-License-Identifier: Apache-2.0
// Interprets the options of MultiWorkerMirroredStrategy.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "distribute/collectives/collectives.h"
#include "distribute/strategies/multi_worker_mirrored.h"
#include "framework/core/json.h"

namespace cornu::distribute {

inline constexpr char kMultiWorkerMirrored[] = "MultiWorkerMirroredStrategy";

// Throws InvalidArgument for invalid options.
void require_valid(const CommunicationOptions& options);
std::chrono::milliseconds timeout_of(const CommunicationOptions& options);
// nullopt: no limit. Throws InvalidArgument for an invalid timeout in the options or the
// environment.
std::optional<std::chrono::milliseconds> join_timeout_of(
    const MultiWorkerMirroredStrategyOptions& options);
// Throws InvalidArgument for a name that isn't registered.
Communication implementation_of(const CommunicationOptions& options);
// Whether all device types, as reported by the workers, are this one.
bool all_have(const std::vector<std::string>& types, DeviceType type);
// For several workers: whether their GPUs, if all have some, should be connected by their own
// library, which doesn't encrypt.
bool prefers_devices(const CommunicationImplementation& asked, bool over_tls);
// If NCCL was requested, warns about what it can't do here.
void warn_of_nccl(const CommunicationImplementation& asked, bool have_gpus, bool are_connected,
                  bool over_tls);
// What must be the same for all workers. `place`: number of this strategy within the program,
// starting at 1.
Json facts_of(const CommunicationOptions& options, int replicas, int place);

}  // namespace cornu::distribute
