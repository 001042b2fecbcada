// SPDX-License-Identifier: Apache-2.0
// Communication between GPUs by NCCL, which is loaded when it is first asked for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "framework/backends/cuda_runtime/driver.h"

namespace cornu::cuda {

// A rank for each GPU of this process.
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus);

// The same among several processes': these have the ranks from `first` on, of `size`. Waits for the
// others, and calls `look` meanwhile, which throws to give up.
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus, int first,
                                                          int size, std::span<const std::byte> id,
                                                          const std::function<void()>& look);

std::vector<std::byte> make_nccl_id();

// "NCCL 2.28.9". FailedPrecondition where it can't be loaded.
std::string nccl_version();
// The same, or "no NCCL".
std::string nccl_version_text();

}  // namespace cornu::cuda
