// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cornu {

// The instruction sets chosen by the CPU kernels and by oneDNN. With others, the last bits of
// results may differ.
std::string cpu_instruction_sets();

}  // namespace cornu
