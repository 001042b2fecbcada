// SPDX-License-Identifier: Apache-2.0
// Products of matrices, through cuBLASLt where it has the dtype.
#include <algorithm>

#include "framework/backends/cuda/lowering.h"

namespace cornu::cuda {
namespace {

// The matrices of a batched product, as runs of `spec.batch` that lie at equal distances.
struct BatchedProduct {
  MatmulSpec spec;
  std::vector<size_t> a_offsets;  // bytes to the first matrix of each run
  std::vector<size_t> b_offsets;
  std::vector<size_t> out_offsets;
};

Shape batch_of(const Shape& shape) { return shape.slice(0, shape.rank() - 2); }

// By leading axis of the result: how many elements further the operand's next matrix is.
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

// Fixes one index for each run over the axes before `inner`.
void add_runs(BatchedProduct& product, const Shape& batch, int64_t inner,
              const std::vector<int64_t>& a, const std::vector<int64_t>& b, size_t element) {
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
    product.out_offsets.push_back(static_cast<size_t>(run * out_stride) * element);
  }
}

BatchedProduct batched_product(const KernelSpec& spec) {
  const Shape& a = spec.inputs[0].shape;
  const Shape& b = spec.inputs[1].shape;
  const Shape& out = spec.outputs[0].shape;
  BatchedProduct product;
  MatmulSpec& one = product.spec;
  one.dtype = spec.outputs[0].dtype;
  one.transpose_a = spec.attributes.get_bool("transpose_a");
  one.transpose_b = spec.attributes.get_bool("transpose_b");
  one.m = out[-2];
  one.n = out[-1];
  one.k = one.transpose_a ? a[-2] : a[-1];
  const size_t element = size_of(one.dtype);
  Shape batch = batch_of(out);
  // One matrix b for all: the rows of all a are those of one matrix.
  if (!one.transpose_a && batch_of(b).num_elements() == 1 &&
      batch_of(a).num_elements() == batch.num_elements()) {
    one.m *= batch.num_elements();
    batch = Shape();
  }
  const std::vector<int64_t> a_strides = batch_strides(a, batch_of(out).rank());
  const std::vector<int64_t> b_strides = batch_strides(b, batch_of(out).rank());
  int64_t inner = batch.rank();
  for (; inner > 0; --inner) {  // as many axes as have one stride
    const auto axis = static_cast<size_t>(inner - 1);
    const int64_t size = batch[inner - 1];
    if (size == 1) continue;
    const bool fits = one.batch == 1 || (a_strides[axis] == one.batch * one.a_stride &&
                                         b_strides[axis] == one.batch * one.b_stride);
    if (!fits) break;
    if (one.batch == 1) one.a_stride = a_strides[axis], one.b_stride = b_strides[axis];
    one.batch *= size;
  }
  add_runs(product, batch, inner, a_strides, b_strides, element);
  return product;
}

void launch_tiles(const BatchedProduct& product, size_t run, Lowering& lowering) {
  const MatmulSpec& one = product.spec;
  const auto tiles = [](int64_t size) { return static_cast<uint32_t>((size + 15) / 16); };
  const int64_t a_width = one.transpose_a ? one.m : one.k;
  const int64_t b_width = one.transpose_b ? one.k : one.n;
  constexpr int64_t kMostMatrices = 65535;  // in a grid's z axis
  const auto element = static_cast<int64_t>(size_of(one.dtype));
  for (int64_t first = 0; first < one.batch; first += kMostMatrices) {
    const auto place = [&](size_t offset, int64_t stride) {
      return offset + static_cast<size_t>(first * stride * element);
    };
    const auto count = static_cast<uint32_t>(std::min(kMostMatrices, one.batch - first));
    lowering.launch("matmul_tiles", "kernels/matmul/matmul.cu",
                    define("T", type_name(one.dtype)) + define("C", compute_name(one.dtype)),
                    {tiles(one.n), tiles(one.m), count}, {256},
                    {in(0, place(product.a_offsets[run], one.a_stride)),
                     in(1, place(product.b_offsets[run], one.b_stride)),
                     out(0, place(product.out_offsets[run], one.m * one.n)), one.m, one.n, one.k,
                     one.transpose_a ? int64_t{1} : a_width, one.transpose_a ? a_width : int64_t{1},
                     one.transpose_b ? int64_t{1} : b_width, one.transpose_b ? b_width : int64_t{1},
                     one.a_stride, one.b_stride});
  }
}

bool lower_matmul(const KernelSpec& spec, Lowering& lowering) {
  if (spec.outputs[0].shape.num_elements() == 0) return true;
  const BatchedProduct product = batched_product(spec);
  if (product.spec.k == 0) {
    lowering.fill(out(0), 0, spec.outputs[0].bytes());
    return true;
  }
  const auto kernel = lowering.runtime().prepare(lowering.gpu(), product.spec);
  for (size_t run = 0; run < product.a_offsets.size(); ++run) {
    if (kernel) {
      lowering.call(kernel, {in(0, product.a_offsets[run]), in(1, product.b_offsets[run]),
                             out(0, product.out_offsets[run])});
    } else {
      launch_tiles(product, run, lowering);
    }
  }
  return true;
}

}  // namespace

void register_matmul(LoweringTable& table) { table.add("matmul", lower_matmul); }

}  // namespace cornu::cuda
