// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/program.h"

#include <algorithm>
#include <utility>

#include "framework/backends/cuda/collectives.h"
#include "framework/backends/cuda/control.h"

namespace cornu::cuda {
namespace {

constexpr size_t kProgramAlignment = 256;  // for arrays and scratch memory: required by libraries

// An op with its own kernels.
class KernelInstruction : public Instruction {
 public:
  KernelInstruction(const KernelSpec& spec, GpuDevice& device, bool specialize)
      : op_(spec, device, specialize) {}

  void enqueue(const OpMemory& memory, RunContext& context) override {
    op_.run(context.device, memory);
  }
  std::string describe() const override { return op_.describe(); }
  size_t scratch_bytes() const override { return op_.scratch_bytes(); }
  Aliases aliases() const override { return op_.aliases(); }
  void collect(std::vector<LoweredOp*>& ops) override { ops.push_back(&op_); }
  void collect_checks(Checks& checks) const override {
    checks.insert(op_.checks().begin(), op_.checks().end());
  }

 private:
  LoweredOp op_;
};

std::unique_ptr<Instruction> make_instruction(const KernelSpec& spec, GpuDevice& device,
                                              bool specialize) {
  if (auto control = make_control(spec, device)) return control;
  if (auto collective = make_collective(spec)) return collective;
  return std::make_unique<KernelInstruction>(spec, device, specialize);
}

}  // namespace

bool is_instruction(const KernelSpec& spec, Runtime& runtime) {
  if (is_control(spec.op) || make_collective(spec)) return true;
  Lowering lowering(runtime, 0, false);
  return lowering_table().try_lower(spec, lowering);
}

Program::Program(const Graph& graph, GpuDevice& device, bool specialize) : device_(device) {
  passes::Placement placement = passes::place_values(
      graph,
      [&](const passes::Placement::Instruction& instruction) {
        const Node& node = instruction.node;
        instructions_.push_back({device.with_memory([&] {
                                   return make_instruction(
                                       {*node.op, node.attributes, instruction.in, instruction.out},
                                       device, specialize);
                                 }),
                                 {},
                                 {},
                                 {}});
        const Instruction& made = *instructions_.back().instruction;
        return passes::KernelNeeds{made.scratch_bytes(), made.aliases()};
      },
      kProgramAlignment, passes::RefusedValues::AreNoted);
  copies_ = std::move(placement.copies);
  workspace_bytes_ = placement.workspace_bytes;
  for (size_t i = 0; i < instructions_.size(); ++i) {
    Placed& placed = instructions_[i];
    placed.in_at = std::move(placement.instructions[i].in_at);
    placed.out_at = std::move(placement.instructions[i].out_at);
    placed.scratch = placement.instructions[i].scratch;
    const int64_t nodes = placed.instruction->replayed_nodes();
    replayed_nodes_ = std::min(nodes, Instruction::kNever - replayed_nodes_) + replayed_nodes_;
    communicates_ = communicates_ || placed.instruction->communicates();
    placed.instruction->collect_checks(checks_);
  }
  for (const Tensor& constant : placement.constants) constants_.push_back(device.upload(constant));
}

Program::~Program() = default;

void Program::collect(std::vector<LoweredOp*>& ops) {
  for (Placed& placed : instructions_) placed.instruction->collect(ops);
}

void Program::load() {
  std::vector<LoweredOp*> ops;
  collect(ops);
  LoweredOp::load(ops, device_);
}

void* Program::address(const passes::Location& location, const Bindings& bindings) const {
  return passes::address_of(location, bindings, constants_);
}

std::string Program::describe() const {
  std::string text;
  for (const Placed& placed : instructions_) text += placed.instruction->describe();
  for (const passes::Placement::Copy& copy : copies_) {
    text += fmt::format("copy {} bytes\n", copy.bytes);
  }
  return text;
}

size_t Program::copied_bytes() const { return passes::copied_bytes(copies_); }

void Program::enqueue(const Bindings& bindings, RunContext& context) {
  // Programs nested in this one aren't measured.
  auto* const ends = std::exchange(context.ends, nullptr);
  const auto ended = [&] {
    if (!ends) return;
    device_.runtime().synchronize(device_.stream());
    ends->push_back(std::chrono::steady_clock::now());
  };
  std::vector<void*> in;
  std::vector<void*> out;
  for (const Placed& placed : instructions_) {
    in.clear();
    out.clear();
    for (const passes::Location& at : placed.in_at) in.push_back(address(at, bindings));
    for (const passes::Location& at : placed.out_at) out.push_back(address(at, bindings));
    auto* scratch = static_cast<std::byte*>(address(placed.scratch, bindings));
    placed.instruction->enqueue({in, out, scratch, device_.status()}, context);
    ended();
  }
  for (const passes::Placement::Copy& copy : copies_) {
    void* to = address(copy.to, bindings);
    const void* from = address(copy.from, bindings);
    if (copy.bytes > 0 && to != from) {
      device_.runtime().copy(device_.stream(), to, from, copy.bytes);
    }
  }
  if (copied_bytes() > 0) ended();
}

}  // namespace cornu::cuda
