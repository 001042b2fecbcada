// SPDX-License-Identifier: Apache-2.0
// Sums, products, maxima and minima along any axes.
#include <algorithm>
#include <functional>
#include <numeric>

#include "framework/backends/cuda/kernels/reduction/groups.h"
#include "framework/backends/cuda/kernels/reduction/join.h"
#include "framework/backends/cuda/lowering.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

struct ReduceOpName {
  std::string_view op;
  std::string_view name;
  std::string_view label;  // in profiles
};
constexpr ReduceOpName kReduceOps[] = {{"reduce_sum", "SUM", "sum"},
                                       {"reduce_prod", "PRODUCT", "product"},
                                       {"reduce_max", "MAXIMUM", "max"},
                                       {"reduce_min", "MINIMUM", "min"}};

// A reduction of [outer, count, inner], with elements of `bytes` bytes, along `count`.
struct ReducePass {
  static constexpr int64_t kRowBytes = 16;  // that a thread reads at once
  static constexpr int64_t kColumnBytes = 8;

  int64_t many;  // elements that a thread reads at once
  Groups groups;

  // `joins`: it combines the parts of an axis that another pass has divided.
  ReducePass(int64_t outer, int64_t count, int64_t inner, int64_t bytes, bool joins)
      : many((inner == 1 ? kRowBytes : kColumnBytes) / bytes),
        groups(outer, count, inner, grain(inner == 1, many, joins)) {
    if (!joins) groups.divide(grain(inner == 1, many, joins));
  }

  static GroupGrain grain(bool rows, int64_t many, bool joins) {
    if (rows) return {.columns = 1, .unit = many, .steps = 2};
    return {
        .columns = many, .unit = 1, .steps = 4, .most_width = joins ? kJoiningWidth : kWidestGroup};
  }
};

// Merged axes, alternately kept and reduced, starting and ending with a kept one.
std::vector<int64_t> merged_axes(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int64_t> sizes = {1};
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    const bool reduced = std::ranges::find(axes, axis) != axes.end();
    if (reduced == (sizes.size() % 2 == 0)) {
      sizes.back() *= shape[axis];
    } else {
      sizes.push_back(shape[axis]);
    }
  }
  if (sizes.size() % 2 == 0) sizes.push_back(1);
  return sizes;
}

// Innermost reduced axes first; if an axis is divided, another pass joins its parts.
std::vector<ReducePass> reduce_passes(std::vector<int64_t> sizes, DType dtype) {
  const auto stored = static_cast<int64_t>(size_of(dtype));
  const int64_t computed = stored == 2 ? 4 : stored;
  std::vector<ReducePass> passes;
  while (sizes.size() >= 3) {
    const int64_t inner = sizes.back();
    const int64_t reduced = sizes[sizes.size() - 2];
    sizes.resize(sizes.size() - 2);
    const int64_t outer =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    sizes.back() *= inner;
    passes.emplace_back(outer, reduced, inner, passes.empty() ? stored : computed, false);
    if (const int64_t parts = passes.back().groups.parts; parts > 1) {
      passes.emplace_back(outer, parts, inner, computed, true);
    }
  }
  return passes;
}

class ReductionWriter {
 public:
  ReductionWriter(const ReduceOpName& op, DType dtype, Lowering& lowering)
      : op_(op), dtype_(dtype), lowering_(lowering) {}

  void pass(const ReducePass& pass, bool first, bool last, const Slot& from, const Slot& to) {
    const std::string computed = compute_name(dtype_);
    const std::string stored = type_name(dtype_);
    const Groups& groups = pass.groups;
    const bool rows = groups.inner == 1;
    std::vector<Argument> arguments = {from, to, groups.outer, groups.count};
    if (!rows) arguments.emplace_back(groups.inner);
    arguments.insert(arguments.end(), {groups.parts, groups.each, groups.width, groups.depth});
    lowering_.launch_text(std::string(op_.label),
                          text(rows ? "ROWS" : "COLUMNS", first ? stored : computed,
                               last ? stored : computed, pass.many),
                          groups.blocks(), {kGroupBlock}, std::move(arguments));
  }

  void fill(int64_t count) {
    const std::string stored = type_name(dtype_);
    lowering_.launch_text(fmt::format("{}_of_nothing", op_.label), text("FILL", stored, stored, 1),
                          blocks_for(count, kGroupBlock), {kGroupBlock}, {out(0), count});
  }

 private:
  std::string text(std::string_view kind, std::string_view read, std::string_view written,
                   int64_t many) const {
    return join_text(op_.name, dtype_) + define("FILL", "0") + define("ROWS", "1") +
           define("COLUMNS", "2") + define("KIND", kind) + define("T", read) +
           define("R", written) + define("MANY", fmt::to_string(many)) +
           std::string(source("kernels/reduction/reduce.cu"));
  }

  const ReduceOpName& op_;
  DType dtype_;
  Lowering& lowering_;
};

Lower reduction(const ReduceOpName& op) {
  return [&op](const KernelSpec& spec, Lowering& lowering) {
    const auto& [dtype, shape] = spec.inputs[0];
    const bool adds = op.name == "SUM" || op.name == "PRODUCT";
    if (dtype == DType::Bool && adds) return false;
    ReductionWriter writer(op, dtype, lowering);
    if (shape.num_elements() == 0) {
      writer.fill(spec.outputs[0].shape.num_elements());
      return true;
    }
    const std::vector<ReducePass> passes =
        reduce_passes(merged_axes(shape, spec.attributes.get_ints("axes")), dtype);
    if (passes.empty()) lowering.copy(out(0), in(0), spec.inputs[0].bytes());
    const size_t element = size_of(dtype) == 2 ? 4 : size_of(dtype);
    Slot from = in(0);
    for (size_t i = 0; i < passes.size(); ++i) {
      const bool last = i + 1 == passes.size();
      const Slot to =
          last ? out(0)
               : lowering.scratch(static_cast<size_t>(passes[i].groups.results()) * element);
      writer.pass(passes[i], i == 0, last, from, to);
      from = to;
    }
    return true;
  };
}

}  // namespace

void register_reductions(LoweringTable& table) {
  for (const ReduceOpName& op : kReduceOps) table.add(op.op, reduction(op));
}

}  // namespace cornu::cuda
