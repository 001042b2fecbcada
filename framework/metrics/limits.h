// SPDX-License-Identifier: Apache-2.0
// Limits on the sizes of metrics' state. Internal to metrics.
#pragma once

#include <cstdint>

namespace cornu::metrics {

inline constexpr int64_t kMaxThresholds = int64_t{1} << 20;

}  // namespace cornu::metrics
