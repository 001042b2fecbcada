// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, casts, and groups of them with the sums over their rows.
#include <string_view>

#include "framework/backends/cuda/kernels/elementwise/body_writer.h"
#include "framework/backends/cuda/kernels/elementwise/sums.h"
#include "framework/backends/cuda/kernels/elementwise/writer.h"

namespace cornu::cuda {
namespace {

// Every thread computes `width` adjacent elements.
void lower_map(const ElementwiseBody& body, const std::string& name, Lowering& lowering) {
  ElementwiseWriter writer(body, lowering.specialize());
  const int width = writer.width();
  const int64_t count = body.shape.num_elements();
  std::string text =
      fmt::format("  const I i = ((I)blockIdx.x * {}u + threadIdx.x) * W;\n", kElementwiseBlock);
  const std::string end = writer.size(count);
  const std::string loads = writer.loads();
  const bool has_tail = count % width != 0;
  text += fmt::format("  if (i + {} <= {}) {{\n{}", width, end, loads);
  text += fmt::format("#pragma unroll\n    for (int v = 0; v < W; ++v) {}\n", writer.call());
  text += writer.stores() + "  }";
  if (has_tail) {  // a single axis, with only full operands and scalars
    text += fmt::format(" else {{\n#pragma unroll 1\n    for (I e = i; e < {}; ++e) {}\n  }}", end,
                        writer.call_of_one("e"));
  }
  text += "\n";
  const int64_t threads = (count + width - 1) / width;
  lowering.launch_text(name, writer.kernel("", text), blocks_for(threads, kElementwiseBlock),
                       {kElementwiseBlock}, writer.arguments({}));
}

// Each thread reads the elements of full operands whose results it writes.
void alias_full_operands(const KernelSpec& spec, const ElementwiseBody& body, Lowering& lowering) {
  for (size_t k = 0; k < spec.inputs.size(); ++k) {
    if (spec.inputs[k].shape.num_elements() != body.shape.num_elements()) continue;
    for (const size_t index : body.arrays) {
      lowering.may_alias(static_cast<int>(k), static_cast<int>(index));
    }
  }
}

bool lower_elementwise(const KernelSpec& spec, Lowering& lowering) {
  const std::optional<ElementwiseBody> body = elementwise_body(spec);
  if (!body) return false;
  const std::string name = body_name(spec);
  if (body->sums.empty()) {
    lower_map(*body, name, lowering);
  } else {
    lower_sums(*body, name, lowering);
  }
  alias_full_operands(spec, *body, lowering);
  return true;
}

}  // namespace

void register_elementwise(LoweringTable& table) {
  for (const std::string_view op : elementwise_ops()) table.add(op, lower_elementwise);
  table.add("fused", lower_elementwise);
}

}  // namespace cornu::cuda
