// SPDX-License-Identifier: Apache-2.0
// "fused_rows": elementwise ops and reductions of rows in one kernel.
#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "framework/backends/cuda/kernels/elementwise/body.h"
#include "framework/backends/cuda/kernels/elementwise/body_writer.h"
#include "framework/backends/cuda/kernels/reduction/groups.h"
#include "framework/backends/cuda/kernels/rows/body.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kRowPackBytes = 16;
constexpr int64_t kWidestRowPack = 8;
constexpr int64_t kWarpRow = 1024;         // longest row processed by a single warp
constexpr int64_t kUnrolledElements = 32;  // per thread
constexpr int64_t kKeptBytes = 384;        // of operands in a thread's registers

// How a row is divided among threads. Depends only on types.
struct RowDivision {
  int64_t width;    // elements that a thread reads at once
  int64_t threads;  // per row
  int64_t steps;    // per thread
  bool unrolls;
  bool keeps;  // operands stay in registers from the first reduction to the last result

  explicit RowDivision(const RowsBody& body) {
    int64_t largest = 1;
    int64_t bytes = 0;  // size of the operands' elements
    const auto note = [&](ValueId id) {
      const bool is_full = body.is_full(id);
      if (!is_full && body.kind(id) != RowKind::Column) return int64_t{0};
      const auto size = static_cast<int64_t>(size_of(body.graph().type(id).dtype));
      largest = std::max(largest, size);
      return is_full ? size : 0;
    };
    for (const ValueId id : body.graph().inputs) bytes += note(id);
    for (const ValueId id : body.graph().outputs) note(id);
    const int64_t columns = body.domain().columns;
    width = std::min(kRowPackBytes / largest, kWidestRowPack);
    while (columns % width != 0) width /= 2;
    const auto packs = static_cast<uint64_t>(columns / width);
    threads = columns > kWarpRow
                  ? kGroupBlock
                  : std::min<int64_t>(32, static_cast<int64_t>(std::bit_ceil(packs)));
    steps = quotient_up(columns, width * threads);
    unrolls = steps * width <= kUnrolledElements;
    keeps = unrolls && steps * width * bytes <= kKeptBytes;
  }
};

struct RowReduction {
  std::string_view op;
  std::string_view join;
  std::string_view initial;
};
constexpr RowReduction kRowReductions[] = {{"reduce_sum", "add", "0"},
                                           {"reduce_max", "maximum", "-CORNU_INFINITY"},
                                           {"reduce_min", "minimum", "CORNU_INFINITY"}};

const RowReduction& reduction_of(const Node& node) {
  return *std::ranges::find(kRowReductions, node.op->name, &RowReduction::op);
}

class RowsWriter {
 public:
  RowsWriter(const RowsBody& body, const RowDivision& division)
      : body_(body), graph_(body.graph()), division_(division) {}

  // Empty if there is no function for an op.
  std::string text();

 private:
  // A value and what is done with each of its elements: a call that takes it as its last argument.
  struct Wanted {
    ValueId id;
    std::string call;
  };

  std::string type(ValueId id) const { return type_name(graph_.type(id).dtype); }
  std::string computed(ValueId id) const { return compute_name(graph_.type(id).dtype); }
  std::string head() const;
  std::string operands();
  std::string kept() const;
  bool add_row(const Node& node);
  std::string reduce(int level);
  std::string results();
  std::string loop(const std::vector<Wanted>& wanted, const std::string& before,
                   const std::string& after);
  std::string row_results() const;

  const RowsBody& body_;
  const Graph& graph_;
  const RowDivision& division_;
  BodyWriter rows_;  // what a thread computes once per row
  bool is_known_ = true;
};

std::string RowsWriter::text() {
  std::string text = operands();
  for (int level = 0; level <= body_.levels(); ++level) {
    for (const Node* node : body_.of_rows(level)) is_known_ = is_known_ && add_row(*node);
    if (!is_known_) return {};
    text += rows_.take_text();
    if (level == 0) text += kept();
    if (level < body_.levels()) text += reduce(level);
  }
  text += results() + row_results();
  return is_known_ ? head() + text + "}\n" : std::string();
}

