// SPDX-License-Identifier: Apache-2.0
// Groups of simulated GPUs of several processes. What a GPU gives to a call is sent when its stream
// comes to it: when its host waits for that, or when another GPU has come to the call, since GPUs
// go on whatever their hosts do. A process that is gone gives nothing more, and nobody is told.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "tests/support/cuda/memory.h"

namespace cornu::cuda::simulated {

// For the process whose GPUs have the first ranks: the others reach it by this.
std::vector<std::byte> make_group_id();

// As Runtime::make_collectives; reductions alone. `memory` outlives them.
std::vector<std::unique_ptr<DeviceCollectives>> make_process_collectives(
    std::span<const int> gpus, int first, int size, std::span<const std::byte> id,
    const std::function<void()>& look, const Memory& memory);

}  // namespace cornu::cuda::simulated
