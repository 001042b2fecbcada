// SPDX-License-Identifier: Apache-2.0
// The kernels of "scan" and "while": a program for the body, run turn by turn where its operands
// lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "framework/backends/cpu/program.h"

namespace cornu::cpu {

// What the loops of this thread have done so far. A loop's body writes the next value of a carry
// into other memory than it reads the old one from, and a result right into its slice of the stack;
// what is copied besides is counted.
struct LoopCounts {
  int64_t turns = 0;
  int64_t copied_bytes = 0;
};
LoopCounts loop_counts();

// The program of a graph among a node's attributes.
std::unique_ptr<Program> make_program(const Attributes& attributes, std::string_view name);

void register_loop_kernels(KernelTable& table);  // scan, while

}  // namespace cornu::cpu
