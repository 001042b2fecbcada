// SPDX-License-Identifier: Apache-2.0
// Collectives: what they do is up to the group that a run is given.
#include <cstring>
#include <map>
#include <string>

#include "framework/backends/cpu/kernel.h"

namespace cornu::cpu {
namespace {

ReduceOp reduce_op(const std::string& name) {
  if (name == "sum") return ReduceOp::Sum;
  if (name == "mean") return ReduceOp::Mean;
  if (name == "min") return ReduceOp::Min;
  check<InvalidArgument>(
      name == "max", "all_reduce: expected reduce to be sum, mean, min or max, got \"{}\".", name);
  return ReduceOp::Max;
}

std::unique_ptr<Kernel> make_all_reduce(const KernelSpec& spec) {
  const ReduceOp op = reduce_op(spec.attributes.get_string("reduce"));
  const std::vector<TensorType> types(spec.outputs.begin(), spec.outputs.end());
  return make_kernel([op, types](const KernelArgs& args) {
    std::map<DType, std::vector<Segment>> segments;
    for (size_t i = 0; i < types.size(); ++i) {
      if (args.group) {
        segments[types[i].dtype].push_back(
            {args.in[i], args.out[i], types[i].shape.num_elements()});
      } else if (types[i].bytes() > 0) {
        std::memcpy(args.out[i], args.in[i], types[i].bytes());
      }
    }
    for (const auto& [dtype, together] : segments) args.group->all_reduce(together, dtype, op);
  });
}

}  // namespace

void register_collective_kernels(KernelTable& table) { table.add("all_reduce", make_all_reduce); }

}  // namespace cornu::cpu