// Results may alias full operands: since elements are read again after others have been written,
// these aren't __restrict__.
std::string RowsWriter::head() const {
  const RowDomain& domain = body_.domain();
  const bool is_small = domain.rows * domain.columns < std::numeric_limits<int32_t>::max();
  std::string text = define("I", is_small ? "u32" : "u64");
  text += define("W", fmt::to_string(division_.width)) +
          define("THREADS", fmt::to_string(division_.threads)) +
          define("STEPS", fmt::to_string(division_.steps)) +
          define("COLUMNS", fmt::to_string(domain.columns));
  for (const char* file : {"kernels/elementwise/functions.cu", "kernels/reduction/groups.cu",
                           "kernels/rows/rows.cu"}) {
    text += source(file);
  }
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}) KERNEL(", kGroupBlock);
  for (size_t k = 0; k < graph_.inputs.size(); ++k) {
    const ValueId id = graph_.inputs[k];
    text +=
        fmt::format("const {}*{} in{}, ", type(id), body_.is_full(id) ? "" : " __restrict__", k);
  }
  for (size_t k = 0; k < graph_.outputs.size(); ++k) {
    text += fmt::format("{}* out{}, ", type(graph_.outputs[k]), k);
  }
  return text + "i64 rows) {\n";
}

// Declares the thread's position, and the operands that don't vary along a row.
std::string RowsWriter::operands() {
  std::string text =
      "  __shared__ alignas(16) char memory[THREADS > 32 ? 256 * 8 : 16];\n"
      "  const Group group(1, THREADS);\n  const bool exists = group.number < rows;\n"
      "  const I row = (I)group.number;\n  const I first = row * COLUMNS;\n";
  for (size_t k = 0; k < graph_.inputs.size(); ++k) {
    const ValueId id = graph_.inputs[k];
    const RowKind kind = body_.kind(id);
    rows_.set_name(id, fmt::format("x{}", k));
    if (kind == RowKind::One) {
      text += fmt::format("  const {0} x{1} = widen(in{1}[0]);\n", computed(id), k);
    } else if (kind == RowKind::Row) {
      text +=
          fmt::format("  const {0} x{1} = exists ? widen(in{1}[row]) : ({0})0;\n", computed(id), k);
    }
  }
  for (const Node& node : graph_.nodes) rows_.note_constant(node);
  return text;
}

// Reads the full operands, if they fit into registers.
std::string RowsWriter::kept() const {
  if (!division_.keeps) return {};
  std::string declarations;
  std::string loads;
  for (size_t k = 0; k < graph_.inputs.size(); ++k) {
    const ValueId id = graph_.inputs[k];
    if (!body_.is_full(id)) continue;
    declarations += fmt::format("  Pack<{}, W> kept{}[STEPS];\n", type(id), k);
    loads +=
        fmt::format("    kept{0}[s] = *(const Pack<{1}, W>*)(in{0} + first + c);\n", k, type(id));
  }
  if (loads.empty()) return {};
  return declarations +
         "#pragma unroll\n  for (int s = 0; s < STEPS; ++s) {\n"
         "    const u32 c = (s * THREADS + group.row) * W;\n    if (!exists || c >= COLUMNS) "
         "continue;\n" +
         loads + "  }\n";
}

// A value that is the same for all threads of a row.
bool RowsWriter::add_row(const Node& node) {
  if (!node.is("reshape")) return rows_.add(node, graph_);
  rows_.set_name(node.outputs[0], std::string(rows_.name(node.inputs[0])));
  return true;
}

// A loop over the thread's elements that computes the wanted values; `before` and `after` are
// executed for each pack.
std::string RowsWriter::loop(const std::vector<Wanted>& wanted, const std::string& before,
                             const std::string& after) {
  BodyWriter writer = rows_;
  std::vector<ValueId> ids;
  for (const Wanted& one : wanted) ids.push_back(one.id);
  const std::set<ValueId> made = body_.made_of(ids);
  std::string packs;
  std::string elements;
  for (size_t k = 0; k < graph_.inputs.size(); ++k) {
    const ValueId id = graph_.inputs[k];
    if (!made.contains(id)) continue;
    const bool is_full = body_.is_full(id);
    const bool is_kept = is_full && division_.keeps;
    if (!is_kept) {
      packs += fmt::format("    const Pack<{0}, W> p{1} = *(const Pack<{0}, W>*)(in{1} + {2}c);\n",
                           type(id), k, is_full ? "first + " : "");
    }
    const std::string pack = is_kept ? fmt::format("kept{}[s]", k) : fmt::format("p{}", k);
    elements += fmt::format("      const {} x{} = widen({}.v[v]);\n", computed(id), k, pack);
  }
  for (const Node& node : graph_.nodes) {
    if (!made.contains(node.outputs[0])) continue;
    is_known_ = is_known_ && writer.add(node, graph_);
    if (!is_known_) return {};
  }
  elements += writer.text();
  for (const auto& [id, call] : wanted) {
    elements += fmt::format("      {}{});\n", call, writer.name(id));
  }
  return fmt::format(
      "#pragma unroll {}\n  for (int s = 0; s < STEPS; ++s) {{\n"
      "    const u32 c = (s * THREADS + group.row) * W;\n"
      "    if (!exists || c >= COLUMNS) continue;\n{}{}"
      "#pragma unroll\n    for (int v = 0; v < W; ++v) {{\n{}    }}\n{}  }}\n",
      division_.unrolls ? "STEPS" : "1", packs, before, elements, after);
}

