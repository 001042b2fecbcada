// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/kernels/elementwise/program.h"

namespace cornu::cpu {
void register_elementwise_kernels(KernelTable& table) {
  for (const std::string_view name : tile_op_names()) table.add(name, TileProgram::make);
  table.add("cast", TileProgram::make);
  table.add("fused", TileProgram::make);
}

}  // namespace cornu::cpu
