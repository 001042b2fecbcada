// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/passes/update_rows.h"

#include "framework/backends/cpu/kernels/reduce_rows.h"
#include "framework/backends/cpu/passes/passes.h"

namespace cornu::cpu {

Graph update_rows(const Graph& graph) {
  return passes::update_rows(graph, {.is_exchanged_by_rows = is_exchanged_by_rows});
}

}  // namespace cornu::cpu
