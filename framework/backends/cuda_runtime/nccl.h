// SPDX-License-Identifier: Apache-2.0
// Communication between GPUs by NCCL, which is loaded when it is first asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "framework/backends/cuda/device_collectives.h"
#include "framework/backends/cuda_runtime/driver.h"

namespace cornu::cuda {

// A rank for each GPU of this process.
std::vector<std::unique_ptr<DeviceCollectives>> make_nccl(std::span<Gpu* const> gpus);

// One rank among several processes'; waits for the others.
std::unique_ptr<DeviceCollectives> make_nccl(int rank, int size, std::span<const std::byte> id,
                                             Gpu& gpu);

std::vector<std::byte> make_nccl_id();

// "NCCL 2.28.9", or "no NCCL".
std::string nccl_version_text();

}  // namespace cornu::cuda
