// SPDX-License-Identifier: Apache-2.0
// cond and while: kernels that run whole programs; custom_gradient, which hands values on.
#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/program.h"

namespace cornu::cpu {
namespace {

std::unique_ptr<Program> make_program(const Attributes& attributes, std::string_view name) {
  return std::make_unique<Program>(optimize(attributes.get_graph(name), std::string(name)));
}

class CondKernel : public Kernel {
 public:
  explicit CondKernel(const KernelSpec& spec)
      : then_(make_program(spec.attributes, "then")),
        else_(make_program(spec.attributes, "else")),
        operands_(spec.inputs.size() - 1),
        outputs_(spec.outputs.size()) {}

  size_t scratch_bytes() const override {
    return std::max(then_->workspace_bytes(), else_->workspace_bytes());
  }

  void run(const KernelArgs& args) override {
    const bool chosen = *static_cast<const bool*>(args.in[0]);
    (chosen ? then_ : else_)
        ->run({.inputs = {args.in + 1, operands_},
               .states = {},
               .outputs = {args.out, outputs_},
               .workspace = static_cast<std::byte*>(args.scratch),
               .group = args.group,
               .replica = args.replica});
  }

 private:
  std::unique_ptr<Program> then_;
  std::unique_ptr<Program> else_;
  size_t operands_;
  size_t outputs_;
};

// Its scratch memory holds the loop's variables twice, of this iteration and of the next, and then
// what condition and body need.
class WhileKernel : public Kernel {
 public:
  explicit WhileKernel(const KernelSpec& spec)
      : condition_(make_program(spec.attributes, "condition")),
        body_(make_program(spec.attributes, "body")) {
    for (const TensorType& type : spec.inputs) bytes_.push_back(type.bytes());
    for (size_t i = 0; i < 2 * bytes_.size(); ++i) {
      offsets_.push_back(variables_bytes_);
      variables_bytes_ += (bytes_[i % bytes_.size()] + 63) / 64 * 64;
    }
  }

  size_t scratch_bytes() const override {
    return variables_bytes_ + std::max(condition_->workspace_bytes(), body_->workspace_bytes());
  }

  void run(const KernelArgs& args) override {
    const size_t count = bytes_.size();
    auto* scratch = static_cast<std::byte*>(args.scratch);
    std::byte* workspace = scratch + variables_bytes_;
    buffers_.clear();
    for (size_t offset : offsets_) buffers_.push_back(scratch + offset);
    const std::span<void* const> sides[] = {{buffers_.data(), count},
                                            {buffers_.data() + count, count}};
    std::span<const void* const> current(args.in, count);
    size_t next = 0;
    bool go_on = false;
    void* condition_out[] = {&go_on};
    for (;;) {
      condition_->run({.inputs = current,
                       .states = {},
                       .outputs = condition_out,
                       .workspace = workspace,
                       .group = args.group,
                       .replica = args.replica});
      if (!go_on) break;
      body_->run({.inputs = current,
                  .states = {},
                  .outputs = sides[next],
                  .workspace = workspace,
                  .group = args.group,
                  .replica = args.replica});
      current = {sides[next].data(), count};
      next = 1 - next;
    }
    for (size_t i = 0; i < count; ++i) {
      if (bytes_[i] > 0) std::memcpy(args.out[i], current[i], bytes_[i]);
    }
  }

 private:
  std::unique_ptr<Program> condition_;
  std::unique_ptr<Program> body_;
  std::vector<size_t> bytes_;    // of each variable
  std::vector<size_t> offsets_;  // of the variables, first of one side, then of the other
  std::vector<void*> buffers_;
  size_t variables_bytes_ = 0;
};

std::unique_ptr<Kernel> make_custom_gradient(const KernelSpec& spec) {
  std::vector<size_t> bytes;
  Aliases may_alias;  // each output may lie where its input does
  for (const TensorType& type : spec.outputs) {
    const int index = static_cast<int>(bytes.size());
    may_alias.emplace_back(index, index);
    bytes.push_back(type.bytes());
  }
  auto kernel = make_kernel([bytes](const KernelArgs& args) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] > 0 && args.out[i] != args.in[i]) {
        std::memcpy(args.out[i], args.in[i], bytes[i]);
      }
    }
  });
  kernel->set_may_alias(std::move(may_alias));
  return kernel;
}

}  // namespace

void register_control_kernels(KernelTable& table) {
  table.add("cond", [](const KernelSpec& spec) { return std::make_unique<CondKernel>(spec); });
  table.add("custom_gradient", make_custom_gradient);
  table.add("while", [](const KernelSpec& spec) { return std::make_unique<WhileKernel>(spec); });
}

}  // namespace cornu::cpu
