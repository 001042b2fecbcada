// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/scan/sort.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kSortBlock = 256;
constexpr int64_t kSortedRun = 1024;  // elements sorted by one block: RUN in sort.cu

struct SortHalf {
  Slot keys;
  Slot indices;
};

std::string sort_text(const RowSort& sort, std::string_view step) {
  return sort_key_text(sort.dtype) + define("T", type_name(sort.dtype)) +
         define("DESCENDING", sort.descending ? "1" : "0") + define("RUNS", "0") +
         define("MERGE", "1") + define("STEP", step) + std::string(source("kernels/scan/sort.cu"));
}

}  // namespace

int64_t sort_key_bytes(DType dtype) { return size_of(dtype) == 8 ? 8 : 4; }

std::string sort_key_text(DType dtype) {
  const bool is_unsigned = dtype == DType::Bool || dtype == DType::UInt8 ||
                           dtype == DType::UInt32 || dtype == DType::UInt64;
  return define("K", sort_key_bytes(dtype) == 8 ? "u64" : "u32") +
         define("C", compute_name(dtype)) +
         define("KIND_OF_NUMBER", is_floating(dtype) ? "FLOAT"
                                  : is_unsigned      ? "UNSIGNED"
                                                     : "SIGNED") +
         std::string(source("kernels/scan/key.cu"));
}

Slot sort_rows(const std::string& name, const RowSort& sort, const Slot& from, const Slot& order,
               Lowering& lowering) {
  const int64_t elements = sort.rows * sort.count;
  const bool is_merged = sort.count > kSortedRun;
  const auto make_half = [&](bool needed, bool has_indices) -> SortHalf {
    if (!needed) return {order, order};
    return {
        lowering.scratch(static_cast<size_t>(elements * sort_key_bytes(sort.dtype))),
        has_indices ? lowering.scratch(static_cast<size_t>(elements) * sizeof(int32_t)) : order};
  };
  SortHalf half = make_half(is_merged || sort.keeps_keys, is_merged);
  SortHalf other = make_half(is_merged, is_merged);
  const auto bound = static_cast<uint64_t>(std::min(sort.count, kSortedRun));
  const auto size = static_cast<int64_t>(std::bit_ceil(bound));
  const int64_t runs = (sort.count + kSortedRun - 1) / kSortedRun;
  const int64_t rows_of_block = kSortedRun / size;
  const int64_t keeps = sort.keeps_keys ? 1 : 0;
  lowering.launch_text(name + "_runs", sort_text(sort, "RUNS"),
                       blocks_for((sort.rows + rows_of_block - 1) / rows_of_block * runs, 1),
                       {kSortBlock},
                       {from, half.keys, is_merged ? half.indices : order, sort.rows, sort.count,
                        sort.inner, sort.first, size, int64_t{is_merged ? 0 : 1}, keeps});
  for (int64_t run = kSortedRun; run < sort.count; run *= 2) {
    const bool last = 2 * run >= sort.count;
    lowering.launch_text(
        name + "_merge", sort_text(sort, "MERGE"), blocks_for(elements, kSortBlock), {kSortBlock},
        {half.keys, half.indices, other.keys, last ? order : other.indices, sort.rows, sort.count,
         sort.inner, sort.first, run, int64_t{last ? 1 : 0}, keeps});
    std::swap(half, other);
  }
  return half.keys;
}

}  // namespace cornu::cuda
