// SPDX-License-Identifier: Apache-2.0
// The backend of devices that a PJRT plugin serves.
#pragma once

#include "framework/backends/xla/client.h"
#include "framework/graph/backend.h"

namespace cornu::xla {

// That of the client's devices, TPU:0 and up; both are never destroyed.
Backend& xla_backend(Client& client);

}  // namespace cornu::xla
