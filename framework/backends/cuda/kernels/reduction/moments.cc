// SPDX-License-Identifier: Apache-2.0
// column_moments: the sum of each column, and the sum of its squared deviations from the mean, in a
// single pass over x.

#include "framework/backends/cuda/kernels/reduction/column_blocks.h"
#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

void join_moments(const std::string& text, const std::string& type, const ColumnBlocks& blocks,
                  Slot means, Slot squares, Lowering& lowering) {
  lowering.launch_text("moments_join",
                       text + define("S", type) + define("TX", ColumnBlocks::kPartColumns) +
                           std::string(source("kernels/reduction/moments_join.cu")),
                       blocks_for(blocks.columns, ColumnBlocks::kPartColumns),
                       {ColumnBlocks::kThreads},
                       {in(0), means, squares, out(0), out(1), blocks.row_blocks, blocks.rows,
                        blocks.columns, blocks.rows_each});
}

bool lower_moments(const KernelSpec& spec, Lowering& lowering) {
  const TensorType& x = spec.inputs[0];
  const DType computed = spec.outputs[0].dtype;
  const int64_t columns = spec.outputs[0].shape.num_elements();
  const int64_t lanes = lanes_for(size_of(x.dtype), {columns});
  const ColumnBlocks blocks(x.shape.num_elements() / columns, columns, lanes);
  const std::string text =
      define("C", type_name(computed)) + std::string(source("kernels/reduction/moments_of.cu"));
  const auto bytes = static_cast<size_t>(blocks.row_blocks * columns) * size_of(computed);
  const Slot means = lowering.scratch(bytes);
  const Slot squares = lowering.scratch(bytes);
  lowering.launch_text(
      "moments",
      text + define_index(x.shape.num_elements() + blocks.rows_each * columns) +
          define_vector(type_name(x.dtype), lanes) + define("TX", fmt::to_string(blocks.across)) +
          std::string(source("kernels/reduction/moments.cu")),
      {static_cast<uint32_t>(blocks.column_blocks), static_cast<uint32_t>(blocks.row_blocks)},
      {ColumnBlocks::kThreads}, {in(0), means, squares, blocks.rows, columns, blocks.rows_each});
  join_moments(text, type_name(x.dtype), blocks, means, squares, lowering);
  return true;
}

}  // namespace

void register_moments(LoweringTable& table) { table.add("column_moments", lower_moments); }

}  // namespace cornu::cuda
