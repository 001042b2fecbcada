// SPDX-License-Identifier: Apache-2.0
// How Keras's configs describe the calls of layers.
#pragma once

#include <cstdint>

#include "framework/model/layer.h"

namespace cornu {

// A member of a call that Keras ignores: the call's `training` was explicit, though it has the
// value that Keras writes as a default.
inline constexpr char kGivenTraining[] = "training_was_given";

// In input_layers and output_layers, Keras counts the calls of a nested functional model from 1.
int64_t first_call(const Layer& layer);

// Whether `training` in a file written by Keras was given to the call. If the class's own call has
// a default for it, Keras writes that default, which means that the model's flag is used.
bool says_training(const Layer& layer, bool training);

}  // namespace cornu
