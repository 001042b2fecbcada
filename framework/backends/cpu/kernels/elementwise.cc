// SPDX-License-Identifier: Apache-2.0
#include "cornu/backends/cpu/kernels/elementwise_program.h"

namespace cornu::cpu {
namespace {

std::vector<std::pair<int, int>> aliases(const KernelSpec& spec) {
  const auto program = TileProgram::make(spec);
  return program ? program->plan().aliases : std::vector<std::pair<int, int>>();
}

}  // namespace

void register_elementwise_kernels(KernelTable& table) {
  for (const std::string_view name : tile_op_names()) table.add(name, TileProgram::make, aliases);
  table.add("cast", TileProgram::make, aliases);
  table.add("fused", TileProgram::make, aliases);
}

}  // namespace cornu::cpu
