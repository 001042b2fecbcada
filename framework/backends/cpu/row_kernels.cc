// SPDX-License-Identifier: Apache-2.0
// update_rows: runs a program for some rows of tables at a time, in place.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/backends/cpu/kernels/shape/distinct.h"
#include "framework/backends/cpu/loop_kernels.h"

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

}  // namespace

void register_update_kernels(KernelTable& table) {
  table.add("update_rows",
            [](const KernelSpec& spec) { return std::make_unique<UpdateRows>(spec); });
}

}  // namespace cornu::cpu
