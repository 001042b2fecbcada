// SPDX-License-Identifier: Apache-2.0
// Reductions over the replicas that run one program.
#include <numeric>

#include "framework/backends/xla/lowering.h"

namespace cornu::xla {
namespace {

std::string_view joins(ReduceOp op) {
  switch (op) {
    case ReduceOp::Min:
      return "minimum";
    case ReduceOp::Max:
      return "maximum";
    default:
      return "add";
  }
}

// "dense<[[0, 1]]> : tensor<1x2xi64>": all replicas are one group.
std::string all_replicas(int replicas) {
  std::vector<int> numbers(static_cast<size_t>(replicas));
  std::iota(numbers.begin(), numbers.end(), 0);
  return fmt::format("dense<[[{}]]> : tensor<1x{}xi64>", fmt::join(numbers, ", "), replicas);
}

// 16-bit floats are summed in float32.
Values lower_all_reduce(const KernelSpec& spec, std::span<const Value> in, Writer& to) {
  if (to.replicas == 1) return {in.begin(), in.end()};
  const ReduceOp op = reduce_op_of(spec);
  Values results;
  for (const Value& x : in) {
    const DType wide = is_half(x.dtype()) ? DType::Float32 : x.dtype();
    const Value operand = convert(to, x, wide);
    Value sum = reduce_replicas(to, joins(op), operand);
    if (op == ReduceOp::Mean) sum = divide(to, sum, splat_int(to, to.replicas, sum.type));
    results.push_back(convert(to, sum, x.dtype()));
  }
  return results;
}

}  // namespace

Value reduce_replicas(Writer& to, std::string_view op, const Value& x) {
  return to.op("stablehlo.all_reduce", {x}, x.type, "replica_groups = " + all_replicas(to.replicas),
               to.reducer(op, x.dtype()));
}

void register_collectives(LoweringTable& table) { table.add("all_reduce", lower_all_reduce); }

}  // namespace cornu::xla
