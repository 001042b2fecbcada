// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/tensor.h"
#include "framework/strategy/strategy.h"

namespace cornu {

// What each worker gives, by worker; types and shapes may differ, and those that have nothing give
// an undefined tensor. All workers call it together, as StrategyImpl::exchange. Unimplemented for
// strings, which the others are told.
std::vector<Tensor> exchange_tensors(StrategyImpl& strategy, const Tensor& own,
                                     const std::string& what);

// Workers give values of several types, where they must be of one.
class ValuesDiffer : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

// One value of those that workers have; not all need have one. Of a mean the sum. ValuesDiffer;
// InvalidArgument where none has a value.
Tensor reduce_over_workers(StrategyImpl& strategy, ReduceOp op, const Tensor& own,
                           const std::string& what);

}  // namespace cornu
