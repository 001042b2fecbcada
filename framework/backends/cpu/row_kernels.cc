// SPDX-License-Identifier: Apache-2.0
// Programs for some rows at a time: of tables, in place, by update_rows; of arrays, by row_blocks.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/backends/cpu/kernels/elementwise/memory.h"
#include "framework/backends/cpu/kernels/shape/distinct.h"
#include "framework/backends/cpu/loop_kernels.h"
#include "framework/backends/cpu/passes/row_division.h"
#include "framework/core/threads.h"

namespace cornu::cpu {
namespace {

class UpdateRows : public Kernel {
 public:
  explicit UpdateRows(const KernelSpec& spec)
      : program_(make_program(spec.attributes, "body")),
        most_(spec.inputs[0].shape[0]),
        block_(body_of(spec).type(body_of(spec).inputs[0]).shape[0]),
        row_bytes_(spec.inputs[1].bytes() / static_cast<size_t>(most_)),
        operands_(spec.inputs.size()),
        numbers_(static_cast<size_t>(block_)) {
    Aliases may_alias;
    for (int i = 0; i < static_cast<int>(spec.outputs.size()); ++i) {
      table_bytes_.push_back(spec.outputs[static_cast<size_t>(i)].bytes());
      may_alias.emplace_back(2 + i, i);
    }
    set_may_alias(std::move(may_alias));
  }

  // Values of a last block that the arrays have no room for, then the program's workspace.
  size_t scratch_bytes() const override { return last_bytes() + program_->workspace_bytes(); }

  void run(const KernelArgs& args) override {
    operands_.assign(args.in, args.in + operands_.size());
    for (size_t i = 0; i < table_bytes_.size(); ++i) {
      if (args.out[i] != args.in[2 + i]) std::memcpy(args.out[i], args.in[2 + i], table_bytes_[i]);
      operands_[2 + i] = args.out[i];
    }
    const int64_t count = count_rows(static_cast<const int64_t*>(args.in[0]), most_);
    for (int64_t begin = 0; begin < count; begin += block_) {
      update(args, begin, std::min(block_, count - begin));
    }
  }

 private:
  static const Graph& body_of(const KernelSpec& spec) { return spec.attributes.get_graph("body"); }
  size_t last_bytes() const {
    return most_ % block_ == 0 ? 0 : (static_cast<size_t>(block_) * row_bytes_ + 63) / 64 * 64;
  }

  void update(const KernelArgs& args, int64_t begin, int64_t count) {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    operands_[0] = static_cast<const int64_t*>(args.in[0]) + begin;
    operands_[1] =
        static_cast<const std::byte*>(args.in[1]) + static_cast<size_t>(begin) * row_bytes_;
    if (count < block_) {
      std::copy_n(static_cast<const int64_t*>(operands_[0]), count, numbers_.begin());
      std::fill(numbers_.begin() + count, numbers_.end(), -1);
      operands_[0] = numbers_.data();
    }
    if (begin + block_ > most_) {
      std::memcpy(scratch, operands_[1], static_cast<size_t>(count) * row_bytes_);
      operands_[1] = scratch;
    }
    program_->run({.inputs = operands_,
                   .states = {},
                   .outputs = {args.out, table_bytes_.size()},
                   .workspace = scratch + last_bytes(),
                   .group = args.group});
  }

  std::unique_ptr<Program> program_;
  int64_t most_;   // rows
  int64_t block_;  // rows
  size_t row_bytes_;
  std::vector<size_t> table_bytes_;
  std::vector<const void*> operands_;
  std::vector<int64_t> numbers_;  // of a last block
};

// Divides the blocks among the threads, each of which has programs of its own.
class RowBlocks : public Kernel {
 public:
  explicit RowBlocks(const KernelSpec& spec)
      : RowBlocks(*RowDivision::of(spec.attributes.get_graph("body"),
                                   spec.attributes.get_int("block_bytes"))) {}

  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

  void run(const KernelArgs& args) override {
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      const ComputeThreadsScope alone(1);
      Part& part = *parts_[static_cast<size_t>(index)];
      auto* const scratch =
          static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
      for (int64_t row = part.begin; row < part.end; row += block_) {
        part.pointers.bind(args, row);
        Program& program = part.end - row < block_ ? *part.last : part.program;
        program.run({.inputs = {part.pointers.in(), part.pointers.inputs()},
                     .states = {},
                     .outputs = {part.pointers.out(), part.pointers.outputs()},
                     .workspace = scratch,
                     .group = args.group});
      }
    });
  }

 private:
  static constexpr size_t kAlignment = 256;

  struct Part {
    Part(const Graph& graph, const RowPointers& of_arrays, int64_t first, int64_t behind)
        : program(graph), pointers(of_arrays), begin(first), end(behind) {}

    Program program;
    std::unique_ptr<Program> last;  // for fewer rows than a block
    RowPointers pointers;
    int64_t begin, end;  // rows
  };

  explicit RowBlocks(const RowDivision& division) : block_(division.block) {
    const ComputeThreadsScope alone(1);
    const int64_t batch = division.rows.batch();
    const int64_t blocks = (batch + block_ - 1) / block_;
    const int64_t parts = std::min<int64_t>(threads_, blocks);
    const Graph body = optimize(division.rows.with_rows(block_), "body");
    const RowPointers pointers(division.rows);
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t begin = blocks * i / parts * block_;
      const int64_t end = std::min(blocks * (i + 1) / parts * block_, batch);
      parts_.push_back(std::make_unique<Part>(body, pointers, begin, end));
      Part& part = *parts_.back();
      if (const int64_t rest = (end - begin) % block_) {
        part.last = std::make_unique<Program>(optimize(division.rows.with_rows(rest), "body"));
      }
      for (const Program* program : {&part.program, part.last.get()}) {
        if (program) part_scratch_ = std::max(part_scratch_, program->workspace_bytes());
      }
    }
    set_may_alias(aliases_of(division));
    part_scratch_ = round_up(part_scratch_, kAlignment);
  }

  // Those of all programs, for inputs with rows of their own.
  Aliases aliases_of(const RowDivision& division) const {
    Aliases aliases = parts_.front()->program.may_alias();
    std::erase_if(aliases, [&](const std::pair<int, int>& alias) {
      const ValueId input = division.rows.body().inputs[static_cast<size_t>(alias.first)];
      return !division.rows.is_divided(input) || std::ranges::any_of(parts_, [&](const auto& part) {
        return part->last &&
               std::ranges::find(part->last->may_alias(), alias) == part->last->may_alias().end();
      });
    });
    return aliases;
  }

  const int64_t threads_ = compute_threads();
  int64_t block_;  // rows
  std::vector<std::unique_ptr<Part>> parts_;
  size_t part_scratch_ = 0;
};

}  // namespace

void register_row_program_kernels(KernelTable& table) {
  table.add("update_rows",
            [](const KernelSpec& spec) { return std::make_unique<UpdateRows>(spec); });
  table.add("row_blocks", [](const KernelSpec& spec) { return std::make_unique<RowBlocks>(spec); });
}

}  // namespace cornu::cpu
