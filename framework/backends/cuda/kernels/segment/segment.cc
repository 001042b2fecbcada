// SPDX-License-Identifier: Apache-2.0
// segment_reduce: maxima, minima and products of slices by segment.
#include <algorithm>

#include "framework/backends/cuda/kernels/reduction/identity.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/core/error.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kSegmentBlock = 256;

bool lower_segment_reduce(const KernelSpec& spec, Lowering& lowering) {
  const DType dtype = spec.inputs[1].dtype;
  const DType ids = spec.inputs[0].dtype;
  if (dtype == DType::Bool || (ids != DType::Int32 && ids != DType::Int64)) return false;
  const std::string& kind = spec.attributes.get_string("reduction");
  const bool is_max = kind == "max";
  const bool is_min = kind == "min";
  const int64_t segments = spec.attributes.get_int("count");
  const int64_t slices = spec.inputs[0].shape.num_elements();
  const int64_t inner = spec.inputs[1].shape.slice(1).num_elements();
  const int64_t check = lowering.add_check([segments](int64_t id) {
    raise<OutOfRange>("segment_reduce: index {} is outside of [0, {}), the segments.", id,
                      segments);
  });
  // Ids are looked at where there is nothing to reduce, too.
  lowering.launch("segment_" + kind, "kernels/segment/segment.cu",
                  define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
                      define("I", type_name(ids)) +
                      define("OP", is_max   ? "0"
                                   : is_min ? "1"
                                            : "2") +
                      define("START", identity_of(is_max   ? "MAXIMUM"
                                                  : is_min ? "MINIMUM"
                                                           : "PRODUCT",
                                                  dtype)),
                  blocks_for(std::max<int64_t>(segments * inner, 1), kSegmentBlock),
                  {kSegmentBlock},
                  {in(0), in(1), out(0), segments, slices, inner, status(), check});
  return true;
}

}  // namespace

void register_segment(LoweringTable& table) { table.add("segment_reduce", lower_segment_reduce); }

}  // namespace cornu::cuda
