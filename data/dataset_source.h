// SPDX-License-Identifier: Apache-2.0
// Adapts datasets to the BatchSource interface used by training.
#pragma once

#include <memory>

#include "data/node.h"
#include "framework/strategy/batch_source.h"

namespace cornu::data {

// Elements with one component become x, with two (x, y), with three (x, y, sample_weight); throws
// InvalidArgument, with the element's spec, for others. Passes are counted together with the
// dataset's own, also for shards, so that a second `fit` shuffles differently from the first.
std::shared_ptr<BatchSource> make_batch_source(NodePtr node);

}  // namespace cornu::data
