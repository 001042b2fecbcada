// SPDX-License-Identifier: Apache-2.0
// Communication between GPUs by NCCL, which is loaded on first use.
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

// Makes one rank for each GPU of this process.
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus);

// Like above, for a group of several processes: these GPUs have the ranks starting at `first`, out
// of `size`. Waits for the other processes, and calls `look` meanwhile, which throws to give up.
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus, int first,
                                                          int size, std::span<const std::byte> id,
                                                          const std::function<void()>& look);

std::vector<std::byte> make_nccl_id();

// "NCCL 2.28.9". Throws FailedPrecondition when it can't be loaded.
std::string nccl_version();
// Like nccl_version(), but returns "no NCCL" instead of throwing.
std::string nccl_version_text();

}  // namespace cornu::cuda
