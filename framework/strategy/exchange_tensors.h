// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/tensor.h"
#include "framework/strategy/strategy.h"

namespace cornu {

// Returns each worker's tensor, by worker; types and shapes may differ, and workers that have
// nothing pass an undefined tensor. All workers must call it together, like StrategyImpl::exchange.
// Throws Unimplemented for strings, and the other workers are notified.
std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own,
                                     const std::string& what);

// Thrown when workers pass values of several types that must be the same.
class ValuesDiffer : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// Reduces the workers' values to one; some workers may have none. For a mean, returns the sum.
// Throws ValuesDiffer, and InvalidArgument when no worker has a value.
Tensor reduce_over_workers(StrategyImpl& strategy, ReduceOp op, const Tensor& own,
                           const std::string& what);

}  // namespace cornu
