// SPDX-License-Identifier: Apache-2.0
// Attention, forward: a block of queries processes the keys block by block, keeping the largest
// score and the sum of exponentials of each row so far.
#include "framework/backends/cpu/kernels/attention/attention.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "framework/backends/cpu/exit_gate.h"
#include "framework/core/threads.h"
#include "framework/graph/attention_dropout.h"

namespace cornu::cpu {

namespace {

constexpr int64_t kBlockRows = 128;
// Used where much lies beyond the diagonal, or where there is little to divide among threads.
constexpr int64_t kFewBlockRows = 64;
constexpr int64_t kManyBlocks = 64;
constexpr int64_t kBlockColumns = 256;

template <class S>
class Attention : public Kernel {
 public:
  using T = Computed<S>;

  explicit Attention(const AttentionProblem& problem)
      : p_(problem), parts_(compute_threads()), scores_(problem, parts_) {
    if (p_.empty()) return;
    products_.prepare(p_, dtype_of<S>, parts_, [&](int64_t rows, int64_t columns) {
      return BlockShape{.m = rows,
                        .n = p_.width,
                        .k = columns,
                        .a = {p_.block_columns, 1},
                        .b = {p_.keys * p_.width, 1},
                        .out = {p_.width, 1},
                        .add = true};
    });
    ScratchLayout layout;
    layout.add<std::byte>(
        static_cast<int64_t>(std::max(scores_.scratch_bytes(), products_.scratch_bytes())));
    const int64_t block = p_.block_rows * p_.block_columns;
    scores_at_ = layout.add<T>(block);
    outputs_at_ = layout.add<T>(p_.block_rows * p_.width);
    stored_at_ = kSame ? scores_at_ : layout.add<S>(block);
    part_scratch_ = layout.bytes();
  }

  size_t scratch_bytes() const override { return part_scratch_ * static_cast<size_t>(parts_); }

  void run(const KernelArgs& args) override {
    const KernelUse use;
    if (p_.empty()) {
      const int64_t outputs = p_.batch * p_.rows * p_.heads;
      std::fill_n(static_cast<S*>(args.out[0]), outputs * p_.width, S{});
      std::fill_n(static_cast<T*>(args.out[1]), outputs * 2, T{});
      return;
    }
    const int64_t blocks = p_.row_blocks();
    for_items(parts_, p_.batch * p_.heads * blocks, [&](int part, int64_t item) {
      const int64_t row = item % blocks * p_.block_rows;
      const int64_t head = item / blocks % p_.heads;
      return rows_of(args, part, item / blocks / p_.heads, head, row);
    });
  }

 private:
  static constexpr bool kSame = kComputedAsStored<S>;

  bool rows_of(const KernelArgs& args, int part, int64_t batch, int64_t head, int64_t row) const {
    auto* scratch =
        static_cast<std::byte*>(args.scratch) + static_cast<size_t>(part) * part_scratch_;
    T* const scores = reinterpret_cast<T*>(scratch + scores_at_);
    T* const outputs = reinterpret_cast<T*>(scratch + outputs_at_);
    S* const stored = reinterpret_cast<S*>(scratch + stored_at_);  // exponentials, for the product
    T* const statistics = static_cast<T*>(args.out[1]) + p_.statistics_at(batch, row, head);
    const int64_t rows = p_.end_row(row) - row;
    std::fill(outputs, outputs + rows * p_.width, T{0});
    for (int64_t i = 0; i < rows; ++i) {
      statistics[2 * i] = -std::numeric_limits<T>::infinity();
      statistics[2 * i + 1] = 0;
    }
    for (int64_t column = 0; column < p_.columns; column += p_.block_columns) {
      const ScoreBlock block{batch, head, row, column, rows, p_.seen_columns(row, column)};
      if (block.columns == 0) break;
      if (!scores_.compute(args, block, part, scores, scratch)) return false;
      for (int64_t i = 0; i < rows; ++i) {
        T* const row_scores = scores + i * p_.block_columns;
        const int64_t seen = scores_.seen(block, i);
        if (seen > 0) {
          add_row(row_scores, seen, statistics + 2 * i, outputs + i * p_.width);
          // The sum of exponentials includes those that dropout drops.
          if (scores_.drops()) {
            scores_.drop(args, block, i, row_scores, static_cast<size_t>(seen), T{1});
          }
        }
        std::fill(row_scores + seen, row_scores + block.columns, T{0});
        if (!kSame) {
          functions_.store(row_scores, static_cast<size_t>(block.columns),
                           stored + i * p_.block_columns);
        }
      }
      const S* value = Scores<S>::in(args, 2) + p_.value_at(batch, column, head);
      if (!products_.run(block, part, stored, value, outputs, scratch)) return false;
    }
    const auto width = static_cast<size_t>(p_.width);
    const auto kept = static_cast<T>(kept_scale(p_.dropout));
    S* const out = static_cast<S*>(args.out[0]) + p_.output_at(batch, row, head);
    for (int64_t i = 0; i < rows; ++i) {
      T* const of_row = outputs + i * p_.width;
      functions_.scale(of_row, width, kept / statistics[2 * i + 1]);
      functions_.store(of_row, width, out + i * p_.heads * p_.width);
    }
    return true;
  }

