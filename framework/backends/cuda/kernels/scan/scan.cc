// SPDX-License-Identifier: Apache-2.0
// argmax, argmin, cumsum and argsort: along one axis.
#include <algorithm>
#include <bit>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kScanBlock = 256;
constexpr int64_t kSortedRun = 512;  // elements that one block sorts

struct ScanRows {
  int64_t rows;
  int64_t count;
  int64_t inner;

  explicit ScanRows(const KernelSpec& spec) {
    const Shape& shape = spec.inputs[0].shape;
    const int64_t axis = spec.attributes.get_int("axis");
    inner = shape.slice(axis + 1).num_elements();
    rows = shape.slice(0, axis).num_elements() * inner;
    count = shape[axis];
  }
  bool is_empty() const { return rows * count == 0; }

  // Threads of a row.
  int64_t across() const {
    if (inner > 1) return 1;
    const auto quarter = static_cast<uint64_t>((count + 3) / 4);
    return std::min<int64_t>(static_cast<int64_t>(std::bit_ceil(quarter)), kScanBlock);
  }
};

Lower arg(bool largest) {
  return [largest](const KernelSpec& spec, Lowering& lowering) {
    const ScanRows rows(spec);
    if (rows.is_empty()) return true;
    const DType dtype = spec.inputs[0].dtype;
    lowering.launch(largest ? "argmax" : "argmin", "kernels/scan/arg.cu",
                    define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
                        define("LARGEST", largest ? "1" : "0") +
                        define("TX", fmt::to_string(rows.across())),
                    blocks_for(rows.rows, kScanBlock / rows.across()), {kScanBlock},
                    {in(0), out(0), rows.rows, rows.count, rows.inner});
    return true;
  };
}

bool lower_cumsum(const KernelSpec& spec, Lowering& lowering) {
  const ScanRows rows(spec);
  const DType dtype = spec.inputs[0].dtype;
  if (dtype == DType::Bool) return false;
  if (rows.is_empty()) return true;
  const auto flag = [&](const char* name) { return spec.attributes.get_bool(name) ? "1" : "0"; };
  lowering.launch("cumsum", "kernels/scan/cumsum.cu",
                  define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
                      define("A", is_floating(dtype) ? "f64" : "u64") +
                      define("REVERSE", flag("reverse")) + define("EXCLUSIVE", flag("exclusive")) +
                      define("TX", fmt::to_string(rows.across())),
                  blocks_for(rows.rows, kScanBlock / rows.across()), {kScanBlock},
                  {in(0), out(0), rows.rows, rows.count, rows.inner});
  return true;
}

bool lower_argsort(const KernelSpec& spec, Lowering& lowering) {
  const ScanRows rows(spec);
  if (rows.is_empty()) return true;
  const DType dtype = spec.inputs[0].dtype;
  const std::string definitions =
      define("T", type_name(dtype)) + define("C", compute_name(dtype)) + define("FIRST", "0") +
      define("MERGE", "1") +
      define("DESCENDING", spec.attributes.get_bool("descending") ? "1" : "0");
  const auto bytes = static_cast<size_t>(rows.rows * rows.count) * sizeof(int32_t);
  const Slot halves[] = {lowering.scratch(bytes), lowering.scratch(bytes)};
  const int64_t runs = (rows.count + kSortedRun - 1) / kSortedRun;
  lowering.launch("argsort_runs", "kernels/scan/sort.cu", definitions + define("STEP", "FIRST"),
                  blocks_for(rows.rows * runs, 1), {kScanBlock},
                  {in(0), halves[0], rows.count, rows.inner, runs});
  int from = 0;
  int64_t run = kSortedRun;
  bool last = false;
  do {  // a single run is merged with nothing: that puts it in its place
    last = 2 * run >= rows.count;
    lowering.launch("argsort_merge", "kernels/scan/sort.cu", definitions + define("STEP", "MERGE"),
                    blocks_for(rows.rows * rows.count, kScanBlock), {kScanBlock},
                    {in(0), halves[from], last ? out(0) : halves[1 - from], rows.rows, rows.count,
                     rows.inner, run, int64_t{last ? 1 : 0}});
    from = 1 - from;
    run *= 2;
  } while (!last);
  return true;
}

}  // namespace

void register_scans(LoweringTable& table) {
  table.add("argmax", arg(true));
  table.add("argmin", arg(false));
  table.add("cumsum", lower_cumsum);
  table.add("argsort", lower_argsort);
}

}  // namespace cornu::cuda
