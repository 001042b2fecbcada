// SPDX-License-Identifier: Apache-2.0
// Attention, backward: probabilities are recomputed, one block at a time, from the scores and the
// statistics that the forward kernel kept of each row.
#include <algorithm>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/backends/cpu/kernels/attention/attention.h"
#include "framework/core/threads.h"
#include "framework/graph/attention_dropout.h"

namespace cornu::cpu {
namespace {

template <class S>
class AttentionGrad : public Kernel {
 public:
  using T = Computed<S>;

  AttentionGrad(const AttentionProblem& problem, bool bias_gradient)
      : p_(problem),
        bias_gradient_(bias_gradient),
        parts_(compute_threads()),
        // Every sum has the same order either way: over blocks of keys, and over heads and their
        // blocks.
        by_heads_(problem.batch * problem.keys >= parts_),
        scores_(problem, parts_) {
    if (p_.empty()) return;
    prepare_products();
    lay_out_scratch();
  }

  size_t scratch_bytes() const override {
    return bias_at_ + (sums_bias_apart() ? bias_elements() * sizeof(T) : 0);
  }

  void run(const KernelArgs& args) override {
    const KernelUse use;
    if (p_.empty()) return clear(args);
    if (by_heads_) {
      for_items(parts_, p_.batch * p_.keys,
                [&](int part, int64_t item) { return of_key_head(args, part, item); });
    } else {
      for_items(parts_, p_.batch * p_.keys * p_.column_blocks(), [&](int part, int64_t item) {
        const int64_t column = item % p_.column_blocks() * p_.block_columns;
        return of_columns(args, part, item / p_.column_blocks(), column);
      });
      for_items(parts_, p_.batch * p_.heads * p_.row_blocks(),
                [&](int part, int64_t item) { return of_rows(args, part, item); });
    }
    if (bias_gradient_) run_bias(args);
  }

 private:
  static constexpr bool kSame = kComputedAsStored<S>;

  // A thread's scratch memory.
  struct Work {
    void* products;
    T* probabilities;
    T* gradients;             // of scores
    S* stored_probabilities;  // both as the operands of products
    S* stored_gradients;
    T* of_keys;  // sums for a block of keys and values, block_columns x ·
    T* of_values;
    T* of_queries;  // for all queries of a key's heads, or for a block of them
  };

  void lay_out_scratch() {
    size_t products = scores_.scratch_bytes();
    for (const BlockProducts* some : {&of_probabilities_, &of_values_, &of_queries_, &of_keys_}) {
      products = std::max(products, some->scratch_bytes());
    }
    ScratchLayout layout;
    layout.add<std::byte>(static_cast<int64_t>(products));
    const int64_t block = p_.block_rows * p_.block_columns;
    probabilities_at_ = layout.add<T>(block);
    gradients_at_ = layout.add<T>(block);
    stored_probabilities_at_ = kSame ? probabilities_at_ : layout.add<S>(block);
    stored_gradients_at_ = kSame ? gradients_at_ : layout.add<S>(block);
    keys_at_ = layout.add<T>(p_.block_columns * p_.size);
    values_at_ = layout.add<T>(p_.block_columns * p_.width);
    const int64_t queries = by_heads_ ? p_.group() * p_.rows : p_.block_rows;
    queries_at_ = layout.add<T>(kSame ? 0 : queries * p_.size);
    part_scratch_ = layout.bytes();
    bias_at_ = part_scratch_ * static_cast<size_t>(parts_);
  }

