// SPDX-License-Identifier: Apache-2.0
// Tile programs: elementwise computations of any number of operations, in one pass over memory.
//
// The output is divided into tiles that fit the first-level cache; on each, the tile functions run
// one after the other. Operands of the full shape are read in place, and outputs are written by the
// instruction that computes them. Scalars are read with step 0. Other broadcast operands are
// copied: once per thread where they are periodic ((rows, n) + (n)), as a scalar once per row where
// they are constant along long rows ((rows, n) + (rows, 1)), else for each tile that differs from
// the one before. Values that depend only on such operands are computed as rarely as they change.
//
// Sums over all elements, or of each column, are computed in the same pass: a thread adds tile to
// tile, and adds up these running sums after each block of tiles; blocks are added in pairs at the
// end.
#pragma once

#include <memory>

#include "framework/backends/cpu/kernels/elementwise/plan.h"

namespace cornu::cpu {

class TileProgram : public Kernel {
 public:
  // Null when the spec has an op without a tile function, or arrays of several shapes as outputs.
  static std::unique_ptr<TileProgram> make(const KernelSpec& spec);

  void run(const KernelArgs& args) override;
  size_t scratch_bytes() const override { return partials_ + plan_.partial_bytes; }

 private:
  TileProgram(const KernelSpec& spec, TileCode code);

  const std::byte* data(const TilePlan::Operand& operand, const KernelArgs& args) const;
  void prepare(const KernelArgs& args, TileOperand* slots) const;
  void run_part(const KernelArgs& args, const TileOperand* shared, int64_t begin,
                int64_t end) const;
  void start_part(const KernelArgs& args, std::byte* memory, TileOperand* slots) const;
  void point_to_arrays(const KernelArgs& args, TileOperand* slots) const;
  void run_items(const KernelArgs& args, std::byte* memory, TileOperand* slots, int64_t begin,
                 int64_t end) const;
  void run_block(const KernelArgs& args, std::byte* memory, TileOperand* slots,
                 int64_t block) const;
  void join_blocks(const KernelArgs& args) const;
  std::byte* partials(const KernelArgs& args, const TilePlan::Sum& sum, int64_t block) const;
  void start_rows(const KernelArgs& args, int64_t row, int64_t rows, std::byte* memory,
                  TileOperand* slots) const;
  void run_tiles(const KernelArgs& args, std::byte* memory, TileOperand* slots, int64_t begin,
                 int64_t end) const;
  void run_rows(const KernelArgs& args, std::byte* memory, TileOperand* slots, int64_t begin,
                int64_t end) const;

  TileCode code_;  // holds the constants
  BroadcastLayout layout_;
  TilePlan plan_;
  size_t table_bytes_;  // of the operand table
  size_t partials_;     // offset of the blocks' sums in scratch memory
};

}  // namespace cornu::cpu
