// SPDX-License-Identifier: Apache-2.0
// Sources of which each worker has its own.
#pragma once

#include <memory>

#include "framework/strategy/batch_source.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// What a source is, too, if it may be one that each worker has for itself as a whole.
class OfEachWorker {
 public:
  virtual ~OfEachWorker() = default;
  virtual bool is_each_workers_own() const = 0;
};

// This worker's `source`, of as many batches as that of the worker which has most of them: who has
// run out gives batches of no rows. All workers take them together; how many there are, they know
// at the end.
std::shared_ptr<BatchSource> make_own_batches(std::shared_ptr<StrategyImpl> strategy,
                                              std::shared_ptr<BatchSource> source);

}  // namespace distribute
}  // namespace cornu
