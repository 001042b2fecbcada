// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cuda/libraries.h"

namespace cornu::cuda::simulated {

std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const MatmulSpec&) { return nullptr; }
std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const ConvSpec&) { return nullptr; }
std::shared_ptr<SimulatedLibraryKernel> make_library_kernel(const AttentionSpec&) { return nullptr; }

}  // namespace cornu::cuda::simulated
