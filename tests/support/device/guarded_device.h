// SPDX-License-Identifier: Apache-2.0
// Devices for tests whose memory the host can't read: whoever takes a device's address for one of
// its own crashes there.
#pragma once

#include <string>

#include "framework/graph/backend.h"

namespace cornu::test {

// Devices of type GPU, by default, since programs then name them as they name real ones. Their
// memory is one heap that is mapped twice: where tensors say that it lies nobody may read or write;
// the backend's own copies and kernels, which are the CPU's, work on the other mapping.
Backend& guarded_backend();

// Registers so many of them, once a process. `type`: as if they were another backend's.
void register_guarded_devices(int count = 2, DeviceType type = DeviceType::Gpu);

// Registers five, and makes one of them ("GPU:0") the default device.
void use_guarded_device(const std::string& name);

}  // namespace cornu::test
