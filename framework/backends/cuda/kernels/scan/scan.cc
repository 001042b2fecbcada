// SPDX-License-Identifier: Apache-2.0
// argmax, argmin, cumsum and argsort: along one axis.
#include "framework/backends/cuda/kernels/reduction/groups.h"
#include "framework/backends/cuda/kernels/scan/sort.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

std::string scan_text(std::string_view file) {
  return std::string(source("kernels/reduction/groups.cu")) + std::string(source(file));
}

Groups scan_groups(const KernelSpec& spec) {
  return Groups::along(spec.inputs[0].shape, spec.attributes.get_int("axis"));
}

Lower arg(bool largest) {
  return [largest](const KernelSpec& spec, Lowering& lowering) {
    Groups groups = scan_groups(spec);
    if (groups.is_empty()) return true;
    groups.divide();
    const DType dtype = spec.inputs[0].dtype;
    const std::string text = define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
                             define("LARGEST", largest ? "1" : "0");
    const auto launch = [&](const Groups& of, const Slot& candidates, const Slot& to) {
      const bool has_candidates = candidates.kind == Slot::Kind::Scratch;
      lowering.launch_text(spec.op.name,
                           text + define("CANDIDATES", has_candidates ? "1" : "0") +
                               scan_text("kernels/scan/arg.cu"),
                           of.blocks(), {kGroupBlock},
                           {in(0), candidates, to, of.outer, groups.count, of.count, of.inner,
                            of.parts, of.each, of.width, of.depth});
    };
    if (groups.parts == 1) {
      launch(groups, out(0), out(0));
      return true;
    }
    const Slot found = lowering.scratch(static_cast<size_t>(groups.results()) * sizeof(int32_t));
    launch(groups, out(0), found);
    const GroupGrain grain{.most_width = kJoiningWidth};
    launch(Groups(groups.outer, groups.parts, groups.inner, grain), found, out(0));
    return true;
  };
}

bool lower_cumsum(const KernelSpec& spec, Lowering& lowering) {
  const DType dtype = spec.inputs[0].dtype;
  if (dtype == DType::Bool) return false;
  Groups groups = scan_groups(spec);
  if (groups.is_empty()) return true;
  groups.divide();
  const auto flag = [&](const char* name) { return spec.attributes.get_bool(name) ? "1" : "0"; };
  const std::string text = define("T", type_name(dtype)) + define("C", compute_name(dtype)) +
                           define("A", is_floating(dtype) ? "f64" : "u64") +
                           define("REVERSE", flag("reverse")) +
                           define("EXCLUSIVE", flag("exclusive"));
  const bool is_divided = groups.parts > 1;
  const Slot totals = is_divided
                          ? lowering.scratch(static_cast<size_t>(groups.results()) * sizeof(double))
                          : out(0);
  for (const bool first : {true, false}) {
    if (first && !is_divided) continue;
    lowering.launch_text(
        first ? "cumsum_of_parts" : "cumsum",
        text + define("TOTALS", first ? "1" : "0") + scan_text("kernels/scan/cumsum.cu"),
        groups.blocks(), {kGroupBlock},
        {in(0), totals, out(0), groups.outer, groups.count, groups.inner, groups.parts, groups.each,
         groups.width, groups.depth});
  }
  return true;
}

bool lower_argsort(const KernelSpec& spec, Lowering& lowering) {
  const Groups groups = scan_groups(spec);
  if (spec.outputs[0].shape.num_elements() == 0) return true;
  sort_rows("argsort",
            {.dtype = spec.inputs[0].dtype,
             .rows = groups.outer * groups.inner,
             .count = groups.count,
             .inner = groups.inner,
             .first = spec.outputs[0].shape[spec.attributes.get_int("axis")],
             .descending = spec.attributes.get_bool("descending")},
            in(0), out(0), lowering);
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
