// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/sources.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "framework/core/error.h"

namespace cornu::cuda {

std::string_view source(std::string_view file) {
  static constexpr std::pair<std::string_view, std::string_view> kFiles[] = {
#include <cuda_files.inc>
  };
  const auto* found = std::find_if(std::begin(kFiles), std::end(kFiles),
                                   [&](const auto& entry) { return entry.first == file; });
  check<Internal>(found != std::end(kFiles), "The CUDA backend has no file '{}'.", file);
  return found->second;
}

}  // namespace cornu::cuda
