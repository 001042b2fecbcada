// SPDX-License-Identifier: Apache-2.0
// Models with string inputs. Compiled graphs can't hold strings, so the outputs of weightless
// layers that read strings are computed before a step, which is then compiled like any other. Where
// this isn't possible, the step runs op by op.
#pragma once

#include "framework/strategy/batch_source.h"
#include "framework/train/model.h"

namespace cornu {

bool has_strings(const Tensors& tensors);

// Throws InvalidArgument, naming the column, if labels or weights are strings.
void require_numbers_beside_x(const Batch& batch);

// Returns a step's inputs with strings replaced by numbers, as far as possible. Builds the model if
// necessary. `training` is passed to the layers that read strings.
Tensors without_strings(Model& model, const Tensors& x, bool training);

// Throws InvalidArgument if a step that reads strings itself would run on several replicas.
void require_single_replica(const Model& model, const Tensors& x);

}  // namespace cornu
