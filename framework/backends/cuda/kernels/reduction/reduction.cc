// SPDX-License-Identifier: Apache-2.0
// Sums, products, maxima and minima along any axes.
#include <algorithm>
#include <bit>
#include <numeric>

#include "framework/backends/cuda/kernels/reduction/identity.h"
#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kReduceBlock = 256;
constexpr int64_t kEnoughBlocks = 1024;  // to keep a GPU busy
constexpr int64_t kLeastOfThread = 8;    // elements, where a pass is divided into parts
constexpr int64_t kMostReduceParts = 1024;

struct ReduceOpName {
  std::string_view op;
  std::string_view name;
};
constexpr ReduceOpName kReduceOps[] = {{"reduce_sum", "SUM"},
                                       {"reduce_prod", "PRODUCT"},
                                       {"reduce_max", "MAXIMUM"},
                                       {"reduce_min", "MINIMUM"}};

int64_t quotient_up(int64_t count, int64_t of) { return (count + of - 1) / of; }

int64_t power_of_two_for(int64_t count, int64_t least, int64_t most) {
  const auto up =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
  return std::clamp(up, least, most);
}

// A reduction of [outer, count, inner] along `count`, by `parts` that a second one joins.
struct ReducePass {
  int64_t outer;
  int64_t count;
  int64_t inner;
  int64_t across;  // threads beside each other
  int64_t parts = 1;
  int64_t each = 0;  // elements of a part

  ReducePass(int64_t outer_count, int64_t reduced, int64_t inner_count, bool divide)
      : outer(outer_count), count(reduced), inner(inner_count) {
    across = inner == 1 ? power_of_two_for(quotient_up(count, 4), 1, kReduceBlock)
                        : power_of_two_for(inner, 1, 64);
    const int64_t down = inner == 1 ? across : kReduceBlock / across;  // threads along `count`
    const int64_t most = std::min(count / (down * kLeastOfThread), kMostReduceParts);
    if (divide && blocks() < kEnoughBlocks && most > 1) {
      parts = std::min(most, quotient_up(kEnoughBlocks, blocks()));
    }
    each = quotient_up(count, parts);
    parts = std::max<int64_t>(1, quotient_up(count, std::max<int64_t>(each, 1)));
  }

  int64_t blocks() const {
    return inner == 1 ? quotient_up(outer * parts, kReduceBlock / across)
                      : outer * parts * quotient_up(inner, across);
  }
  int64_t results() const { return outer * parts * inner; }
};

// Merged axes, alternately kept and reduced; the first one is kept, as is the last one.
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

// The innermost reduced axes first.
std::vector<ReducePass> reduce_passes(std::vector<int64_t> sizes) {
  std::vector<ReducePass> passes;
  while (sizes.size() >= 3) {
    const int64_t inner = sizes.back();
    const int64_t reduced = sizes[sizes.size() - 2];
    sizes.resize(sizes.size() - 2);
    const int64_t outer =
        std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
    sizes.back() *= inner;
    passes.emplace_back(outer, reduced, inner, true);
    if (const int64_t parts = passes.back().parts; parts > 1) {
      passes.emplace_back(outer, parts, inner, false);
    }
  }
  return passes;
}

class ReductionWriter {
 public:
  ReductionWriter(std::string_view name, DType dtype, Lowering& lowering)
      : name_(name), dtype_(dtype), lowering_(lowering) {}

  void pass(const ReducePass& pass, bool first, bool last, const Slot& from, const Slot& to) {
    const std::string computed = compute_name(dtype_);
    const std::string stored = type_name(dtype_);
    const bool rows = pass.inner == 1;
    const std::string text =
        common(rows ? "ROWS" : "COLUMNS") + define("T", first ? stored : computed) +
        define("R", last ? stored : computed) + define("TX", fmt::to_string(pass.across));
    std::vector<Argument> arguments = {from, to};
    if (rows) {
      arguments.insert(arguments.end(), {pass.outer, pass.count, pass.parts, pass.each});
    } else {
      arguments.insert(arguments.end(), {pass.count, pass.inner, pass.parts, pass.each});
    }
    lowering_.launch(label(), kFile, text, blocks_for(pass.blocks(), 1), {kReduceBlock},
                     std::move(arguments));
  }

  void fill(int64_t count) {
    lowering_.launch(label() + "_nothing", kFile, common("FILL") + define("R", type_name(dtype_)),
                     blocks_for(count, kReduceBlock), {kReduceBlock}, {out(0), count});
  }

 private:
  static constexpr const char* kFile = "kernels/reduction/reduce.cu";

  std::string label() const {
    return name_ == "SUM"       ? "sum"
           : name_ == "PRODUCT" ? "product"
           : name_ == "MAXIMUM" ? "max"
                                : "min";
  }
  std::string common(std::string_view kind) const {
    return define("FILL", "0") + define("ROWS", "1") + define("COLUMNS", "2") +
           define("KIND", kind) + define("OP", name_) + define("C", compute_name(dtype_)) +
           define("IDENTITY", identity_of(name_, dtype_));
  }

  std::string_view name_;
  DType dtype_;
  Lowering& lowering_;
};

Lower reduction(std::string_view name) {
  return [name](const KernelSpec& spec, Lowering& lowering) {
    const TensorType& in_type = spec.inputs[0];
    const bool adds = name == "SUM" || name == "PRODUCT";
    if (in_type.dtype == DType::Bool && adds) return false;
    ReductionWriter writer(name, in_type.dtype, lowering);
    const int64_t results = spec.outputs[0].shape.num_elements();
    if (in_type.shape.num_elements() == 0) {
      writer.fill(results);
      return true;
    }
    const auto passes = reduce_passes(merged_axes(in_type.shape, spec.attributes.get_ints("axes")));
    if (passes.empty()) lowering.copy(out(0), in(0), in_type.bytes());
    const size_t element = size_of(in_type.dtype) == 2 ? 4 : size_of(in_type.dtype);
    Slot from = in(0);
    for (size_t i = 0; i < passes.size(); ++i) {
      const bool last = i + 1 == passes.size();
      const Slot to =
          last ? out(0) : lowering.scratch(static_cast<size_t>(passes[i].results()) * element);
      writer.pass(passes[i], i == 0, last, from, to);
      from = to;
    }
    return true;
  };
}

}  // namespace

std::string identity_of(std::string_view name, DType dtype) {
  if (name == "SUM") return "0";
  if (name == "PRODUCT") return "1";
  const bool largest = name == "MAXIMUM";  // starts at the least
  switch (dtype) {
    case DType::Bool:
      return largest ? "false" : "true";
    case DType::UInt8:
      return largest ? "0" : "255";
    case DType::Int8:
      return largest ? "-128" : "127";
    case DType::Int32:
      return largest ? "(-2147483647 - 1)" : "2147483647";
    case DType::Int64:
      return largest ? "(-9223372036854775807ll - 1)" : "9223372036854775807ll";
    case DType::UInt32:
      return largest ? "0" : "4294967295u";
    case DType::UInt64:
      return largest ? "0" : "18446744073709551615ull";
    default:
      return largest ? "(-CORNU_INFINITY)" : "CORNU_INFINITY";
  }
}

void register_reductions(LoweringTable& table) {
  for (const ReduceOpName& one : kReduceOps) table.add(one.op, reduction(one.name));
}

}  // namespace cornu::cuda
