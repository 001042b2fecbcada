// SPDX-License-Identifier: Apache-2.0
// Kernels that run a program once per iteration, with operands in place: those of "scan" and
// "while", and of "update_rows".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "framework/backends/cpu/program.h"

namespace cornu::cpu {

// Statistics of the loops that this thread has run. A loop's body writes the next value of a carry
// to different memory than the old one's, and a result directly to its slice of the stack; all
// other copies are counted.
struct LoopCounts {
  int64_t iterations = 0;
  int64_t copied_bytes = 0;
};
LoopCounts loop_counts();

// The program of a graph among a node's attributes.
std::unique_ptr<Program> make_program(const Attributes& attributes, std::string_view name);

void register_loop_kernels(KernelTable& table);    // scan, while
void register_update_kernels(KernelTable& table);  // update_rows

}  // namespace cornu::cpu
