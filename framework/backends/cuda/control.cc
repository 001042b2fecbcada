// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cuda/control.h"

#include <algorithm>

#include "framework/backends/cuda/connected_group.h"
#include "framework/graph/iterated_body.h"

namespace cornu::cuda {
namespace {

constexpr size_t kBodyAlignment = 256;

// Reads a number from the GPU once all previously enqueued work is done. If another replica has
// failed, it may be garbage: a loop controlled by it might never end.
template <class T>
T value_at(const void* place, RunContext& context) {
  T value = {};
  GpuDevice& device = context.device;
  device.runtime().copy_to_host(device.stream(), &value, place, sizeof(value));
  device.runtime().synchronize(device.stream());
  if (auto* connected = dynamic_cast<ConnectedGroup*>(context.group)) connected->check_state();
  require_right(context.origin);
  return value;
}

// The context for programs within an instruction.
RunContext within(const RunContext& context) {
  RunContext inner = context;
  inner.nested = true;
  return inner;
}

std::string indented(const std::string& text) {
  std::string result = text.empty() ? "" : "  ";
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text[i] == '\n' && i + 1 < text.size()) result += "  ";
  }
  return result;
}

std::unique_ptr<Program> make_program(const KernelSpec& spec, GpuDevice& device,
                                      std::string_view name) {
  return std::make_unique<Program>(optimize(spec.attributes.get_graph(name), std::string(name)),
                                   device, true);
}

class Cond : public Instruction {
 public:
  Cond(const KernelSpec& spec, GpuDevice& device)
      : then_(make_program(spec, device, "then")), else_(make_program(spec, device, "else")) {}

  void enqueue(const OpMemory& memory, RunContext& context) override {
    Program& chosen = value_at<bool>(memory.in[0], context) ? *then_ : *else_;
    RunContext inner = within(context);
    chosen.enqueue({.inputs = memory.in.subspan(1),
                    .states = {},
                    .outputs = memory.out,
                    .workspace = memory.scratch},
                   inner);
  }
  std::string describe() const override {
    return "cond\n" + indented(then_->describe()) + "else\n" + indented(else_->describe());
  }
  size_t scratch_bytes() const override {
    return std::max(then_->workspace_bytes(), else_->workspace_bytes());
  }
  int64_t replayed_nodes() const override { return kNever; }
  bool communicates() const override { return then_->communicates() || else_->communicates(); }
  void collect(std::vector<LoweredOp*>& ops) override {
    then_->collect(ops);
    else_->collect(ops);
  }
  void collect_checks(Checks& checks) const override {
    checks.insert(then_->checks().begin(), then_->checks().end());
    checks.insert(else_->checks().begin(), else_->checks().end());
  }

 private:
  std::unique_ptr<Program> then_;
  std::unique_ptr<Program> else_;
};

// Kernels read 16 bytes at once: misaligned slices of arrays are copied to aligned scratch memory,
// and results are copied back from there.
class AlignedSlices {
 public:
  explicit AlignedSlices(const Graph& body) {
    for (const ValueId id : body.inputs) inputs_.push_back(add(body.type(id).bytes()));
    for (const ValueId id : body.outputs) outputs_.push_back(add(body.type(id).bytes()));
  }

  size_t scratch_bytes() const { return bytes_; }

  // Replaces misaligned addresses, copying the inputs.
  void open(std::vector<void*>& inputs, std::vector<void*>& outputs, std::byte* scratch,
            GpuDevice& device) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_odd(inputs[i]) || inputs_[i].bytes == 0) continue;
      void* aligned = scratch + inputs_[i].at;
      device.runtime().copy(device.stream(), aligned, inputs[i], inputs_[i].bytes);
      inputs[i] = aligned;
    }
    wanted_ = outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_odd(outputs[i])) outputs[i] = scratch + outputs_[i].at;
    }
  }
  // Copies results to their original addresses.
  void close(const std::vector<void*>& outputs, GpuDevice& device) const {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == wanted_[i] || outputs_[i].bytes == 0) continue;
      device.runtime().copy(device.stream(), wanted_[i], outputs[i], outputs_[i].bytes);
    }
  }

 private:
  struct Slice {
    size_t at;
    size_t bytes;
  };

  static bool is_odd(const void* place) { return reinterpret_cast<uintptr_t>(place) % 16 != 0; }

  // Arrays whose slices are all aligned need no scratch memory.
  Slice add(size_t bytes) {
    const Slice slice{bytes_, bytes};
    if (bytes % 16 != 0) {
      bytes_ += (bytes + kBodyAlignment - 1) / kBodyAlignment * kBodyAlignment;
    }
    return slice;
  }

  std::vector<Slice> inputs_;
  std::vector<Slice> outputs_;
  size_t bytes_ = 0;
  std::vector<void*> wanted_;  // for the iteration being enqueued
};

