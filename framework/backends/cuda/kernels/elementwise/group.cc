// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/kernels/elementwise/group.h"

#include <algorithm>

#include "framework/backends/cuda/kernels/elementwise/writer.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/passes/pass.h"

namespace cornu::cuda {
namespace {

constexpr size_t kMaxWords = 500;   // of the 4096 bytes available for parameters
constexpr size_t kWordsBefore = 2;  // per member: the end of its blocks, and its number of elements
constexpr int64_t kPacks = 4;       // computed per thread

bool is_one(const TensorType& type) { return type.shape.num_elements() == 1; }

// Elements that a thread reads at once.
int group_width(const ElementwiseBody& body) {
  size_t largest = 1;
  for (const TensorType& type : body.inputs) largest = std::max(largest, size_of(type.dtype));
  for (const DType dtype : body.array_types) largest = std::max(largest, size_of(dtype));
  return std::min(16 / static_cast<int>(largest), 8);
}

// A call of body() for the elements of packs, or for memory at index `e`.
std::string call(const ElementwiseBody& body, bool packs) {
  std::string text = "body(";
  const char* separator = "";
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    const std::string place = is_one(body.inputs[k]) ? fmt::format("x{}", k)
                              : packs                ? fmt::format("x{}.v[v]", k)
                                                     : fmt::format("in{}[e]", k);
    text += fmt::format("{}widen({})", separator, place);
    separator = ", ";
  }
  for (size_t k = 0; k < body.arrays.size(); ++k) {
    text +=
        packs ? fmt::format("{}y{}.v[v]", separator, k) : fmt::format("{}out{}[e]", separator, k);
    separator = ", ";
  }
  return text + ");";
}

std::string declarations(const ElementwiseBody& body) {
  std::string text;
  size_t word = kWordsBefore;
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    const std::string type = type_name(body.inputs[k].dtype);
    text += fmt::format("  const {0}* in{1} = (const {0}*)own[{2}];\n", type, k, word++);
    if (is_one(body.inputs[k])) text += fmt::format("  const {} x{} = in{}[0];\n", type, k, k);
  }
  for (size_t k = 0; k < body.arrays.size(); ++k) {
    text +=
        fmt::format("  {0}* out{1} = ({0}*)own[{2}];\n", type_name(body.array_types[k]), k, word++);
  }
  return text;
}

std::string pack_statements(const ElementwiseBody& body) {
  std::string text;
  for (size_t k = 0; k < body.inputs.size(); ++k) {
    if (is_one(body.inputs[k])) continue;
    text += fmt::format("      const Pack<{0}, W> x{1} = *(const Pack<{0}, W>*)(in{1} + i);\n",
                        type_name(body.inputs[k].dtype), k);
  }
  for (size_t k = 0; k < body.arrays.size(); ++k) {
    text += fmt::format("      Pack<{}, W> y{};\n", type_name(body.array_types[k]), k);
  }
  text += "#pragma unroll\n      for (int v = 0; v < W; ++v) " + call(body, true) + "\n";
  for (size_t k = 0; k < body.arrays.size(); ++k) {
    text += fmt::format("      *(Pack<{}, W>*)(out{} + i) = y{};\n", type_name(body.array_types[k]),
                        k, k);
  }
  return text;
}

// A block looks up its member; each thread computes `kPacks` packs of it, strided by the block's
// width.
std::string kernel_text(const ElementwiseBody& body, size_t members) {
  const size_t words = kWordsBefore + body.inputs.size() + body.arrays.size();
  std::string text = define("W", fmt::to_string(group_width(body)));
  text += std::string(source("kernels/elementwise/functions.cu")) + "\n" + body.text;
  text += fmt::format("struct Words {{\n  u64 word[{}];\n}};\n", words * members);
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}) KERNEL(const __grid_constant__ Words "
      "all) "
      "{{\n  int member = 0;\n  while (blockIdx.x >= all.word[member * {1}]) ++member;\n"
      "  const u64* own = all.word + member * {1};\n"
      "  const u64 block = blockIdx.x - (member > 0 ? all.word[(member - 1) * {1}] : 0);\n"
      "  const u64 count = own[1];\n",
      kElementwiseBlock, words);
  text += declarations(body);
  text += fmt::format(
      "  for (int k = 0; k < {0}; ++k) {{\n"
      "    const u64 i = ((block * {0} + k) * {1} + threadIdx.x) * W;\n"
      "    if (i + W <= count) {{\n{2}    }} else {{\n"
      "#pragma unroll 1\n      for (u64 e = i; e < count; ++e) {3}\n    }}\n  }}\n}}\n",
      kPacks, kElementwiseBlock, pack_statements(body), call(body, false));
  return text;
}

bool lower_group(const KernelSpec& spec, Lowering& lowering) {
  const auto members = static_cast<size_t>(spec.attributes.get_int("members"));
  const size_t ins = spec.inputs.size() / members;
  const size_t outs = spec.outputs.size() / members;
  const auto first = elementwise_body(
      {passes::fused_op(), spec.attributes, spec.inputs.first(ins), spec.outputs.first(outs)});
  if (!first) return false;
  const int64_t of_a_block = int64_t{kElementwiseBlock} * group_width(*first) * kPacks;
  std::vector<Argument> words;
  int64_t blocks = 0;
  for (size_t m = 0; m < members; ++m) {
    const int64_t count = spec.outputs[m * outs].shape.num_elements();
    blocks += (count + of_a_block - 1) / of_a_block;
    words.emplace_back(blocks);
    words.emplace_back(count);
    for (size_t k = 0; k < ins; ++k) words.emplace_back(in(m * ins + k));
    for (size_t k = 0; k < outs; ++k) words.emplace_back(out(m * outs + k));
    for (size_t k = 0; k < ins * outs; ++k) {
      const size_t from = m * ins + k / outs;
      if (spec.inputs[from].shape.num_elements() == count) {
        lowering.may_alias(static_cast<int>(from), static_cast<int>(m * outs + k % outs));
      }
    }
  }
  lowering.launch_text("group_of_" + std::to_string(members), kernel_text(*first, members),
                       {static_cast<uint32_t>(blocks)}, {kElementwiseBlock}, std::move(words));
  return true;
}

}  // namespace

bool is_groupable(const ElementwiseBody& body) {
  const int64_t count = body.shape.num_elements();
  return body.sums.empty() && count > 0 &&
         std::ranges::all_of(body.inputs, [&](const TensorType& type) {
           return is_one(type) || type.shape.num_elements() == count;
         });
}

// One-element arrays are only read as scalars if those of all members have one element.
std::string group_key(const ElementwiseBody& body) {
  std::string key = body.text;
  for (const TensorType& type : body.inputs) {
    key += fmt::format("{} {}, ", type_name(type.dtype), is_one(type) ? '1' : 'n');
  }
  return key;
}

size_t most_members(size_t inputs, size_t outputs) {
  return std::max<size_t>(1, kMaxWords / (kWordsBefore + inputs + outputs));
}

void register_groups(LoweringTable& table) { table.add("fused_group", lower_group); }

}  // namespace cornu::cuda
