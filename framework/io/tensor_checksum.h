// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "framework/core/tensor.h"

namespace cornu {

// A checksum of a tensor's values, to distinguish tensors of the same type and shape: "crc32c
// 1f09ab3e". Doesn't copy data that is on the host.
std::string checksum_of_values(const Tensor& tensor);

}  // namespace cornu
