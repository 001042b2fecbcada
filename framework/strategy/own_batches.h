// SPDX-License-Identifier: Apache-2.0
// Sources of which each worker has its own.
#pragma once

#include <memory>

#include "framework/strategy/batch_source.h"

namespace cornu {

class StrategyImpl;

namespace distribute {

// An additional base of sources that each worker may have entirely for itself.
class OfEachWorker {
 public:
  virtual ~OfEachWorker() = default;
  virtual bool is_each_workers_own() const = 0;
};

// Returns this worker's `source` with as many batches as that of the worker with the most batches:
// a worker that has run out yields batches without rows. All workers must take batches together;
// they learn the number only at the end.
std::shared_ptr<BatchSource> make_own_batches(std::shared_ptr<StrategyImpl> strategy,
                                              std::shared_ptr<BatchSource> source);

}  // namespace distribute
}  // namespace cornu
