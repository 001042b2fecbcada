// SPDX-License-Identifier: Apache-2.0
// What MultiWorkerMirroredStrategy makes of its options.
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

// InvalidArgument for those that can't be.
void require_valid(const CommunicationOptions& options);
std::chrono::milliseconds timeout_of(const CommunicationOptions& options);
// None: as long as it takes. InvalidArgument for one that can't be, in the options or the
// environment.
std::optional<std::chrono::milliseconds> join_timeout_of(
    const MultiWorkerMirroredStrategyOptions& options);
// InvalidArgument for a name that nothing was registered by.
Communication implementation_of(const CommunicationOptions& options);
// Whether all of these types of devices, as workers have said them, are this one.
bool all_have(const std::vector<std::string>& types, DeviceType type);
// For several workers: whether their GPUs, where all have some, are to be connected by their own
// library, which doesn't encrypt.
bool prefers_devices(const CommunicationImplementation& asked, bool over_tls);
// Where NCCL was asked for, a warning of what it can't do here.
void warn_of_nccl(const CommunicationImplementation& asked, bool have_gpus, bool are_connected,
                  bool over_tls);
// What all workers must have alike. `place`: which of the program's strategies this is, from 1 on.
Json facts_of(const CommunicationOptions& options, int replicas, int place);

}  // namespace cornu::distribute
