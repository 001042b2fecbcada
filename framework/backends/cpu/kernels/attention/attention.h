// SPDX-License-Identifier: Apache-2.0
// The parameters of attention, and code that its forward and backward kernels share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>

#include "framework/backends/cpu/kernel.h"
#include "framework/backends/cpu/kernels/attention/product.h"
#include "framework/backends/cpu/kernels/attention/rows.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/onednn.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {

// Sizes and memory layout of operands. Arrays of queries and outputs are (batch, rows, heads, ·),
// of keys and values (batch, columns, keys, ·).
struct AttentionProblem {
  explicit AttentionProblem(const KernelSpec& spec, size_t first_optional);

  int64_t batch, rows, columns, heads, keys, size, width;
  double scale;
  double dropout;  // 0: nothing is dropped
  bool causal, bias, mask;
  size_t bias_input, mask_input, kept_input;
  Shape bias_shape, mask_shape;  // of rank 4
  // Sizes of blocks of scores: they depend on the problem's sizes alone, and so does the order of
  // all sums.
  int64_t block_rows, block_columns;

  int64_t group() const { return heads / keys; }
  int64_t row_blocks() const { return (rows + block_rows - 1) / block_rows; }
  int64_t column_blocks() const { return (columns + block_columns - 1) / block_columns; }
  bool empty() const { return batch * rows * columns * heads * size * width == 0; }
  // The end of a block's rows and columns.
  int64_t end_row(int64_t row) const { return std::min(row + block_rows, rows); }
  int64_t end_column(int64_t column) const { return std::min(column + block_columns, columns); }
  // The number of columns that the last row of the block at `row` and `column` sees: the others
  // aren't computed. Masked columns never count as hidden here: in a row that has nothing else, its
  // hidden scores are equal.
  int64_t seen_columns(int64_t row, int64_t column) const {
    const int64_t end = end_column(column);
    return (causal && !mask ? std::clamp(end_row(row), column, end) : end) - column;
  }
  int64_t query_at(int64_t b, int64_t row, int64_t head) const {
    return ((b * rows + row) * heads + head) * size;
  }
  int64_t output_at(int64_t b, int64_t row, int64_t head) const {
    return ((b * rows + row) * heads + head) * width;
  }
  // The index of a score in (batch, heads, rows, columns).
  int64_t score_at(int64_t b, int64_t row, int64_t head, int64_t column) const {
    return ((b * heads + head) * rows + row) * columns + column;
  }
  int64_t key_at(int64_t b, int64_t column, int64_t head) const {
    return ((b * columns + column) * keys + head / group()) * size;
  }
  int64_t value_at(int64_t b, int64_t column, int64_t head) const {
    return ((b * columns + column) * keys + head / group()) * width;
  }
  int64_t statistics_at(int64_t b, int64_t row, int64_t head) const {
    return ((b * heads + head) * rows + row) * 2;
  }
};

// A block of scores of one head.
struct ScoreBlock {
  int64_t batch, head, row, column;  // the first row and column
  int64_t rows, columns;
};

// Elements of a bias or mask (of rank 4, with axes of size 1 where it is broadcast).
struct ScoreOperand {
  ScoreOperand() = default;
  explicit ScoreOperand(const Shape& shape) {
    int64_t step = 1;
    for (int64_t axis = 3; axis >= 0; --axis) {
      strides[static_cast<size_t>(axis)] = shape[axis] == 1 ? 0 : step;
      step *= shape[axis];
    }
  }
  int64_t at(const ScoreBlock& block, int64_t row) const {
    return block.batch * strides[0] + block.head * strides[1] + (block.row + row) * strides[2] +
           block.column * strides[3];
  }
  std::array<int64_t, 4> strides = {};
};

// A product of blocks, prepared for each size that occurs: that of whole blocks, and those of
// blocks that are cut off where the rows, the columns or the visible columns end.
class BlockProducts {
 public:
  // `shape_of(rows, columns)` returns the product for blocks of scores of these sizes.
  template <class F>
  void prepare(const AttentionProblem& p, DType dtype, int parts, F shape_of) {
    for (int64_t row = 0; row < p.rows; row += p.block_rows) {
      for (int64_t column = 0; column < p.columns; column += p.block_columns) {
        const std::pair sizes(p.end_row(row) - row, p.seen_columns(row, column));
        if (sizes.second == 0) break;
        auto& product = products_[sizes];
        if (product) continue;
        product = make_block_product(dtype, shape_of(sizes.first, sizes.second), parts);
        scratch_bytes_ = std::max(scratch_bytes_, product->scratch_bytes());
      }
    }
  }
  size_t scratch_bytes() const { return scratch_bytes_; }
  bool run(const ScoreBlock& block, int part, const void* a, const void* b, void* out,
           void* scratch) const {
    return products_.at({block.rows, block.columns})->run(part, a, b, out, scratch);
  }

 private:
  size_t scratch_bytes_ = 0;
  std::map<std::pair<int64_t, int64_t>, std::unique_ptr<BlockProduct>> products_;
};

