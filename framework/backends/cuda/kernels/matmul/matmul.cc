// SPDX-License-Identifier: Apache-2.0
// Matrix products, through cuBLASLt if it supports the dtype.
#include "framework/backends/cuda/kernels/matmul/matmul.h"

#include <algorithm>

#include "framework/backends/cuda/kernels/shape/text.h"
#include "framework/backends/cuda/sources.h"

namespace cornu::cuda {
namespace {

// The matrices of a batched product, as runs of `spec.batch` equally spaced matrices.
struct BatchedProduct {
  MatmulSpec spec;
  std::vector<size_t> a_offsets;  // byte offset of the first matrix of each run
  std::vector<size_t> b_offsets;
  std::vector<size_t> out_offsets;
};

// Size of an element of a and b in bytes.
size_t element_of(const MatmulSpec& spec) { return spec.int8 ? 1 : size_of(spec.dtype); }

Shape batch_of(const Shape& shape) { return shape.slice(0, shape.rank() - 2); }

// By leading axis of the result: the operand's stride in elements.
std::vector<int64_t> batch_strides(const Shape& operand, int64_t axes) {
  std::vector<int64_t> strides(static_cast<size_t>(axes), 0);
  const Shape batch = batch_of(operand);
  int64_t stride = operand[-1] * operand[-2];
  for (int64_t axis = batch.rank(); axis-- > 0;) {
    if (batch[axis] != 1) strides[static_cast<size_t>(axis + axes - batch.rank())] = stride;
    stride *= batch[axis];
  }
  return strides;
}

// Adds one run for each index along the axes before `inner`.
void add_runs(BatchedProduct& product, const Shape& batch, int64_t inner,
              const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  const size_t element = element_of(product.spec);
  const Shape outer = batch.slice(0, inner);
  const int64_t runs = outer.num_elements();
  const int64_t out_stride = product.spec.batch * product.spec.m * product.spec.n;
  for (int64_t run = 0; run < runs; ++run) {
    int64_t a_at = 0;
    int64_t b_at = 0;
    for (int64_t axis = inner, rest = run; axis-- > 0; rest /= outer[axis]) {
      a_at += rest % outer[axis] * a[static_cast<size_t>(axis)];
      b_at += rest % outer[axis] * b[static_cast<size_t>(axis)];
    }
    product.a_offsets.push_back(static_cast<size_t>(a_at) * element);
    product.b_offsets.push_back(static_cast<size_t>(b_at) * element);
    product.out_offsets.push_back(static_cast<size_t>(run * out_stride) *
                                  size_of(product.spec.dtype));
  }
}

BatchedProduct batched_product(const KernelSpec& spec) {
  const Shape& a = spec.inputs[0].shape;
  const Shape& b = spec.inputs[1].shape;
  const Shape& out = spec.outputs[0].shape;
  BatchedProduct product;
  MatmulSpec& one = product.spec;
  one.dtype = spec.outputs[0].dtype;
  one.int8 = spec.inputs[0].dtype == DType::Int8;
  one.transpose_a = spec.attributes.get_bool("transpose_a");
  one.transpose_b = spec.attributes.get_bool("transpose_b");
  one.m = out[-2];
  one.n = out[-1];
  one.k = one.transpose_a ? a[-2] : a[-1];
  Shape batch = batch_of(out);
  // A single matrix b: the rows of all a form one matrix.
  if (!one.transpose_a && batch_of(b).num_elements() == 1 &&
      batch_of(a).num_elements() == batch.num_elements()) {
    one.m *= batch.num_elements();
    batch = Shape();
  }
  const std::vector<int64_t> a_strides = batch_strides(a, batch_of(out).rank());
  const std::vector<int64_t> b_strides = batch_strides(b, batch_of(out).rank());
  int64_t inner = batch.rank();
  for (; inner > 0; --inner) {  // as many axes as have a common stride
    const auto axis = static_cast<size_t>(inner - 1);
    const int64_t size = batch[inner - 1];
    if (size == 1) continue;
    const bool fits = one.batch == 1 || (a_strides[axis] == one.batch * one.a_stride &&
                                         b_strides[axis] == one.batch * one.b_stride);
    if (!fits) break;
    if (one.batch == 1) one.a_stride = a_strides[axis], one.b_stride = b_strides[axis];
    one.batch *= size;
  }
  add_runs(product, batch, inner, a_strides, b_strides);
  return product;
}

void add_tiles(const MatmulSpec& one, const ProductOperands& operands, const Epilogue& epilogue,
               Lowering& lowering) {
  const auto tiles = [](int64_t size) { return (size + 15) / 16; };
  const int64_t a_width = one.transpose_a ? one.m : one.k;
  const int64_t b_width = one.transpose_b ? one.k : one.n;
  constexpr int64_t kMaxMatrices = 65535;  // limit of a grid's z axis
  const size_t element = element_of(one);
  const size_t out_element = size_of(one.dtype);
  const std::string text = epilogue.text() + define("T", type_name(one.dtype)) +
                           define("IN", type_name(one.int8 ? DType::Int8 : one.dtype)) +
                           define("C", compute_name(one.dtype)) +
                           std::string(source("kernels/matmul/matmul.cu"));
  for (int64_t first = 0; first < one.batch; first += kMaxMatrices) {
    const auto place = [&](Slot slot, int64_t stride, size_t bytes) {
      slot.offset += static_cast<size_t>(first * stride) * bytes;
      return slot;
    };
    std::vector<Argument> arguments = {place(operands.a, one.a_stride, element),
                                       place(operands.b, one.b_stride, element),
                                       place(operands.out, one.m * one.n, out_element)};
    Epilogue part = epilogue;
    if (part.residual) part.residual = place(*part.residual, one.m * one.n, out_element);
    for (const Argument& argument : part.arguments(operands.a)) arguments.push_back(argument);
    for (const int64_t size :
         {tiles(one.n), one.m, one.n, one.k, one.transpose_a ? int64_t{1} : a_width,
          one.transpose_a ? a_width : int64_t{1}, one.transpose_b ? int64_t{1} : b_width,
          one.transpose_b ? b_width : int64_t{1}, one.a_stride, one.b_stride}) {
      arguments.emplace_back(size);
    }
    lowering.launch_text("matmul_tiles", text,
                         {static_cast<uint32_t>(tiles(one.n) * tiles(one.m)), 1,
                          static_cast<uint32_t>(std::min(kMaxMatrices, one.batch - first))},
                         {256}, std::move(arguments));
  }
}

bool lower_matmul(const KernelSpec& spec, Lowering& lowering) {
  if (spec.outputs[0].shape.num_elements() == 0) return true;
  const BatchedProduct product = batched_product(spec);
  Epilogue epilogue;
  if (spec.inputs.size() > 2) {
    epilogue = {
        .bias = in(2), .residual = {}, .relu = spec.attributes.get_string("activation") == "relu"};
  }
  for (size_t run = 0; run < product.a_offsets.size(); ++run) {
    add_product(product.spec,
                {in(0, product.a_offsets[run]), in(1, product.b_offsets[run]),
                 out(0, product.out_offsets[run])},
                epilogue, lowering);
  }
  return true;
}

// cuBLASLt's kernels of int8 multiply the rows of both operands: b is transposed for them. Returns
// false if there is no such kernel.
bool add_int8_product(MatmulSpec product, const ProductOperands& operands, Lowering& lowering) {
  const bool lies_right = product.transpose_b;
  if (product.transpose_a || (!lies_right && product.b_stride != 0)) return false;
  product.transpose_b = true;
  const auto kernel = lowering.prepare(product);
  if (!kernel) return false;
  Slot b = operands.b;
  if (!lies_right) {
    b = lowering.scratch(static_cast<size_t>(product.k * product.n));
    add_transposition({DType::Int8, {product.k, product.n}}, operands.b, b, lowering);
  }
  lowering.call(kernel, {operands.a, b, operands.out});
  return true;
}

}  // namespace

std::string Epilogue::text() const {
  const auto flag = [](std::string_view name, bool value) {
    return define(name, std::string_view(value ? "true" : "false"));
  };
  return flag("BIAS", bias.has_value()) + flag("RESIDUAL", residual.has_value()) +
         flag("RELU", relu) + std::string(source("kernels/matmul/epilogue.cu"));
}

std::vector<Argument> Epilogue::arguments(Slot unread) const {
  return {bias.value_or(unread), residual.value_or(unread)};
}

void apply_epilogue(const Epilogue& epilogue, DType dtype, Slot y, int64_t rows, int64_t columns,
                    Lowering& lowering) {
  if (epilogue.empty()) return;
  const int64_t lanes = lanes_for(size_of(dtype), {columns});
  KernelSizes sizes(lowering);
  sizes.add("count", rows * columns);
  sizes.add("columns", columns);
  std::vector<Argument> arguments = {y};
  for (const Argument& argument : epilogue.arguments(y)) arguments.push_back(argument);
  lowering.launch_text("epilogue",
                       epilogue.text() + define_vector(type_name(dtype), lanes) +
                           sizes.definitions() + std::string(source("kernels/matmul/finish.cu")),
                       blocks_for(rows * columns / lanes, 256), {256},
                       sizes.arguments(std::move(arguments)));
}

void add_product(const MatmulSpec& product, const ProductOperands& operands,
                 const Epilogue& epilogue, Lowering& lowering) {
  const int64_t rows = product.batch * product.m;
  const auto finish = [&] {
    apply_epilogue(epilogue, product.dtype, operands.out, rows, product.n, lowering);
  };
  if (product.k == 0) {
    lowering.fill(operands.out, 0, static_cast<size_t>(rows * product.n) * size_of(product.dtype));
    return finish();
  }
  if (product.int8) {
    if (add_int8_product(product, operands, lowering)) return finish();
    return add_tiles(product, operands, epilogue, lowering);
  }
  std::vector<Slot> slots = {operands.a, operands.b, operands.out};
  if (epilogue.bias && !epilogue.residual) {
    MatmulSpec fused = product;
    fused.bias = true;
    fused.relu = epilogue.relu;
    if (const auto kernel = lowering.prepare(fused)) {
      slots.push_back(*epilogue.bias);
      return lowering.call(kernel, std::move(slots));
    }
  }
  if (const auto kernel = lowering.prepare(product)) {
    lowering.call(kernel, std::move(slots));
    return finish();
  }
  add_tiles(product, operands, epilogue, lowering);
}

void add_transposition(const TensorType& matrix, Slot from, Slot to, Lowering& lowering) {
  constexpr int64_t kTile = 32;
  const int64_t rows = matrix.shape[0], columns = matrix.shape[1];
  const int64_t across = (columns + kTile - 1) / kTile;
  const int64_t down = (rows + kTile - 1) / kTile;
  KernelSizes sizes(lowering);
  sizes.add("across", across);
  sizes.add("rows", rows);
  sizes.add("columns", columns);
  lowering.launch("transpose_matrix", "kernels/matmul/transpose.cu",
                  define("S", moved_name(matrix.dtype)) + sizes.definitions(),
                  blocks_for(across * down, 1), {256}, sizes.arguments({from, to}));
}

void register_matmul(LoweringTable& table) {
  table.add("matmul", lower_matmul);
  table.add("matmul_bias_act", lower_matmul);
}

}  // namespace cornu::cuda
