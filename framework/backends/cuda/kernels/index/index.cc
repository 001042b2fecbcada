// SPDX-License-Identifier: Apache-2.0
// Reading by index, and numbers computed from positions: README.md.
#include "framework/backends/cuda/kernels/index/place.h"
#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/sources.h"
#include "framework/graph/refusals.h"

namespace cornu::cuda {
namespace {

constexpr int64_t kIndexBlock = 256;  // threads
constexpr int64_t kTakenEach = 4;     // per thread: take.cu

// y = x at the indices of input 1: one per row of `into` or, with `along`, one per element.
bool lower_take(const KernelSpec& spec, bool along, Lowering& lowering) {
  const TensorType& type = spec.inputs[0];
  const int64_t axis = spec.attributes.get_int("axis");
  const IndexedAxis from(type.shape, axis);
  const int64_t indices = spec.inputs[1].shape.num_elements();
  const DType dtype = spec.inputs[1].dtype;
  if (indices == 0) return true;
  const int64_t code = add_index_check(spec, dtype, type.shape, axis, lowering);
  const int64_t whole = spec.outputs[0].shape.num_elements();
  if (whole == 0) {
    add_index_check_alone(spec, 1, from.size, code, lowering);
    return true;
  }
  const int64_t lanes = along ? 1 : lanes_for(size_of(type.dtype), {from.inner});
  const int64_t count = whole / lanes;
  KernelSizes sizes(lowering);
  sizes.add("count", count);
  sizes.add("length", along ? spec.outputs[0].shape[axis] : indices);
  sizes.add("size", from.size);
  sizes.add("inner", from.inner / lanes);
  launch_indexed(lowering, spec.op.name, "kernels/index/take.cu",
                 define_index(std::max(whole, type.shape.num_elements())) +
                     define_vector(moved_name(type.dtype), lanes) + define("N", type_name(dtype)) +
                     define("ALONG", along ? "true" : "false") + sizes.definitions(),
                 blocks_for(count, kIndexBlock * kTakenEach), {kIndexBlock},
                 sizes.arguments({in(0), in(1), out(0), status(), code}));
  return true;
}

// y, along rows of `inner` numbers, in vectors of 16 bytes.
void add_numbers(const KernelSpec& spec, bool one_hot, int64_t length, int64_t inner,
                 Lowering& lowering) {
  const TensorType& type = spec.outputs[0];
  const int64_t count = type.shape.num_elements();
  if (count == 0) return;
  const int64_t lanes = lanes_for(size_of(type.dtype), {});
  KernelSizes sizes(lowering);
  sizes.add("count", count);
  sizes.add("length", length);
  sizes.add("inner", inner);
  const std::string text = define("T", type_name(type.dtype)) +
                           define("C", compute_name(type.dtype)) +
                           define("N", one_hot ? type_name(spec.inputs[0].dtype) : "i64") +
                           define("ONE_HOT", one_hot ? "true" : "false") + define_index(count) +
                           define_vector(type_name(type.dtype), lanes) + sizes.definitions();
  lowering.launch(spec.op.name, "kernels/index/numbers.cu", text,
                  blocks_for(count, kIndexBlock * lanes), {kIndexBlock},
                  sizes.arguments({one_hot ? in(0) : out(0), out(0)}));
}

bool lower_one_hot(const KernelSpec& spec, Lowering& lowering) {
  add_numbers(spec, true, 1, spec.attributes.get_int("depth"), lowering);
  return true;
}

bool lower_iota(const KernelSpec& spec, Lowering& lowering) {
  const IndexedAxis into(spec.outputs[0].shape, spec.attributes.get_int("axis"));
  add_numbers(spec, false, into.size, into.inner, lowering);
  return true;
}

}  // namespace

int64_t add_index_check(const KernelSpec& spec, DType dtype, const Shape& shape, int64_t axis,
                        Lowering& lowering) {
  const std::string op = indexing_name(spec);
  return lowering.add_check([=](int64_t value) {
    const std::string index = dtype == DType::UInt64 ? fmt::to_string(static_cast<uint64_t>(value))
                                                     : fmt::to_string(value);
    refuse_index(op, index, axis, shape);
  });
}

void add_index_check_alone(const KernelSpec& spec, size_t input, int64_t size, int64_t code,
                           Lowering& lowering) {
  const int64_t count = spec.inputs[input].shape.num_elements();
  launch_indexed(lowering, "check_indices", "kernels/index/check.cu",
                 define("N", type_name(spec.inputs[input].dtype)), blocks_for(count, kIndexBlock),
                 {kIndexBlock}, {in(input), count, size, status(), code});
}

void launch_indexed(Lowering& lowering, const std::string& name, std::string_view file,
                    const std::string& definitions, Dim3 grid, Dim3 block,
                    std::vector<Argument> arguments) {
  // Before the definitions, which may define conflicting names.
  const std::string text =
      std::string(source("kernels/index/place.cu")) + definitions + std::string(source(file));
  lowering.launch_text(name, text, grid, block, std::move(arguments));
}

void register_index(LoweringTable& table) {
  table.add("gather", [](const KernelSpec& spec, Lowering& lowering) {
    return lower_take(spec, false, lowering);
  });
  table.add("take_along_axis", [](const KernelSpec& spec, Lowering& lowering) {
    return lower_take(spec, true, lowering);
  });
  table.add("scatter_add", lower_scatter_add);
  table.add("put_along_axis_add", lower_put_along_axis_add);
  table.add("sum_rows", lower_sum_rows);
  table.add("gather_rows", lower_gather_rows);
  table.add("put_rows", lower_put_rows);
  table.add("one_hot", lower_one_hot);
  table.add("iota", lower_iota);
}

}  // namespace cornu::cuda
