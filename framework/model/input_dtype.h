// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/core/dtype.h"

namespace cornu {

// A layer whose input is of a dtype of its own, which the Input has that a Sequential model without
// one makes for it; that of others is float32.
class HasInputDType {
 public:
  virtual ~HasInputDType() = default;
  virtual DType input_dtype() const = 0;
};

}  // namespace cornu
