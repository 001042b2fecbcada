// SPDX-License-Identifier: Apache-2.0
// Convolutions by a library, whose filters have a different layout than the graph's.
#include <algorithm>

#include "framework/backends/cuda/kernels/conv/conv.h"

namespace cornu::cuda {

using Direction = ConvSpec::Direction;

bool add_library_conv(const ConvProblem& problem, Lowering& lowering) {
  const auto prepare = [&](const ConvSpec& spec) { return lowering.prepare(spec); };
  ConvSpec fused = problem.library;
  fused.bias = problem.epilogue.bias.has_value();
  fused.residual = problem.epilogue.residual.has_value();
  fused.relu = problem.epilogue.relu;
  auto kernel = prepare(fused);
  const bool is_whole = kernel != nullptr;
  if (!is_whole && !problem.epilogue.empty()) kernel = prepare(problem.library);
  if (!kernel) return false;
  const int64_t rows = problem.filter_elements() / problem.filters;
  const bool lies_right = rows == 1 || problem.filters == 1;
  const auto scratch = [&] {
    const auto elements = static_cast<size_t>(problem.filter_elements());
    return lowering.scratch(elements * size_of(problem.dtype()));
  };
  const auto transpose = [&](Slot from, Slot to, int64_t down, int64_t across) {
    add_transposition({problem.dtype(), {down, across}}, from, to, lowering);
  };
  if (problem.is(Direction::FilterGradient)) {
    const Slot filter = lies_right ? out(0) : scratch();
    lowering.call(kernel, {in(0), in(1), filter});
    if (!lies_right) transpose(filter, out(0), problem.filters, rows);
    return true;
  }
  const Slot filter = lies_right ? in(1) : scratch();
  if (!lies_right) transpose(in(1), filter, rows, problem.filters);
  std::vector<Slot> operands = {in(0), filter, out(0)};
  if (is_whole) {
    if (problem.epilogue.bias) operands.push_back(*problem.epilogue.bias);
    if (problem.epilogue.residual) operands.push_back(*problem.epilogue.residual);
  }
  lowering.call(kernel, std::move(operands));
  if (!is_whole) {
    apply_epilogue(problem.epilogue, problem.dtype(), out(0), problem.outputs(), problem.filters,
                   lowering);
  }
  return true;
}

}  // namespace cornu::cuda
