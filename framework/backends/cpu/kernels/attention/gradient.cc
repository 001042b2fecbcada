// SPDX-License-Identifier: Apache-2.0
// Attention, backward: probabilities are made again, a block at a time, from the scores and what
// the forward kernel kept of each row.
#include <cstring>

#include "framework/backends/cpu/kernels/attention/attention.h"
#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/through_float32.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

template <class T>
class AttentionGrad : public Kernel {
 public:
  AttentionGrad(const AttentionProblem& problem, bool bias_gradient)
      : p_(problem),
        bias_gradient_(bias_gradient),
        parts_(compute_threads()),
        scores_(problem, parts_) {
    if (p_.empty()) return;
    prepare_products();
    size_t products = scores_.scratch_bytes();
    for (const BlockProducts* some : {&of_probabilities_, &of_values_, &of_queries_, &of_keys_}) {
      products = std::max(products, some->scratch_bytes());
    }
    product_scratch_ = round_up(products, 64);
    block_bytes_ = round_up(static_cast<size_t>(p_.block_rows * p_.block_columns) * sizeof(T), 64);
    part_scratch_ = product_scratch_ + 2 * block_bytes_;
  }

  size_t scratch_bytes() const override { return part_scratch_ * static_cast<size_t>(parts_); }

  void run(const KernelArgs& args) override {
    const int64_t keys = p_.batch * p_.columns * p_.keys;
    clear(args.out[0], p_.batch * p_.rows * p_.heads * p_.size);
    clear(args.out[1], keys * p_.size);
    clear(args.out[2], keys * p_.width);
    if (bias_gradient_) clear(args.out[3], p_.bias_shape.num_elements());
    if (p_.empty()) return;
    // Every sum has the same order either way: over keys' blocks, and over heads and their blocks.
    if (p_.batch * p_.keys >= parts_) {
      for_items(parts_, p_.batch * p_.keys,
                [&](int part, int64_t item) { return of_key_head(args, part, item); });
    } else {
      for_items(parts_, p_.batch * p_.keys * p_.column_blocks(), [&](int part, int64_t item) {
        const int64_t column = item % p_.column_blocks() * p_.block_columns;
        return of_columns(args, part, item / p_.column_blocks(), column, false);
      });
      for_items(parts_, p_.batch * p_.heads * p_.row_blocks(),
                [&](int part, int64_t item) { return of_rows(args, part, item); });
    }
    if (bias_gradient_) run_bias(args);
  }

 private:
  struct Work {
    T* probabilities;
    T* gradients;  // of scores
    void* products;
  };

