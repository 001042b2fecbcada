// SPDX-License-Identifier: Apache-2.0
// Models that read strings. Graphs are of numbers: what layers without weights make of strings is
// computed before a step, which is then compiled as any other. Where that can't be, the step runs
// op by op.
#pragma once

#include "framework/strategy/batch_source.h"
#include "framework/train/model.h"

namespace cornu {

bool has_strings(const Tensors& tensors);

// InvalidArgument, naming the column, where labels or weights are strings.
void require_numbers_beside_x(const Batch& batch);

// The inputs of a step with numbers in place of strings, as far as that can be. Builds a model that
// isn't. `training`: what the layers that read strings are told.
Tensors without_strings(Model& model, const Tensors& x, bool training);

// InvalidArgument where a step that reads strings itself would run on several replicas.
void require_single_replica(const Model& model, const Tensors& x);

}  // namespace cornu
