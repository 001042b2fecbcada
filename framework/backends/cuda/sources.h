// SPDX-License-Identifier: Apache-2.0
// The CUDA files of this folder, which the build puts into the library as text.
#pragma once

#include <string_view>

namespace cornu::cuda {

// The text of a file, by its path from this folder: "kernels/reduction/rows.cu". Internal for an
// unknown one.
std::string_view source(std::string_view file);

}  // namespace cornu::cuda
