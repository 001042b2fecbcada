// SPDX-License-Identifier: Apache-2.0
// How devices may compute where that is a matter of taste (tf.config.experimental).
#pragma once

namespace cornu::config {

// Whether products of float32 matrices and convolutions may round their operands to TensorFloat-32
// (10 bits of significand) on GPUs that have it: several times as fast. Off unless it is turned on;
// TensorFlow's default is on. Functions that are compiled already stay as they are. Thread-safe.
void enable_tensor_float_32_execution(bool enabled);
bool tensor_float_32_execution_enabled();

// Whether the same inputs give the same bits, run after run. On unless it is turned off, which lets
// GPU libraries choose algorithms that add in the order in which threads happen to come.
// Functions that are compiled already stay as they are. Thread-safe.
void enable_op_determinism(bool enabled = true);
bool op_determinism_enabled();

}  // namespace cornu::config
