// SPDX-License-Identifier: Apache-2.0
// Kernels that run a program once per iteration, with operands in place: those of "scan" and
// "while", and for rows, of "update_rows" and "row_blocks".
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/backends/cpu/passes/batch_rows.h"
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

// A kernel's operands and results from some row on, by input and output of its body.
class RowPointers {
 public:
  explicit RowPointers(const BatchRows& rows);

  void bind(const KernelArgs& args, int64_t first_row);
  const void* const* in() const { return in_.data(); }
  void* const* out() const { return out_.data(); }
  size_t inputs() const { return in_.size(); }
  size_t outputs() const { return out_.size(); }

 private:
  std::vector<size_t> in_row_bytes_, out_row_bytes_;  // 0 where all rows have the same
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

void register_loop_kernels(KernelTable& table);         // scan, while
void register_row_program_kernels(KernelTable& table);  // update_rows, row_blocks

}  // namespace cornu::cpu
