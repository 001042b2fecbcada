// SPDX-License-Identifier: Apache-2.0
// Groups of simulated GPUs that span several processes. A GPU's contribution to a call is sent when
// its stream reaches the call: either because its host waits for it, or because another GPU has
// reached the call, since GPUs make progress independently of their hosts. A process that has died
// contributes nothing more, and the others aren't notified.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "tests/support/cuda/memory.h"

namespace cornu::cuda::simulated {

// For the process whose GPUs have the first ranks; the other processes use the id to connect to it.
std::vector<std::byte> make_group_id();

// Like Runtime::make_collectives, but supports reductions only. `memory` must outlive the result.
std::vector<std::unique_ptr<DeviceCollectives>> make_process_collectives(
    std::span<const int> gpus, int first, int size, std::span<const std::byte> id,
    const std::function<void()>& look, const Memory& memory);

}  // namespace cornu::cuda::simulated
