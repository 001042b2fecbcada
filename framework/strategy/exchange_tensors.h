// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "framework/core/tensor.h"
#include "framework/strategy/strategy.h"

namespace cornu {

// What each worker gives, by worker; types and shapes may differ. All workers call it together, as
// StrategyImpl::exchange. Unimplemented for strings.
std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own);

// A seed that all workers have: worker 0's next one. None with a single worker.
std::optional<uint64_t> agreed_seed(StrategyImpl& strategy);

}  // namespace cornu