// Whether numbers are computed in the type that they are stored in.
template <class S>
inline constexpr bool kComputedAsStored = std::is_same_v<S, Computed<S>>;

// Parts of a thread's scratch memory, in the order they are asked for.
class ScratchLayout {
 public:
  template <class T>
  size_t add(int64_t count) {
    const size_t offset = bytes_;
    bytes_ += round_up(static_cast<size_t>(count) * sizeof(T), 64);
    return offset;
  }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_ = 0;
};

// Computes blocks of scores, with scale, bias and mask, and applies dropout to the probabilities.
template <class S>
class Scores {
 public:
  using T = Computed<S>;
  static constexpr T kHidden = static_cast<T>(-0.7) * std::numeric_limits<T>::max();

  Scores(const AttentionProblem& p, int parts)
      : p_(p),
        bias_(p.bias ? ScoreOperand(p.bias_shape) : ScoreOperand()),
        mask_(p.mask ? ScoreOperand(p.mask_shape) : ScoreOperand()) {
    if (p.empty()) return;
    products_.prepare(p, dtype_of<S>, parts, [&](int64_t rows, int64_t columns) {
      return BlockShape{.m = rows,
                        .n = columns,
                        .k = p.size,
                        .a = {p.heads * p.size, 1},
                        .b = {1, p.keys * p.size},
                        .out = {p.block_columns, 1},
                        .scale = p.scale};
    });
  }
  size_t scratch_bytes() const { return products_.scratch_bytes(); }

  // Rows of `scores` are block_columns apart.
  bool compute(const KernelArgs& args, const ScoreBlock& block, int part, T* scores,
               void* scratch) const {
    const S* query = in(args, 0) + p_.query_at(block.batch, block.row, block.head);
    const S* key = in(args, 1) + p_.key_at(block.batch, block.column, block.head);
    if (!products_.run(block, part, query, key, scores, scratch)) return false;
    for (int64_t i = 0; i < block.rows; ++i) {
      T* row = scores + i * p_.block_columns;
      if (p_.bias) add_bias(in(args, p_.bias_input) + bias_.at(block, i), row, block.columns);
      hide(args, block, i, row, kHidden);
    }
    return true;
  }

  // The number of scores of a row that are looked at: those after them don't count.
  int64_t seen(const ScoreBlock& block, int64_t i) const {
    if (!p_.causal || p_.mask) return block.columns;
    return std::clamp<int64_t>(block.row + i + 1 - block.column, 0, block.columns);
  }

  // Writes `value` over the hidden scores among those of a row that are looked at.
  void hide(const KernelArgs& args, const ScoreBlock& block, int64_t i, T* row, T value) const {
    if (p_.mask) {
      const auto* mask = static_cast<const bool*>(args.in[p_.mask_input]) + mask_.at(block, i);
      const int64_t step = mask_.strides[3];
      for (int64_t j = 0; j < block.columns; ++j) row[j] = mask[j * step] ? row[j] : value;
    }
    if (!p_.causal || !p_.mask) return;
    const int64_t seen = std::clamp<int64_t>(block.row + i + 1 - block.column, 0, block.columns);
    std::fill(row + seen, row + block.columns, value);
  }

  bool drops() const { return p_.dropout > 0; }
  // Zeroes those of the first `count` numbers of a row that dropout drops, and multiplies the
  // others by `factor`.
  void drop(const KernelArgs& args, const ScoreBlock& block, int64_t i, T* row, size_t count,
            T factor) const {
    const auto* kept = static_cast<const bool*>(args.in[p_.kept_input]) +
                       p_.score_at(block.batch, block.row + i, block.head, block.column);
    functions_.drop(row, kept, count, factor);
  }

  static const S* in(const KernelArgs& args, size_t index) {
    return static_cast<const S*>(args.in[index]);
  }

 private:
  void add_bias(const S* bias, T* row, int64_t count) const {
    if (bias_.strides[3] == 0) {
      const T value = bias[0];
      for (int64_t j = 0; j < count; ++j) row[j] += value;
    } else {
      functions_.add(row, bias, static_cast<size_t>(count));
    }
  }

  AttentionProblem p_;
  ScoreOperand bias_, mask_;
  BlockProducts products_;
  AttentionRows<S> functions_ = attention_rows<S>();
};

// Calls make(S{}) with the type that a spec's operands are stored in. If this CPU has no fast
// products of 16-bit numbers, they are computed in float32: `factory` is called again, for float32.
template <class Make>
std::unique_ptr<Kernel> make_in_its_dtype(const KernelSpec& spec, const KernelFactory& factory,
                                          Make make) {
  const DType dtype = spec.inputs[0].dtype;
  if (dtype == DType::BFloat16 && onednn::compute_type(dtype)) return make(bfloat16());
  if (auto kernel = through_float32(spec, factory)) return kernel;
  return dtype == DType::Float64 ? make(double()) : make(float());
}

// Calls work(part, item) for each item < items, on as many threads as there are parts.
void for_items(int parts, int64_t items, FunctionRef<bool(int, int64_t)> work);

std::unique_ptr<Kernel> make_attention_grad(const KernelSpec& spec);

}  // namespace cornu::cpu
