// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/sums.h"

#include <algorithm>
#include <bit>
#include <span>

#include "framework/backends/cuda/kernels/elementwise/writer.h"
#include "framework/backends/cuda/kernels/reduction/column_blocks.h"

namespace cornu::cuda {
namespace {

constexpr const char* kBlockText = "256";
static_assert(kElementwiseBlock == ColumnBlocks::kThreads && kElementwiseBlock == 256);

// For sums over everything, the elements that a thread reads at once serve as the columns.
ColumnBlocks division_of(const ElementwiseBody& body, int64_t width) {
  const int64_t columns = body.columns() == 1 ? width : body.columns();
  return {body.shape.num_elements() / columns, columns, width};
}

// "  f32 a0[W]…": the accumulators of each thread, per sum.
std::string accumulators(const ElementwiseBody& body) {
  std::string text;
  for (size_t k = 0; k < body.sums.size(); ++k) {
    const std::string type = compute_name(body.sums[k].dtype);
    text += fmt::format("  {} a{}[W];\n  for (int v = 0; v < W; ++v) a{}[v] = 0;\n", type, k, k);
  }
  return text;
}

// The loop's body: a pack of elements starting at index i.
std::string one_pack(const ElementwiseBody& body, ElementwiseWriter& writer) {
  std::string text = writer.loads() + "#pragma unroll\n    for (int v = 0; v < W; ++v) {\n";
  for (size_t k = 0; k < body.sums.size(); ++k) {
    text += fmt::format("      {} s{};\n", compute_name(body.sums[k].dtype), k);
  }
  text += "      " + writer.call() + "\n";
  for (size_t k = 0; k < body.sums.size(); ++k) text += fmt::format("      a{0}[v] += s{0};\n", k);
  return text + "    }\n" + writer.stores();
}

// A sum over everything: over all threads, as a tree.
std::string total(size_t k, const std::string& type) {
  return fmt::format(
      "  {{\n    {1}* shared = ({1}*)memory;\n    {1} all = 0;\n"
      "    for (int v = 0; v < W; ++v) all += a{0}[v];\n    shared[threadIdx.x] = all;\n"
      "    __syncthreads();\n    for (int half = {2} / 2; half > 0; half /= 2) {{\n"
      "      if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];\n"
      "      __syncthreads();\n    }}\n"
      "    if (threadIdx.x == 0)\n"
      "      part{0}[(i64)blockIdx.y * gridDim.x + blockIdx.x] = narrow<P{0}>(shared[0]);\n"
      "    __syncthreads();\n  }}\n",
      k, type, kBlockText);
}

// A sum per column: over the threads of a column, as a tree.
std::string by_column(size_t k, const std::string& type, const std::string& columns) {
  return fmt::format(
      "  {{\n    {1}* shared = ({1}*)memory;\n"
      "    for (int v = 0; v < W; ++v) shared[threadIdx.x * W + v] = a{0}[v];\n"
      "    __syncthreads();\n    for (int half = {2} / TX / 2; half > 0; half /= 2) {{\n"
      "      if (ty < half) {{\n        for (int v = 0; v < W; ++v)\n"
      "          shared[threadIdx.x * W + v] += shared[(threadIdx.x + half * TX) * W + v];\n"
      "      }}\n      __syncthreads();\n    }}\n"
      "    if (ty == 0 && c < {3}) {{\n      for (int v = 0; v < W; ++v)\n"
      "        part{0}[(i64)blockIdx.y * {3} + c + v] = narrow<P{0}>(shared[threadIdx.x * W + "
      "v]);\n    }}\n"
      "    __syncthreads();\n  }}\n",
      k, type, kBlockText, columns);
}

std::string statements(const ElementwiseBody& body, ElementwiseWriter& writer,
                       const ColumnBlocks& division) {
  const std::string columns = writer.size(division.columns);
  const std::string rows = writer.size(division.rows);
  const std::string each = writer.size(division.rows_each);
  std::string text = define("TX", fmt::to_string(division.across));
  text += fmt::format("  __shared__ alignas(16) char memory[{} * W * 8];\n", kBlockText);
  text += "  const int tx = threadIdx.x % TX;\n  const int ty = threadIdx.x / TX;\n";
  text += "  const I c = ((I)blockIdx.x * TX + tx) * W;\n" + accumulators(body);
  text += fmt::format("  const I first = (I)blockIdx.y * {};\n", each);
  text +=
      fmt::format("  const I last = first + {} < {} ? first + {} : {};\n", each, rows, each, rows);
  text += fmt::format("  for (I r = first + ty; c < {} && r < last; r += {} / TX) {{\n", columns,
                      kBlockText);
  text += fmt::format("    const I i = r * {} + c;\n{}  }}\n", columns, one_pack(body, writer));
  for (size_t k = 0; k < body.sums.size(); ++k) {
    const std::string type = compute_name(body.sums[k].dtype);
    text += body.sums[k].columns == 1 ? total(k, type) : by_column(k, type, columns);
  }
  return text;
}

// A sum whose parts are in memory.
struct Parts {
  Slot place;
  int64_t count;
  const ElementwiseBody::Sum* sum;

