// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/execution_config.h"

#include <atomic>

namespace cornu::config {
namespace {

std::atomic<bool> tensor_float_32 = false;
std::atomic<bool> deterministic = true;

}  // namespace

void enable_tensor_float_32_execution(bool enabled) { tensor_float_32 = enabled; }
bool tensor_float_32_execution_enabled() { return tensor_float_32; }

void enable_op_determinism(bool enabled) { deterministic = enabled; }
bool op_determinism_enabled() { return deterministic; }

}  // namespace cornu::config
