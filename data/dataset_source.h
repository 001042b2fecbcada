// SPDX-License-Identifier: Apache-2.0
// Datasets as what training consumes.
#pragma once

#include <memory>

#include "data/node.h"
#include "framework/strategy/batch_source.h"

namespace cornu::data {

// Elements of one component become x, of two (x, y), of three (x, y, sample_weight).
// InvalidArgument, with the element's spec, for others. Passes are counted with the dataset's own,
// also those of shards: a second `fit` doesn't shuffle as the first one did.
std::shared_ptr<BatchSource> make_batch_source(NodePtr node);

}  // namespace cornu::data