  void prepare_products() {
    const int64_t step = p_.block_columns;
    const int64_t q = p_.heads * p_.size, k = p_.keys * p_.size;
    const int64_t y = p_.heads * p_.width, v = p_.keys * p_.width;
    const auto prepare = [&](BlockProducts& products, auto shape_of) {
      products.prepare(p_, dtype_of<S>, parts_, shape_of);
    };
    prepare(of_probabilities_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{rows, columns, p_.width, {y, 1}, {1, v}, {step, 1}, false};
    });
    prepare(of_values_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{columns, p_.width, rows, {1, step}, {y, 1}, {p_.width, 1}, true};
    });
    prepare(of_queries_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{rows, p_.size, columns, {step, 1}, {k, 1}, {query_step(), 1}, true};
    });
    prepare(of_keys_, [=, this](int64_t rows, int64_t columns) {
      return BlockShape{columns, p_.size, rows, {1, step}, {q, 1}, {p_.size, 1}, true};
    });
  }

  void clear(const KernelArgs& args) const {
    const int64_t keys = p_.batch * p_.columns * p_.keys;
    const auto clear = [&](size_t output, int64_t count) {
      std::fill_n(static_cast<S*>(args.out[output]), count, S{});
    };
    clear(0, p_.batch * p_.rows * p_.heads * p_.size);
    clear(1, keys * p_.size);
    clear(2, keys * p_.width);
    if (bias_gradient_) clear(3, p_.bias_shape.num_elements());
  }

  static const S* in(const KernelArgs& args, size_t index) { return Scores<S>::in(args, index); }
  static S* out(const KernelArgs& args, size_t index) { return static_cast<S*>(args.out[index]); }

  Work work_of(const KernelArgs& args, int part) const {
    auto* scratch =
        static_cast<std::byte*>(args.scratch) + static_cast<size_t>(part) * part_scratch_;
    const auto sums = [&](size_t at) { return reinterpret_cast<T*>(scratch + at); };
    return {.products = scratch,
            .probabilities = sums(probabilities_at_),
            .gradients = sums(gradients_at_),
            .stored_probabilities = reinterpret_cast<S*>(scratch + stored_probabilities_at_),
            .stored_gradients = reinterpret_cast<S*>(scratch + stored_gradients_at_),
            .of_keys = sums(keys_at_),
            .of_values = sums(values_at_),
            .of_queries = sums(queries_at_)};
  }

  // Writes rows of `size` numbers, which are `step` apart in the result.
  void store(const T* sums, int64_t rows, int64_t size, S* to, int64_t step) const {
    for (int64_t i = 0; i < rows; ++i) {
      functions_.store(sums + i * size, static_cast<size_t>(size), to + i * step);
    }
  }

  // Gradients of queries are summed in the result if that has the sums' type, otherwise separately.
  // `at` and `apart`: the first row in the result and in the separate array.
  int64_t query_step() const { return kSame ? p_.heads * p_.size : p_.size; }
  T* query_sums(const KernelArgs& args, int64_t at, T* apart) const {
    if constexpr (kSame) {
      return out(args, 0) + at;
    } else {
      return apart;
    }
  }
  void clear_queries(T* sums, int64_t rows) const {
    for (int64_t i = 0; i < rows; ++i) std::fill_n(sums + i * query_step(), p_.size, T{0});
  }
  void store_queries(const KernelArgs& args, int64_t at, const T* sums, int64_t rows) const {
    if (!kSame) store(sums, rows, p_.size, out(args, 0) + at, p_.heads * p_.size);
  }

  // Computes the gradients of a whole key head and its queries.
  bool of_key_head(const KernelArgs& args, int part, int64_t item) const {
    const int64_t batch = item / p_.keys, first = item % p_.keys * p_.group();
    const auto each_head = [&](auto use) {
      for (int64_t i = 0; i < p_.group(); ++i) {
        const int64_t at = p_.query_at(batch, 0, first + i);
        use(at, query_sums(args, at, work_of(args, part).of_queries + i * p_.rows * p_.size));
      }
    };
    each_head([&](int64_t, T* sums) { clear_queries(sums, p_.rows); });
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      if (!of_columns(args, part, item, column)) return false;
    }
    each_head([&](int64_t at, T* sums) { store_queries(args, at, sums, p_.rows); });
    return true;
  }

  // Computes the gradients of a block of keys and values; if `by_heads_`, adds to those of queries.
  bool of_columns(const KernelArgs& args, int part, int64_t item, int64_t column) const {
    const Work work = work_of(args, part);
    const int64_t batch = item / p_.keys, first = item % p_.keys * p_.group();
    const int64_t columns = p_.end_column(column) - column;
    std::fill(work.of_keys, work.of_keys + columns * p_.size, T{0});
    std::fill(work.of_values, work.of_values + columns * p_.width, T{0});
    for (int64_t head = first; head < first + p_.group(); ++head) {
      for (int64_t row = 0; row < p_.rows; row += p_.block_rows) {
        const ScoreBlock block = block_at(batch, head, row, column);
        if (block.columns == 0) continue;
        if (!differentiate(args, part, block, work, static_cast<T>(p_.scale))) return false;
        const S* query = in(args, 0) + p_.query_at(batch, row, head);
        const S* dy = in(args, 5) + p_.output_at(batch, row, head);
        T* queries = query_sums(args, p_.query_at(batch, row, head),
                                work.of_queries + ((head - first) * p_.rows + row) * p_.size);
        if (!of_values_.run(block, part, work.stored_probabilities, dy, work.of_values,
                            work.products) ||
            !of_keys_.run(block, part, work.stored_gradients, query, work.of_keys, work.products) ||
            (by_heads_ && !add_queries(args, part, block, work, queries))) {
          return false;
        }
      }
    }
    store(work.of_keys, columns, p_.size, out(args, 1) + p_.key_at(batch, column, first),
          p_.keys * p_.size);
    store(work.of_values, columns, p_.width, out(args, 2) + p_.value_at(batch, column, first),
          p_.keys * p_.width);
    return true;
  }

  // Computes the gradient of a block of queries.
  bool of_rows(const KernelArgs& args, int part, int64_t item) const {
    const Work work = work_of(args, part);
    const int64_t row = item % p_.row_blocks() * p_.block_rows;
    const int64_t head = item / p_.row_blocks() % p_.heads;
    const int64_t batch = item / p_.row_blocks() / p_.heads;
    const int64_t rows = p_.end_row(row) - row;
    const int64_t at = p_.query_at(batch, row, head);
    T* const sums = query_sums(args, at, work.of_queries);
    clear_queries(sums, rows);
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      const ScoreBlock block = block_at(batch, head, row, column);
      if (block.columns == 0) break;
      if (!differentiate(args, part, block, work, static_cast<T>(p_.scale)) ||
          !add_queries(args, part, block, work, sums)) {
        return false;
      }
    }
    store_queries(args, at, sums, rows);
    return true;
  }

  bool add_queries(const KernelArgs& args, int part, const ScoreBlock& block, const Work& work,
                   T* sums) const {
    const S* key = in(args, 1) + p_.key_at(block.batch, block.column, block.head);
    return of_queries_.run(block, part, work.stored_gradients, key, sums, work.products);
  }

  ScoreBlock block_at(int64_t batch, int64_t head, int64_t row, int64_t column) const {
    return {batch, head, row, column, p_.end_row(row) - row, p_.seen_columns(row, column)};
  }

  // Computes the probabilities of a block after dropout, and the gradients of its scores times
  // `factor`.
  bool differentiate(const KernelArgs& args, int part, const ScoreBlock& block, const Work& work,
                     T factor) const {
    const S* value = in(args, 2) + p_.value_at(block.batch, block.column, block.head);
    const int64_t at = p_.output_at(block.batch, block.row, block.head);
    const S* y = in(args, 3) + at;
    const S* dy = in(args, 5) + at;
    const auto* statistics =
        static_cast<const T*>(args.in[4]) + p_.statistics_at(block.batch, block.row, block.head);
    if (!scores_.compute(args, block, part, work.probabilities, work.products) ||
        !of_probabilities_.run(block, part, dy, value, work.gradients, work.products)) {
      return false;
    }
    const int64_t step = p_.heads * p_.width;
    const auto kept = static_cast<T>(kept_scale(p_.dropout));
    for (int64_t i = 0; i < block.rows; ++i) {
      const int64_t own = i * p_.block_columns;
      T* probabilities = work.probabilities + own;
      T* gradients = work.gradients + own;
      const auto count = static_cast<size_t>(scores_.seen(block, i));
      functions_.exponentials(probabilities, count, statistics[2 * i], 1 / statistics[2 * i + 1]);
      if (scores_.drops()) scores_.drop(args, block, i, gradients, count, kept);
      const T mean = functions_.dot(dy + i * step, y + i * step, static_cast<size_t>(p_.width));
      functions_.differentiate(probabilities, gradients, count, mean, factor);
      scores_.hide(args, block, i, gradients, 0);
      if (scores_.drops()) scores_.drop(args, block, i, probabilities, count, kept);
      for (T* row : {probabilities, gradients}) std::fill(row + count, row + block.columns, T{0});
      if (kSame) continue;
      const auto columns = static_cast<size_t>(block.columns);
      functions_.store(probabilities, columns, work.stored_probabilities + own);
      functions_.store(gradients, columns, work.stored_gradients + own);
    }
    return true;
  }

  // Whether the bias gradient is summed in scratch memory, after the threads' parts.
  bool sums_bias_apart() const { return bias_gradient_ && !kSame && !p_.empty(); }
  size_t bias_elements() const { return static_cast<size_t>(p_.bias_shape.num_elements()); }

  // A separate pass, in which each element of the bias belongs to one thread.
  void run_bias(const KernelArgs& args) const {
    auto* sums = static_cast<T*>(
        sums_bias_apart() ? static_cast<std::byte*>(args.scratch) + bias_at_ : args.out[3]);
    std::fill(sums, sums + bias_elements(), T{0});
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
            if (!add_bias_rows(args, part, b, h, r * p_.block_rows, sums)) return false;
          }
        }
      }
      return true;
    });
    if (sums_bias_apart()) functions_.store(sums, bias_elements(), out(args, 3));
  }

  bool add_bias_rows(const KernelArgs& args, int part, int64_t batch, int64_t head, int64_t row,
                     T* sums) const {
    const Work work = work_of(args, part);
    const ScoreOperand bias(p_.bias_shape);
    const int64_t step = bias.strides[3];
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      const ScoreBlock block = block_at(batch, head, row, column);
      if (block.columns == 0) break;
      if (!differentiate(args, part, block, work, 1)) return false;
      for (int64_t i = 0; i < block.rows; ++i) {
        const T* gradients = work.gradients + i * p_.block_columns;
        T* to = sums + bias.at(block, i);
        for (int64_t j = 0; j < block.columns; ++j) to[j * step] += gradients[j];
      }
    }
    return true;
  }

  AttentionProblem p_;
  bool bias_gradient_;
  int parts_;
  bool by_heads_;  // each thread takes whole key heads
  Scores<S> scores_;
  // Products of blocks: dy v^T; p^T dy; ds k; ds^T q.
  BlockProducts of_probabilities_, of_values_, of_queries_, of_keys_;
  AttentionRows<S> functions_ = attention_rows<S>();
  size_t probabilities_at_ = 0, gradients_at_ = 0;
  size_t stored_probabilities_at_ = 0, stored_gradients_at_ = 0;
  size_t keys_at_ = 0, values_at_ = 0, queries_at_ = 0;
  size_t part_scratch_ = 0, bias_at_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_attention_grad(const KernelSpec& spec) {
  const bool bias_gradient = spec.attributes.get_bool("bias_gradient");
  return make_in_its_dtype(spec, make_attention_grad, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<AttentionGrad<decltype(stored)>>(AttentionProblem(spec, 6),
                                                             bias_gradient);
  });
}

}  // namespace cornu::cpu
