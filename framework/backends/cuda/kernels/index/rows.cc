// SPDX-License-Identifier: Apache-2.0
// Selected rows of a table (graph/passes/row_ops.h): sum_rows, gather_rows, put_rows.
#include <algorithm>

#include "framework/backends/cuda/kernels/index/place.h"
#include "framework/backends/cuda/kernels/index/update_runs.h"
#include "framework/backends/cuda/kernels/shape/text.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kRowsBlock = 256;  // threads

void launch_rows(const std::string& name, const TensorType& values, std::vector<Argument> arguments,
                 Lowering& lowering) {
  const int64_t inner = values.shape.slice(1).num_elements();
  const int64_t lanes = lanes_for(size_of(values.dtype), {inner});
  const int64_t count = values.shape.num_elements() / lanes;
  arguments.insert(arguments.end(), {count, inner / lanes});
  lowering.launch(name, fmt::format("kernels/index/{}.cu", name),
                  define_vector(moved_name(values.dtype), lanes), blocks_for(count, kRowsBlock),
                  {kRowsBlock}, std::move(arguments));
}

}  // namespace

bool lower_sum_rows(const KernelSpec& spec, Lowering& lowering) {
  const Shape table = spec.attributes.get_shape("shape");
  const TensorType& sums = spec.outputs[1];
  const DType index = spec.inputs[0].dtype;
  const int64_t indices = sums.shape[0];
  if (indices == 0) return true;
  const int64_t code = add_index_check(spec, index, table, 0, lowering);
  lowering.fill(out(1), 0, sums.bytes());
  const UpdateRuns runs({.indices = indices,
                         .size = table[0],
                         .inner = table.slice(1).num_elements(),
                         .dtype = sums.dtype,
                         .index = index,
                         .most_elements = std::max(sums.shape.num_elements(), table[0]),
                         .axis = table[0],
                         .block = indices,
                         .code = code},
                        lowering);
  runs.add(out(1), UpdateRuns::Rows::OfRuns);
  lowering.launch("row_numbers", "kernels/index/row_numbers.cu", define("K", runs.key_type()),
                  blocks_for(indices, kRowsBlock), {kRowsBlock},
                  {runs.keys(), out(0), indices, spec.attributes.get_int("begin"),
                   spec.attributes.get_int("size")});
  return true;
}

bool lower_gather_rows(const KernelSpec& spec, Lowering& lowering) {
  launch_rows("gather_rows", spec.outputs[0], {in(0), in(1), out(0)}, lowering);
  return true;
}

// The table may be updated in place: its other rows aren't read.
bool lower_put_rows(const KernelSpec& spec, Lowering& lowering) {
  lowering.may_alias(0, 0);
  lowering.copy(out(0), in(0), spec.outputs[0].bytes());
  launch_rows("put_rows", spec.inputs[2], {in(1), in(2), out(0), status()}, lowering);
  return true;
}

}  // namespace cornu::cuda
