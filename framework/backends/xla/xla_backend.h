// SPDX-License-Identifier: Apache-2.0
// The backend of devices served by a PJRT plugin.
#pragma once

#include "framework/backends/xla/client.h"
#include "framework/graph/backend.h"

namespace cornu::xla {

// The backend of the client's devices, TPU:0 and up; neither is ever destroyed.
Backend& xla_backend(Client& client);

}  // namespace cornu::xla