  // Turns scores into exponentials, and rescales the row's results so far to its new largest score.
  void add_row(T* scores, int64_t count, T* statistics, T* outputs) const {
    const T old = statistics[0];
    const T largest = std::max(old, functions_.largest(scores, static_cast<size_t>(count)));
    // If all scores so far are -infinity, there are no exponentials yet: later scores decide.
    const T shift = std::isinf(largest) && largest < 0 ? 0 : largest;
    if (largest > old) {
      const T factor = std::exp(old - shift);
      statistics[0] = largest;
      statistics[1] *= factor;
      functions_.scale(outputs, static_cast<size_t>(p_.width), factor);
    }
    statistics[1] += functions_.exponentials(scores, static_cast<size_t>(count), shift, 1);
  }

  AttentionProblem p_;
  int parts_;
  Scores<S> scores_;
  BlockProducts products_;
  AttentionRows<S> functions_ = attention_rows<S>();
  size_t scores_at_ = 0, outputs_at_ = 0, stored_at_ = 0;
  size_t part_scratch_ = 0;
};

std::unique_ptr<Kernel> make_attention(const KernelSpec& spec) {
  return make_in_its_dtype(spec, make_attention, [&](auto stored) -> std::unique_ptr<Kernel> {
    return std::make_unique<Attention<decltype(stored)>>(AttentionProblem(spec, 3));
  });
}

}  // namespace

AttentionProblem::AttentionProblem(const KernelSpec& spec, size_t first_optional)
    : batch(spec.inputs[0].shape[0]),
      rows(spec.inputs[0].shape[1]),
      columns(spec.inputs[1].shape[1]),
      heads(spec.inputs[0].shape[2]),
      keys(spec.inputs[1].shape[2]),
      size(spec.inputs[0].shape[3]),
      width(spec.inputs[2].shape[3]),
      scale(spec.attributes.get_double("scale")),
      dropout(attention_dropout(spec.attributes)),
      causal(spec.attributes.get_bool("causal")),
      bias(spec.attributes.get_bool("bias")),
      mask(spec.attributes.get_bool("mask")),
      bias_input(first_optional),
      mask_input(first_optional + (bias ? 1 : 0)),
      kept_input(mask_input + (mask ? 1 : 0)),
      bias_shape(bias ? spec.inputs[bias_input].shape : Shape()),
      mask_shape(mask ? spec.inputs[mask_input].shape : Shape()),
      block_rows(std::min(rows, kBlockRows)),
      block_columns(std::min(columns, kBlockColumns)) {
  const bool many = block_rows > 0 && batch * heads >= kManyBlocks / row_blocks();
  if ((causal && !mask) || !many) block_rows = std::min(rows, kFewBlockRows);
}

void for_items(int parts, int64_t items, FunctionRef<bool(int, int64_t)> work) {
  std::atomic<int64_t> next = 0;
  std::atomic<bool> failed = false;
  parallel_parts(parts, [&](int part) {
    for (int64_t item = next++; item < items && !failed; item = next++) {
      if (!work(part, item)) failed = true;
    }
  });
  check<Internal>(!failed, "attention: oneDNN failed.");
}

void register_attention_kernels(KernelTable& table) {
  table.add("attention", make_attention);
  table.add("attention_grad", make_attention_grad);
}

}  // namespace cornu::cpu