  void prepare_products() {
    const int64_t step = p_.block_columns;
    const int64_t q = p_.heads * p_.size, k = p_.keys * p_.size;
    const int64_t y = p_.heads * p_.width, v = p_.keys * p_.width;
    const auto prepare = [&](BlockProducts& products, auto shape_of) {
      products.prepare(p_, dtype_of<T>, parts_, shape_of);
    };
    prepare(of_probabilities_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{rows, columns, p_.width, {y, 1}, {1, v}, {step, 1}, false};
    });
    prepare(of_values_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{columns, p_.width, rows, {1, step}, {y, 1}, {v, 1}, true};
    });
    prepare(of_queries_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{rows, p_.size, columns, {step, 1}, {k, 1}, {q, 1}, true};
    });
    prepare(of_keys_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{columns, p_.size, rows, {1, step}, {q, 1}, {k, 1}, true};
    });
  }

  static void clear(void* out, int64_t count) {
    std::memset(out, 0, static_cast<size_t>(count) * sizeof(T));
  }
  static const T* in(const KernelArgs& args, size_t index) { return Scores<T>::in(args, index); }
  static T* out(const KernelArgs& args, size_t index) { return static_cast<T*>(args.out[index]); }

  Work work_of(const KernelArgs& args, int part) const {
    auto* scratch =
        static_cast<std::byte*>(args.scratch) + static_cast<size_t>(part) * part_scratch_;
    auto* blocks = scratch + product_scratch_;
    return {reinterpret_cast<T*>(blocks), reinterpret_cast<T*>(blocks + block_bytes_), scratch};
  }

  // All of a key head and its queries.
  bool of_key_head(const KernelArgs& args, int part, int64_t item) const {
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      if (!of_columns(args, part, item, column, true)) return false;
    }
    return true;
  }

  // The gradients of a block of keys and values.
  bool of_columns(const KernelArgs& args, int part, int64_t item, int64_t column,
                  bool with_queries) const {
    const Work work = work_of(args, part);
    const int64_t batch = item / p_.keys, key = item % p_.keys;
    T* of_key = out(args, 1) + p_.key_at(batch, column, key * p_.group());
    T* of_value = out(args, 2) + p_.value_at(batch, column, key * p_.group());
    for (int64_t head = key * p_.group(); head < (key + 1) * p_.group(); ++head) {
      for (int64_t row = 0; row < p_.rows; row += p_.block_rows) {
        const ScoreBlock block = block_at(batch, head, row, column);
        if (block.columns == 0) continue;
        if (!differentiate(args, part, block, work, static_cast<T>(p_.scale))) return false;
        const T* query = in(args, 0) + p_.query_at(batch, row, head);
        const T* dy = in(args, 5) + p_.output_at(batch, row, head);
        if (!of_values_.run(block, part, work.probabilities, dy, of_value, work.products) ||
            !of_keys_.run(block, part, work.gradients, query, of_key, work.products) ||
            (with_queries && !add_queries(args, part, block, work))) {
          return false;
        }
      }
    }
    return true;
  }

  // The gradient of a block of queries.
  bool of_rows(const KernelArgs& args, int part, int64_t item) const {
    const Work work = work_of(args, part);
    const int64_t row = item % p_.row_blocks() * p_.block_rows;
    const int64_t head = item / p_.row_blocks() % p_.heads;
    const int64_t batch = item / p_.row_blocks() / p_.heads;
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      const ScoreBlock block = block_at(batch, head, row, column);
      if (block.columns == 0) break;
      if (!differentiate(args, part, block, work, static_cast<T>(p_.scale)) ||
          !add_queries(args, part, block, work)) {
        return false;
      }
    }
    return true;
  }

  bool add_queries(const KernelArgs& args, int part, const ScoreBlock& block,
                   const Work& work) const {
    const T* key = in(args, 1) + p_.key_at(block.batch, block.column, block.head);
    T* of_query = out(args, 0) + p_.query_at(block.batch, block.row, block.head);
    return of_queries_.run(block, part, work.gradients, key, of_query, work.products);
  }

  ScoreBlock block_at(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    return {batch, head, row, column, p_.end_row(row) - row, p_.seen_columns(row, column)};
  }

  // Probabilities of a block, and the gradients of its scores times `factor`.
  bool differentiate(const KernelArgs& args, int part, const ScoreBlock& block, const Work& work,
                     T factor) const {
    const T* value = in(args, 2) + p_.value_at(block.batch, block.column, block.head);
    const int64_t at = p_.output_at(block.batch, block.row, block.head);
    const T* y = in(args, 3) + at;
    const T* dy = in(args, 5) + at;
    const T* statistics = in(args, 4) + p_.statistics_at(block.batch, block.row, block.head);
    if (!scores_.compute(args, block, part, work.probabilities, work.products) ||
        !of_probabilities_.run(block, part, dy, value, work.gradients, work.products)) {
      return false;
    }
    const int64_t step = p_.heads * p_.width;
    for (int64_t i = 0; i < block.rows; ++i) {
      T* probabilities = work.probabilities + i * p_.block_columns;
      T* gradients = work.gradients + i * p_.block_columns;
      const auto count = static_cast<size_t>(scores_.seen(block, i));
      functions_.exponentials(probabilities, count, statistics[2 * i], 1 / statistics[2 * i + 1]);
      const T mean = functions_.dot(dy + i * step, y + i * step, static_cast<size_t>(p_.width));
      functions_.differentiate(probabilities, gradients, count, mean, factor);
      scores_.hide(args, block, i, gradients, 0);
      for (T* row : {probabilities, gradients}) std::fill(row + count, row + block.columns, T{0});
    }
    return true;
  }

  // One pass of its own, in which each element of the bias belongs to one thread.
  void run_bias(const KernelArgs& args) const {
    const Shape& shape = p_.bias_shape;
    const int64_t blocks = shape[2] == 1 ? 1 : p_.row_blocks();
    for_items(parts_, shape[0] * shape[1] * blocks, [&](int part, int64_t item) {
      const int64_t block = item % blocks, head = item / blocks % shape[1];
      const int64_t batch = item / blocks / shape[1];
      const auto each = [](int64_t size, int64_t all, int64_t index) {
        return size == 1 ? std::pair(int64_t{0}, all) : std::pair(index, index + 1);
      };
      const auto [batch_begin, batch_end] = each(shape[0], p_.batch, batch);
      const auto [head_begin, head_end] = each(shape[1], p_.heads, head);
      const auto [block_begin, block_end] = each(shape[2], p_.row_blocks(), block);
      for (int64_t b = batch_begin; b < batch_end; ++b) {
        for (int64_t h = head_begin; h < head_end; ++h) {
          for (int64_t r = block_begin; r < block_end; ++r) {
            if (!add_bias_rows(args, part, b, h, r * p_.block_rows)) return false;
          }
        }
      }
      return true;
    });
  }

  bool add_bias_rows(const KernelArgs& args, int part, int64_t batch, int64_t head,
                     int64_t row) const {
    const Work work = work_of(args, part);
    const ScoreOperand bias(p_.bias_shape);
    const int64_t step = bias.strides[3];
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      const ScoreBlock block = block_at(batch, head, row, column);
      if (block.columns == 0) break;
      if (!differentiate(args, part, block, work, 1)) return false;
      for (int64_t i = 0; i < block.rows; ++i) {
        const T* gradients = work.gradients + i * p_.block_columns;
        T* to = out(args, 3) + bias.at(block, i);
        for (int64_t j = 0; j < block.columns; ++j) to[j * step] += gradients[j];
      }
    }
    return true;
  }

  AttentionProblem p_;
  bool bias_gradient_;
  int parts_;
  Scores<T> scores_;
  // Products of blocks: dy v^T; p^T dy; ds k; ds^T q.
  BlockProducts of_probabilities_, of_values_, of_queries_, of_keys_;
  AttentionRows<T> functions_ = attention_rows<T>();
  size_t product_scratch_ = 0, block_bytes_ = 0, part_scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_attention_grad(const KernelSpec& spec) {
  if (auto kernel = through_float32(spec, make_attention_grad)) return kernel;
  const AttentionProblem problem(spec, 6);
  const bool bias_gradient = spec.attributes.get_bool("bias_gradient");
  if (spec.inputs[0].dtype == DType::Float64) {
    return std::make_unique<AttentionGrad<double>>(problem, bias_gradient);
  }
  return std::make_unique<AttentionGrad<float>>(problem, bias_gradient);
}

}  // namespace cornu::cpu
