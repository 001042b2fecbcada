// SPDX-License-Identifier: Apache-2.0
// What kernels of every backend say of values that ops refuse.
#pragma once

#include <cstdint>
#include <string>

#include "framework/core/shape.h"

namespace cornu {

// InvalidArgument: a label of sparse_softmax_cross_entropy that is no class of the logits.
[[noreturn]] void refuse_label(const std::string& label, int64_t row, const Shape& logits);

}  // namespace cornu
