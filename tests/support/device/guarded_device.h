// SPDX-License-Identifier: Apache-2.0
// Test devices whose memory the host can't read: code that mistakes a device address for a host
// address crashes where it does so.
#pragma once

#include <string>

#include "framework/graph/backend.h"

namespace cornu::test {

// These devices have the type GPU by default, since programs then name them like real ones. Their
// memory is one heap that is mapped twice: the addresses that tensors hold can't be read or
// written; the backend's own copies and kernels, which are the CPU's, use the other mapping.
Backend& guarded_backend();

// Registers `count` devices, at most once per process. `type` makes them look like another
// backend's.
void register_guarded_devices(int count = 2, DeviceType type = DeviceType::Gpu);

// Registers five devices, and makes one of them ("GPU:0") the default device.
void use_guarded_device(const std::string& name);

}  // namespace cornu::test