std::string RowsWriter::reduce(int level) {
  std::string declarations;
  std::string joins;
  std::vector<Wanted> wanted;
  for (const Node* node : body_.reductions(level)) {
    const ValueId id = node->outputs[0];
    const RowReduction& reduction = reduction_of(*node);
    const std::string own = type(id);
    declarations += fmt::format("  {} a{} = ({})({});\n", own, id, own, reduction.initial);
    wanted.push_back({node->inputs[0], fmt::format("a{0} = op_{1}(a{0}, ", id, reduction.join)});
    joins += fmt::format("  const {0} r{1} = of_group<Join_{2}>(group, a{1}, ({0}*)memory);\n", own,
                         id, reduction.join);
  }
  const std::string text = loop(wanted, "", "");
  for (const Node* node : body_.reductions(level)) {
    rows_.set_name(node->outputs[0], fmt::format("r{}", node->outputs[0]));
  }
  return declarations + text + joins;
}

// Writes the results with the array's shape.
std::string RowsWriter::results() {
  std::string packs;
  std::string stores;
  std::vector<Wanted> wanted;
  for (size_t k = 0; k < graph_.outputs.size(); ++k) {
    const ValueId id = graph_.outputs[k];
    if (!body_.is_full(id)) continue;
    packs += fmt::format("    Pack<{}, W> y{};\n", type(id), k);
    wanted.push_back({id, fmt::format("y{}.v[v] = narrow<{}>(", k, type(id))});
    stores += fmt::format("    *(Pack<{}, W>*)(out{} + first + c) = y{};\n", type(id), k, k);
  }
  return wanted.empty() ? std::string() : loop(wanted, packs, stores);
}

std::string RowsWriter::row_results() const {
  std::string text;
  for (size_t k = 0; k < graph_.outputs.size(); ++k) {
    const ValueId id = graph_.outputs[k];
    if (body_.is_full(id)) continue;
    text += fmt::format("    out{}[row] = narrow<{}>({});\n", k, type(id), rows_.name(id));
  }
  if (text.empty()) return text;
  return "  if (exists && group.row == 0) {\n" + text + "  }\n";
}

bool lower_rows(const KernelSpec& spec, Lowering& lowering) {
  const RowsBody body(spec.attributes.get_graph("body"));
  const RowDivision division(body);
  const std::string text = RowsWriter(body, division).text();
  if (text.empty()) return false;
  const int64_t rows = body.domain().rows;
  std::vector<Argument> arguments;
  for (size_t k = 0; k < spec.inputs.size(); ++k) arguments.emplace_back(in(k));
  for (size_t k = 0; k < spec.outputs.size(); ++k) arguments.emplace_back(out(k));
  arguments.emplace_back(rows);
  lowering.launch_text(body_name(spec), text, blocks_for(rows, kGroupBlock / division.threads),
                       {kGroupBlock}, std::move(arguments));
  // A thread writes the elements that it has read, after their last use.
  for (size_t k = 0; k < spec.inputs.size(); ++k) {
    for (size_t m = 0; m < spec.outputs.size(); ++m) {
      if (!body.is_full(body.graph().inputs[k]) || !body.is_full(body.graph().outputs[m])) continue;
      lowering.may_alias(static_cast<int>(k), static_cast<int>(m));
    }
  }
  return true;
}

}  // namespace

void register_rows(LoweringTable& table) { table.add("fused_rows", lower_rows); }

}  // namespace cornu::cuda