  bool is_like(const Parts& other) const {
    return count == other.count && sum->columns == other.sum->columns &&
           sum->dtype == other.sum->dtype;
  }
};

// Adds up sums of the same kind with one launch: one grid row per sum.
void add_parts(std::span<const Parts> alike, Lowering& lowering) {
  const ElementwiseBody::Sum& first = *alike.front().sum;
  const auto across =
      std::min(ColumnBlocks::kPartColumns,
               static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(first.columns))));
  std::vector<Argument> arguments = {alike.front().count, first.columns};
  for (const Parts& one : alike) {
    arguments.emplace_back(one.place);
    arguments.emplace_back(out(one.sum->output));
  }
  lowering.launch("add_parts", "kernels/elementwise/sums.cu",
                  define("C", compute_name(first.dtype)) + define("T", type_name(first.dtype)) +
                      define("TX", fmt::to_string(across)) +
                      define("SUMS", fmt::to_string(alike.size())),
                  {static_cast<uint32_t>(quotient_up(first.columns, across)),
                   static_cast<uint32_t>(alike.size())},
                  {kElementwiseBlock}, std::move(arguments));
}

}  // namespace

void lower_sums(const ElementwiseBody& body, const std::string& name, Lowering& lowering) {
  ElementwiseWriter writer(body, lowering.specialize());
  const ColumnBlocks division = division_of(body, writer.width());
  std::string parameters;
  std::string types;  // P0, P1, …: the types in which parts (or sums with a single part) are stored
  std::vector<Argument> places;
  std::vector<Parts> parts;
  for (size_t k = 0; k < body.sums.size(); ++k) {
    const ElementwiseBody::Sum& sum = body.sums[k];
    const int64_t count = division.row_blocks * (sum.columns == 1 ? division.column_blocks : 1);
    const DType stored = count == 1 || !is_half(sum.dtype) ? sum.dtype : DType::Float32;
    const auto bytes = static_cast<size_t>(count * sum.columns) * size_of(stored);
    types += define(fmt::format("P{}", k), type_name(stored));
    parameters += fmt::format("{}P{}* __restrict__ part{}", k > 0 ? ", " : "", k, k);
    const Slot place = count == 1 ? out(sum.output) : lowering.scratch(bytes);
    places.emplace_back(place);
    if (count > 1) parts.push_back({place, count, &sum});
  }
  const std::string text = statements(body, writer, division);
  lowering.launch_text(
      name, types + writer.kernel(parameters, text),
      {static_cast<uint32_t>(division.column_blocks), static_cast<uint32_t>(division.row_blocks)},
      {kElementwiseBlock}, writer.arguments(places));
  for (auto begin = parts.begin(); begin != parts.end();) {
    const auto end = std::stable_partition(begin, parts.end(),
                                           [&](const Parts& one) { return one.is_like(*begin); });
    add_parts({begin, end}, lowering);
    begin = end;
  }
}

}  // namespace cornu::cuda
