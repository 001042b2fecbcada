// SPDX-License-Identifier: Apache-2.0
// The CUDA files of this folder, embedded into the library as text by the build.
#pragma once

#include <string_view>

namespace cornu::cuda {

// Returns the text of a file, by its path relative to this folder: "kernels/reduction/rows.cu".
// Throws Internal for an unknown file.
std::string_view source(std::string_view file);

}  // namespace cornu::cuda
