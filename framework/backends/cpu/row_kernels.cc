// SPDX-License-Identifier: Apache-2.0
// update_rows: runs a program for some rows at a time, and puts what it gives into tables.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "framework/backends/cpu/kernels/shape/index.h"
#include "framework/backends/cpu/loop_kernels.h"

namespace cornu::cpu {
namespace {

// Each row is read before it is written, and once: tables may be updated in place.
class UpdateRows : public Kernel {
 public:
  explicit UpdateRows(const KernelSpec& spec)
      : program_(make_program(spec.attributes, "body")),
        tables_(static_cast<size_t>(spec.attributes.get_int("tables"))),
        operands_(spec.inputs.size()),
        most_(spec.inputs[0].shape[0]),
        block_(body_of(spec).type(body_of(spec).inputs[0]).shape[0]),
        row_bytes_(spec.inputs[1].bytes() / static_cast<size_t>(most_)) {
    Aliases may_alias;
    for (size_t i = 0; i < tables_; ++i) {
      const TensorType& type = spec.inputs[2 + i];
      table_bytes_.push_back(type.bytes());
      table_row_bytes_.push_back(type.bytes() / static_cast<size_t>(type.shape[0]));
      may_alias.emplace_back(static_cast<int>(2 + i), static_cast<int>(i));
    }
    set_may_alias(std::move(may_alias));
    place_in_scratch();
  }

  size_t scratch_bytes() const override { return program_at_ + program_->workspace_bytes(); }

  void run(const KernelArgs& args) override {
    for (size_t i = 0; i < tables_; ++i) {
      if (args.out[i] != args.in[2 + i]) std::memcpy(args.out[i], args.in[2 + i], table_bytes_[i]);
    }
    const auto* const numbers = static_cast<const int64_t*>(args.in[0]);
    const int64_t count = std::find(numbers, numbers + most_, int64_t{-1}) - numbers;
    for (int64_t begin = 0; begin < count; begin += block_) {
      update(args, begin, std::min(block_, count - begin));
    }
  }

 private:
  static const Graph& body_of(const KernelSpec& spec) { return spec.attributes.get_graph("body"); }

  void place_in_scratch() {
    auto place = [at = size_t{0}](size_t bytes) mutable {
      return std::exchange(at, (at + bytes + 63) / 64 * 64);
    };
    const auto block = static_cast<size_t>(block_);
    numbers_at_ = place(block * sizeof(int64_t));
    values_at_ = place(block * row_bytes_);
    for (const size_t bytes : table_row_bytes_) results_at_.push_back(place(block * bytes));
    program_at_ = place(0);
    results_.resize(tables_);
  }

  void update(const KernelArgs& args, int64_t begin, int64_t count) {
    auto* const scratch = static_cast<std::byte*>(args.scratch);
    const auto* numbers = static_cast<const int64_t*>(args.in[0]) + begin;
    const auto* values =
        static_cast<const std::byte*>(args.in[1]) + static_cast<size_t>(begin) * row_bytes_;
    operands_.assign(args.in, args.in + operands_.size());
    operands_[0] = numbers;
    operands_[1] = values;
    if (count < block_) {
      operands_[0] = padded(scratch + numbers_at_, numbers, count, sizeof(int64_t), -1);
      operands_[1] = padded(scratch + values_at_, values, count, row_bytes_, 0);
    }
    for (size_t i = 0; i < tables_; ++i) results_[i] = scratch + results_at_[i];
    program_->run({.inputs = operands_,
                   .states = {},
                   .outputs = results_,
                   .workspace = scratch + program_at_,
                   .group = args.group});
    for (size_t i = 0; i < tables_; ++i) {
      put(static_cast<std::byte*>(args.out[i]), numbers, scratch + results_at_[i], count,
          table_row_bytes_[i]);
    }
  }

  // A copy of the first `count` of a block's elements, then such bytes.
  const void* padded(std::byte* to, const void* from, int64_t count, size_t bytes, int behind) {
    const size_t size = static_cast<size_t>(count) * bytes;
    std::memcpy(to, from, size);
    std::memset(to + size, behind, static_cast<size_t>(block_) * bytes - size);
    return to;
  }

  static void put(std::byte* table, const int64_t* numbers, const std::byte* rows, int64_t count,
                  size_t bytes) {
    const int64_t grain = kGatherGrainBytes / static_cast<int64_t>(std::max<size_t>(1, bytes));
    parallel_for(count, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        std::memcpy(table + static_cast<size_t>(numbers[i]) * bytes,
                    rows + static_cast<size_t>(i) * bytes, bytes);
      }
    });
  }

  std::unique_ptr<Program> program_;
  size_t tables_;
  std::vector<const void*> operands_;
  int64_t most_;   // rows
  int64_t block_;  // rows
  size_t row_bytes_;
  std::vector<size_t> table_bytes_;
  std::vector<size_t> table_row_bytes_;
  std::vector<void*> results_;
  // In the scratch memory: a last block that isn't full, what the program gives, its workspace.
  size_t numbers_at_ = 0;
  size_t values_at_ = 0;
  std::vector<size_t> results_at_;
  size_t program_at_ = 0;
};

}  // namespace

void register_update_kernels(KernelTable& table) {
  table.add("update_rows",
            [](const KernelSpec& spec) { return std::make_unique<UpdateRows>(spec); });
}

}  // namespace cornu::cpu
