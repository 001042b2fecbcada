// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "framework/core/dtype.h"

namespace cornu {

// A layer that requires a particular input dtype. A Sequential model without an Input uses this
// dtype for the Input that it creates; for other layers it is float32.
class HasInputDType {
 public:
  virtual ~HasInputDType() = default;
  virtual DType input_dtype() const = 0;
};

}  // namespace cornu
