// SPDX-License-Identifier: Apache-2.0
// Tile programs: elementwise computations of any number of operations, in one pass over memory.
//
// The output is walked in tiles that fit the first-level cache; on each, one tile function after
// the other runs. Operands of the full shape are read where they lie, and outputs written by the
// instruction that makes them. Scalars are read with step 0. Other broadcast operands are copied
// into place: once a thread where they are periodic ((rows, n) + (n)), as a scalar once a row where
// they are constant along long rows ((rows, n) + (rows, 1)), else tile by tile. What depends on
// such operands alone is computed as rarely as they change.
#pragma once

#include <memory>

#include "framework/backends/cpu/kernels/elementwise/plan.h"

namespace cornu::cpu {

class TileProgram : public Kernel {
 public:
  // Null when the spec has an op without a tile function, or outputs of several shapes.
  static std::unique_ptr<TileProgram> make(const KernelSpec& spec);

  void run(const KernelArgs& args) override;
  size_t scratch_bytes() const override { return table_bytes_ + plan_.run_bytes; }

 private:
  TileProgram(const KernelSpec& spec, TileCode code);

  const std::byte* data(const TilePlan::Operand& operand, const KernelArgs& args) const;
  void prepare(const KernelArgs& args, TileOperand* slots) const;
  void run_part(const KernelArgs& args, const TileOperand* shared, int64_t begin,
                int64_t end) const;
  void start_part(const KernelArgs& args, std::byte* memory, TileOperand* slots) const;
  void start_row(const KernelArgs& args, int64_t row, std::byte* memory, TileOperand* slots) const;
  void run_tiles(const KernelArgs& args, std::byte* memory, TileOperand* slots, int64_t begin,
                 int64_t end) const;
  void run_rows(const KernelArgs& args, std::byte* memory, TileOperand* slots, int64_t begin,
                int64_t end) const;

  TileCode code_;  // holds the constants
  BroadcastLayout layout_;
  TilePlan plan_;
  size_t table_bytes_;  // of the operand table
};

}  // namespace cornu::cpu
