// SPDX-License-Identifier: Apache-2.0
// Trade-offs between speed and precision or determinism (tf.config.experimental).
#pragma once

namespace cornu::config {

// Whether float32 matrix products and convolutions may round their operands to TensorFloat-32 (10
// bits of significand) on GPUs that support it, which is several times as fast. Off by default,
// unlike in TensorFlow. Doesn't affect functions that are already compiled. Thread-safe.
void enable_tensor_float_32_execution(bool enabled);
bool tensor_float_32_execution_enabled();

// Whether the same inputs give the same bits on every run. On by default; turning it off lets GPU
// libraries choose algorithms that add in whatever order threads arrive. Doesn't affect functions
// that are already compiled. Thread-safe.
void enable_op_determinism(bool enabled = true);
bool op_determinism_enabled();

}  // namespace cornu::config