// A program whose operands may be slices.
class SliceProgram {
 public:
  SliceProgram(const Graph& graph, GpuDevice& device)
      : slices_(graph), program_(graph, device, true) {}

  Program& program() { return program_; }
  const Program& program() const { return program_; }
  size_t scratch_bytes() const { return slices_.scratch_bytes() + program_.workspace_bytes(); }

  void enqueue(std::span<const void* const> inputs, std::span<void* const> outputs,
               std::byte* scratch, RunContext& context) {
    inputs_.clear();
    for (const void* input : inputs) inputs_.push_back(const_cast<void*>(input));
    outputs_.assign(outputs.begin(), outputs.end());
    slices_.open(inputs_, outputs_, scratch, context.device);
    program_.enqueue({.inputs = inputs_,
                      .states = {},
                      .outputs = outputs_,
                      .workspace = scratch + slices_.scratch_bytes()},
                     context);
    slices_.close(outputs_, context.device);
  }

 private:
  AlignedSlices slices_;
  Program program_;
  std::vector<void*> inputs_;
  std::vector<void*> outputs_;
};

class LoopBody : public LoopMachine {
 public:
  LoopBody(const KernelSpec& spec, GpuDevice& device, size_t xs)
      : LoopBody(optimize(spec.attributes.get_graph("body"), "body"), device,
                 static_cast<size_t>(spec.attributes.get_int("carries")), xs) {}

  IteratedBody& iterations() { return iterations_; }
  Program& program() { return body_.program(); }
  const Program& program() const { return body_.program(); }
  size_t spare_bytes() const { return iterations_.spare_bytes(); }
  size_t body_bytes() const { return body_.scratch_bytes(); }
  void begin(RunContext& context) { context_ = &context; }

  void run(std::span<const void* const> inputs, std::span<void* const> outputs,
           std::byte* workspace) override {
    body_.enqueue(inputs, outputs, workspace, *context_);
  }
  void copy(void* to, const void* from, size_t bytes) override {
    context_->device.runtime().copy(context_->device.stream(), to, from, bytes);
  }
  void zero(void* to, size_t bytes) override {
    context_->device.runtime().fill(context_->device.stream(), to, 0, bytes);
  }

 private:
  LoopBody(Graph graph, GpuDevice& device, size_t carries, size_t xs)
      : iterations_(graph, carries, xs), body_(graph, device) {}

  IteratedBody iterations_;
  SliceProgram body_;
  RunContext* context_ = nullptr;
};

class Scan : public Instruction {
 public:
  Scan(const KernelSpec& spec, GpuDevice& device)
      : body_(spec, device, static_cast<size_t>(spec.attributes.get_int("xs"))),
        carries_(static_cast<size_t>(spec.attributes.get_int("carries"))),
        length_(spec.attributes.get_int("length")),
        reverse_(spec.attributes.get_bool("reverse")),
        counted_(spec.attributes.get_bool("counted")) {}

  void enqueue(const OpMemory& memory, RunContext& context) override {
    int64_t iterations = length_;
    if (counted_) {
      iterations = std::clamp<int64_t>(value_at<int64_t>(memory.in.back(), context), 0, length_);
    }
    RunContext inner = within(context);
    body_.begin(inner);
    const LoopRun run{
        body_,          memory.in.data(), memory.out.data(), memory.out.data() + carries_,
        memory.scratch, length_,          iterations};
    body_.iterations().run_all(run, reverse_);
  }
  std::string describe() const override {
    return fmt::format("scan {}\n", length_) + indented(body_.program().describe());
  }
  size_t scratch_bytes() const override { return body_.spare_bytes() + body_.body_bytes(); }
  int64_t replayed_nodes() const override {
    const int64_t nodes = body_.program().replayed_nodes();
    return counted_ || (length_ > 0 && nodes > kNever / length_) ? kNever : length_ * nodes;
  }
  bool communicates() const override { return body_.program().communicates(); }
  void collect(std::vector<LoweredOp*>& ops) override { body_.program().collect(ops); }
  void collect_checks(Checks& checks) const override {
    checks.insert(body_.program().checks().begin(), body_.program().checks().end());
  }

 private:
  LoopBody body_;
  size_t carries_;
  int64_t length_;
  bool reverse_;
  bool counted_;
};

class While : public Instruction {
 public:
  While(const KernelSpec& spec, GpuDevice& device)
      : condition_(optimize(spec.attributes.get_graph("condition"), "condition"), device),
        body_(spec, device, 0),
        carries_(static_cast<size_t>(spec.attributes.get_int("carries"))),
        maximum_(spec.attributes.get_int("maximum")) {}

