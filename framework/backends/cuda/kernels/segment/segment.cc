// SPDX-License-Identifier: Apache-2.0
// segment_reduce: maxima, minima and products of slices by segment.
#include <algorithm>

#include "framework/backends/cuda/kernels/reduction/groups.h"
#include "framework/backends/cuda/kernels/reduction/join.h"
#include "framework/backends/cuda/kernels/scan/sort.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/refusals.h"

namespace cornu::cuda {
namespace {

bool lower_segment_reduce(const KernelSpec& spec, Lowering& lowering) {
  const DType dtype = spec.inputs[1].dtype;
  const DType ids = spec.inputs[0].dtype;
  if (dtype == DType::Bool || (ids != DType::Int32 && ids != DType::Int64)) return false;
  const std::string& kind = spec.attributes.get_string("reduction");
  const int64_t segments = spec.attributes.get_int("count");
  const int64_t slices = spec.inputs[0].shape.num_elements();
  const int64_t inner = spec.inputs[1].shape.slice(1).num_elements();
  const int64_t check =
      lowering.add_check([segments](int64_t id) { refuse_segment(id, segments); });
  Slot order = in(0);  // unused if there are no slices
  Slot keys = in(0);
  if (slices > 0) {
    order = lowering.scratch(static_cast<size_t>(slices) * sizeof(int32_t));
    keys = sort_rows(
        "segment_sort",
        {.dtype = ids, .rows = 1, .count = slices, .inner = 1, .first = slices, .keeps_keys = true},
        in(0), order, lowering);
  }
  const int64_t of_segment = slices / std::max<int64_t>(segments, 1);  // average number of slices
  const Groups groups(segments, std::max<int64_t>(of_segment, 1), inner);
  Dim3 blocks = groups.blocks();
  blocks.x = std::max<uint32_t>(blocks.x, 1);  // ids are checked even if there is nothing to reduce
  lowering.launch_text("segment_" + kind,
                       join_text(kind == "max"   ? "MAXIMUM"
                                 : kind == "min" ? "MINIMUM"
                                                 : "PRODUCT",
                                 dtype) +
                           "#undef C\n" + sort_key_text(ids) + "#undef C\n" +
                           define("C", compute_name(dtype)) + define("T", type_name(dtype)) +
                           define("I", type_name(ids)) +
                           std::string(source("kernels/segment/segment.cu")),
                       blocks, {kGroupBlock},
                       {in(0), keys, order, in(1), out(0), segments, slices, inner, groups.width,
                        groups.depth, status(), check});
  return true;
}

}  // namespace

void register_segment(LoweringTable& table) { table.add("segment_reduce", lower_segment_reduce); }

}  // namespace cornu::cuda
