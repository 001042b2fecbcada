// SPDX-License-Identifier: Apache-2.0
// cond, which runs whole programs, and custom_gradient, which passes values through.
#include <algorithm>
#include <cstring>

#include "framework/backends/cpu/loop_kernels.h"

namespace cornu::cpu {
namespace {

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
               .group = args.group});
  }

 private:
  std::unique_ptr<Program> then_;
  std::unique_ptr<Program> else_;
  size_t operands_;
  size_t outputs_;
};

std::unique_ptr<Kernel> make_custom_gradient(const KernelSpec& spec) {
  std::vector<size_t> bytes;
  Aliases may_alias;  // each output may share its input's memory
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
  register_loop_kernels(table);
  register_row_program_kernels(table);
}

}  // namespace cornu::cpu
