// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "framework/core/tensor.h"
#include "framework/strategy/strategy.h"

namespace cornu {

// What each worker gives, by worker; types and shapes may differ. All workers call it together, as
// StrategyImpl::exchange. Unimplemented for strings.
std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own);

}  // namespace cornu
