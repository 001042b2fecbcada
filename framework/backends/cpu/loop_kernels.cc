// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/loop_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/graph/iterated_body.h"

namespace cornu::cpu {
namespace {

thread_local LoopCounts counts;

// A loop's body, as a program.
class LoopBody : public LoopMachine {
 public:
  LoopBody(const KernelSpec& spec, size_t xs)
      : LoopBody(optimize(spec.attributes.get_graph("body"), "body"),
                 static_cast<size_t>(spec.attributes.get_int("carries")), xs) {}

  IteratedBody& iterations() { return iterations_; }
  size_t spare_bytes() const { return iterations_.spare_bytes(); }
  size_t scratch_bytes() const { return spare_bytes() + program_.workspace_bytes(); }
  void set_group(CollectiveGroup* group) { group_ = group; }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs,
           std::byte* workspace) override {
    ++counts.iterations;
    program_.run({.inputs = inputs,
                  .states = {},
                  .outputs = outputs,
                  .workspace = workspace,
                  .group = group_});
  }
  void copy(void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    counts.copied_bytes += static_cast<int64_t>(bytes);
  }
  void zero(void* to, size_t bytes) override { std::memset(to, 0, bytes); }

 private:
  LoopBody(Graph graph, size_t carries, size_t xs)
      : iterations_(graph, carries, xs), program_(std::move(graph)) {}

  IteratedBody iterations_;
  Program program_;
  CollectiveGroup* group_ = nullptr;
};

class ScanKernel : public Kernel {
 public:
  explicit ScanKernel(const KernelSpec& spec)
      : body_(spec, static_cast<size_t>(spec.attributes.get_int("xs"))),
        carries_(static_cast<size_t>(spec.attributes.get_int("carries"))),
        length_(spec.attributes.get_int("length")),
        reverse_(spec.attributes.get_bool("reverse")),
        count_(spec.attributes.get_bool("counted") ? static_cast<int>(spec.inputs.size()) - 1
                                                   : -1) {}

  size_t scratch_bytes() const override { return body_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    int64_t iterations = length_;
    if (count_ >= 0) {
      iterations = std::clamp<int64_t>(*static_cast<const int64_t*>(args.in[count_]), 0, length_);
    }
    const LoopRun run{
        body_,   args.in,   args.out, args.out + carries_, static_cast<std::byte*>(args.scratch),
        length_, iterations};
    body_.set_group(args.group);
    body_.iterations().run_all(run, reverse_);
  }

 private:
  LoopBody body_;
  size_t carries_;
  int64_t length_;
  bool reverse_;
  int count_;  // index of the operand; -1: none
};

class WhileKernel : public Kernel {
 public:
  explicit WhileKernel(const KernelSpec& spec)
      : condition_(make_program(spec.attributes, "condition")),
        body_(spec, 0),
        carries_(static_cast<size_t>(spec.attributes.get_int("carries"))),
        maximum_(spec.attributes.get_int("maximum")) {}

  size_t scratch_bytes() const override {
    return std::max(body_.spare_bytes() + condition_->workspace_bytes(), body_.scratch_bytes());
  }

  void run(const KernelArgs& args) override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    const LoopRun run{
        body_, args.in, args.out, args.out + carries_ + 1, scratch, std::max<int64_t>(maximum_, 0),
        -1};
    body_.set_group(args.group);
    const int64_t iterations = body_.iterations().run_while(
        run, maximum_, [&] { return condition_holds(args, scratch + body_.spare_bytes()); });
    *static_cast<int64_t*>(args.out[carries_]) = iterations;
  }

 private:
  bool condition_holds(const KernelArgs& args, std::byte* workspace) {
    bool result = false;
    void* out[] = {&result};
    condition_->run({.inputs = body_.iterations().operands(),
                     .states = {},
                     .outputs = out,
                     .workspace = workspace,
                     .group = args.group});
    return result;
  }

  std::unique_ptr<Program> condition_;
  LoopBody body_;
  size_t carries_;
  int64_t maximum_;  // -1: unbounded
};

}  // namespace

LoopCounts loop_counts() { return counts; }

std::unique_ptr<Program> make_program(const Attributes& attributes, std::string_view name) {
  return std::make_unique<Program>(optimize(attributes.get_graph(name), std::string(name)));
}

void register_loop_kernels(KernelTable& table) {
  table.add("scan", [](const KernelSpec& spec) { return std::make_unique<ScanKernel>(spec); });
  table.add("while", [](const KernelSpec& spec) { return std::make_unique<WhileKernel>(spec); });
}

}  // namespace cornu::cpu