  // Scratch: the condition's result, buffers for carries, then a program's workspace.
  void enqueue(const OpMemory& memory, RunContext& context) override {
    std::byte* const scratch = memory.scratch + kBodyAlignment;
    RunContext inner = within(context);
    body_.begin(inner);
    const LoopRun run{body_,
                      memory.in.data(),
                      memory.out.data(),
                      memory.out.data() + carries_ + 1,
                      scratch,
                      std::max<int64_t>(maximum_, 0),
                      -1};
    const int64_t iterations = body_.iterations().run_while(run, maximum_, [&] {
      return condition_holds(memory.scratch, scratch + body_.spare_bytes(), inner);
    });
    GpuDevice& device = context.device;
    device.runtime().copy_to_gpu(device.stream(), memory.out[carries_], &iterations,
                                 sizeof(iterations));
  }
  std::string describe() const override {
    return "while\n" + indented(condition_.program().describe()) + "do\n" +
           indented(body_.program().describe());
  }
  size_t scratch_bytes() const override {
    return kBodyAlignment + body_.spare_bytes() +
           std::max(condition_.scratch_bytes(), body_.body_bytes());
  }
  int64_t replayed_nodes() const override { return kNever; }
  bool communicates() const override {
    return condition_.program().communicates() || body_.program().communicates();
  }
  void collect(std::vector<LoweredOp*>& ops) override {
    condition_.program().collect(ops);
    body_.program().collect(ops);
  }
  void collect_checks(Checks& checks) const override {
    checks.insert(condition_.program().checks().begin(), condition_.program().checks().end());
    checks.insert(body_.program().checks().begin(), body_.program().checks().end());
  }

 private:
  bool condition_holds(std::byte* result, std::byte* workspace, RunContext& context) {
    void* out[] = {result};
    condition_.enqueue(body_.iterations().operands(), out, workspace, context);
    return value_at<bool>(result, context);
  }

  SliceProgram condition_;
  LoopBody body_;
  size_t carries_;
  int64_t maximum_;  // -1: unbounded
};

// Its program gets all rows at once, and the tables in their new memory, which usually is the same
// as the old.
class UpdateRows : public Instruction {
 public:
  UpdateRows(const KernelSpec& spec, GpuDevice& device)
      : program_(make_program(spec, device, "body")) {
    for (const TensorType& table : spec.outputs) table_bytes_.push_back(table.bytes());
  }

  void enqueue(const OpMemory& memory, RunContext& context) override {
    std::vector<void*> inputs(memory.in.begin(), memory.in.end());
    for (size_t i = 0; i < table_bytes_.size(); ++i) {
      void* const table = std::exchange(inputs[kFirstTable + i], memory.out[i]);
      if (table == memory.out[i]) continue;
      context.device.runtime().copy(context.device.stream(), memory.out[i], table, table_bytes_[i]);
    }
    RunContext inner = within(context);
    program_->enqueue(
        {.inputs = inputs, .states = {}, .outputs = memory.out, .workspace = memory.scratch},
        inner);
  }
  std::string describe() const override { return "update_rows\n" + indented(program_->describe()); }
  size_t scratch_bytes() const override { return program_->workspace_bytes(); }
  Aliases aliases() const override {
    Aliases aliases;
    for (size_t i = 0; i < table_bytes_.size(); ++i) {
      aliases.emplace_back(static_cast<int>(kFirstTable + i), static_cast<int>(i));
    }
    return aliases;
  }
  int64_t replayed_nodes() const override {
    return static_cast<int64_t>(table_bytes_.size()) + program_->replayed_nodes();
  }
  void collect(std::vector<LoweredOp*>& ops) override { program_->collect(ops); }

 private:
  static constexpr size_t kFirstTable = 2;  // after row numbers and values

  std::unique_ptr<Program> program_;
  std::vector<size_t> table_bytes_;
};

}  // namespace

bool is_control(const OpDef& op) {
  return op.name == "cond" || op.name == "scan" || op.name == "while" || op.name == "update_rows";
}

std::unique_ptr<Instruction> make_control(const KernelSpec& spec, GpuDevice& device) {
  if (spec.op.name == "cond") return std::make_unique<Cond>(spec, device);
  if (spec.op.name == "scan") return std::make_unique<Scan>(spec, device);
  if (spec.op.name == "while") return std::make_unique<While>(spec, device);
  if (spec.op.name == "update_rows") return std::make_unique<UpdateRows>(spec, device);
  return nullptr;
}

}  // namespace cornu::cuda
