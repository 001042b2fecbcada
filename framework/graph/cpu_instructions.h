// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace cornu {

// The instructions that the CPU's kernels choose, and oneDNN's: on others, the last bits of what
// they compute may be others.
std::string cpu_instruction_sets();

}  // namespace cornu
