// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/loop_kernels.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace cornu::cpu {
namespace {

thread_local LoopCounts counts;

void copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0 || to == from) return;
  std::memcpy(to, from, bytes);
  counts.copied_bytes += static_cast<int64_t>(bytes);
}

// The arguments of one run of a loop.
struct LoopRun {
  const KernelArgs& args;
  void* const* stacks;  // of the ys
  std::byte* scratch;
  int64_t slots;       // of each stack
  int64_t iterations;  // -1: not known in advance
};

// A loop's body with the memory of its operands. The next value of a carry is written
// - to the stack of a y that equals the carry at the start of each iteration, if there is one,
// - else to the stack of a y that equals the carry's next value,
// - else to two buffers alternately, one of which is the loop's output.
class IteratedBody {
 public:
  IteratedBody(const KernelSpec& spec, size_t xs)
      : carries_(static_cast<size_t>(spec.attributes.get_int("carries"))), xs_(xs) {
    Graph graph = optimize(spec.attributes.get_graph("body"), "body");
    for (ValueId id : graph.inputs) input_bytes_.push_back(graph.type(id).bytes());
    for (ValueId id : graph.outputs) output_bytes_.push_back(graph.type(id).bytes());
    find_sources(graph);
    program_ = std::make_unique<Program>(std::move(graph));
    chain_.assign(carries_, kNone);
    shared_.assign(carries_, kNone);
    for (size_t i = 0; i < carries_; ++i) place_carry(i);
    operands_.resize(input_bytes_.size());
    next_.resize(carries_);
    results_.resize(program_->graph().outputs.size());
  }

  // Scratch memory: buffers for carries, then the program's workspace.
  size_t spare_bytes() const { return spare_bytes_; }
  size_t workspace_bytes() const { return program_->workspace_bytes(); }
  std::span<const void* const> operands() const { return operands_; }

  void start(const LoopRun& run) {
    run_ = &run;
    std::copy_n(run.args.in, operands_.size(), operands_.begin());
    // The last iteration, if it is known, writes to the outputs.
    write_to_output_ = run.iterations < 0 || run.iterations % 2 == 1;
  }

  // Runs the iteration whose slices are at `slot`; those of the next one are at `next_slot` (-1:
  // this is the last).
  void run_iteration(int64_t slot, int64_t next_slot, bool first) {
    ++counts.iterations;
    for (size_t i = carries_; i < carries_ + xs_; ++i) {
      operands_[i] =
          static_cast<const std::byte*>(run_->args.in[i]) + offset(input_bytes_[i], slot);
    }
    for (size_t i = 0; i < carries_; ++i) {
      if (chain_[i] != kNone && first) move_to_chain(i, slot);
      next_[i] = place_of_next(i, slot, next_slot);
    }
    for (size_t i = outputs(); i-- > 0;) {  // a carry's memory takes precedence over a y's
      if (sources_[i].produced) results_[sources_[i].index] = place_of_output(i, slot);
    }
    program_->run({.inputs = operands_,
                   .states = {},
                   .outputs = results_,
                   .workspace = run_->scratch + spare_bytes_,
                   .group = run_->args.group});
    for (size_t i = 0; i < outputs(); ++i) {
      if (is_chained(i)) continue;
      const Source& source = sources_[i];
      copy(place_of_output(i, slot),
           source.produced ? results_[source.index] : operands_[source.index], output_bytes_[i]);
    }
    for (size_t i = 0; i < carries_; ++i) operands_[i] = next_[i];
    write_to_output_ = !write_to_output_;
  }

  // After the last iteration: copies the carries to the outputs, and zeros unused slots.
  void finish(int64_t iterations) {
    for (size_t i = 0; i < carries_; ++i) copy(run_->args.out[i], operands_[i], output_bytes_[i]);
    for (size_t i = carries_; iterations < run_->slots && i < outputs(); ++i) {
      const size_t written = offset(output_bytes_[i], iterations);
      const size_t bytes = offset(output_bytes_[i], run_->slots) - written;
      if (bytes > 0) std::memset(static_cast<std::byte*>(stack(i)) + written, 0, bytes);
    }
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  // The source of an output of the body: a result of the program, or an unchanged operand.
  struct Source {
    bool produced;
    size_t index;
    friend bool operator==(const Source&, const Source&) = default;
  };

  size_t outputs() const { return output_bytes_.size(); }
  static size_t offset(size_t bytes, int64_t slot) { return bytes * static_cast<size_t>(slot); }
  void* stack(size_t output) const { return run_->stacks[output - carries_]; }
  void* slice(size_t output, int64_t slot) const {
    return static_cast<std::byte*>(stack(output)) + offset(output_bytes_[output], slot);
  }
  bool is_fixed(size_t carry) const { return sources_[carry] == Source{false, carry}; }
  bool is_chained(size_t output) const {
    return output >= carries_ && !sources_[output].produced && sources_[output].index < carries_ &&
           chain_[sources_[output].index] == output;
  }

  // Finds the source of each output, and leaves the graph only outputs that it computes, each once.
  void find_sources(Graph& graph) {
    const std::vector<int32_t> producers = graph.producers();
    std::vector<ValueId> produced;
    for (ValueId id : graph.outputs) {
      int32_t node = producers[static_cast<size_t>(id)];
      while (node >= 0 &&
             graph.nodes[static_cast<size_t>(node)].is("reshape")) {  // no memory of its own
        id = graph.nodes[static_cast<size_t>(node)].inputs[0];
        node = producers[static_cast<size_t>(id)];
      }
      std::vector<ValueId>& known = node >= 0 ? produced : graph.inputs;
      const auto at = std::find(known.begin(), known.end(), id);
      sources_.push_back({node >= 0, static_cast<size_t>(at - known.begin())});
      if (at == known.end()) known.push_back(id);
    }
    graph.outputs = std::move(produced);
  }

  void place_carry(size_t carry) {
    spare_offsets_.push_back(spare_bytes_);
    if (is_fixed(carry)) return;
    for (size_t i = outputs(); i-- > carries_;) {
      if (sources_[i] == Source{false, carry}) chain_[carry] = i;
      if (sources_[i] == sources_[carry]) shared_[carry] = i;
    }
    if (std::find(sources_.begin(), sources_.begin() + static_cast<int64_t>(carry),
                  sources_[carry]) != sources_.begin() + static_cast<int64_t>(carry)) {
      shared_[carry] = kNone;  // taken by an earlier carry
    }
    if (chain_[carry] == kNone && shared_[carry] == kNone) {
      spare_bytes_ += (output_bytes_[carry] + 63) / 64 * 64;
    }
  }

  void move_to_chain(size_t carry, int64_t slot) {
    void* begin = slice(chain_[carry], slot);
    copy(begin, operands_[carry], output_bytes_[carry]);
    operands_[carry] = begin;
  }

  const void* place_of_next(size_t i, int64_t slot, int64_t next_slot) const {
    if (is_fixed(i)) return operands_[i];
    if (chain_[i] != kNone) return next_slot < 0 ? run_->args.out[i] : slice(chain_[i], next_slot);
    if (shared_[i] != kNone) return slice(shared_[i], slot);
    return write_to_output_ ? run_->args.out[i] : run_->scratch + spare_offsets_[i];
  }

  void* place_of_output(size_t i, int64_t slot) const {
    return i < carries_ ? const_cast<void*>(next_[i]) : slice(i, slot);
  }

  size_t carries_;
  size_t xs_;
  std::unique_ptr<Program> program_;
  std::vector<size_t> input_bytes_;  // of the body's
  std::vector<size_t> output_bytes_;
  std::vector<Source> sources_;  // by output
  std::vector<size_t> chain_;    // by carry: the y that equals it at the start of an iteration
  std::vector<size_t> shared_;   // by carry: the y that equals its next value
  std::vector<size_t> spare_offsets_;  // by carry
  size_t spare_bytes_ = 0;
  // State of a run:
  const LoopRun* run_ = nullptr;
  std::vector<const void*> operands_;  // of the current iteration
  std::vector<const void*> next_;
  std::vector<void*> results_;
  bool write_to_output_ = false;
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

  size_t scratch_bytes() const override { return body_.spare_bytes() + body_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    int64_t iterations = length_;
    if (count_ >= 0) {
      iterations = std::clamp<int64_t>(*static_cast<const int64_t*>(args.in[count_]), 0, length_);
    }
    const LoopRun run{args, args.out + carries_, static_cast<std::byte*>(args.scratch), length_,
                      iterations};
    body_.start(run);
    for (int64_t iteration = 0; iteration < iterations; ++iteration) {
      const int64_t slot = reverse_ ? iterations - 1 - iteration : iteration;
      const int64_t next = reverse_ ? slot - 1 : slot + 1;
      body_.run_iteration(slot, iteration + 1 < iterations ? next : -1, iteration == 0);
    }
    body_.finish(iterations);
  }

 private:
  IteratedBody body_;
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
    return body_.spare_bytes() + std::max(condition_->workspace_bytes(), body_.workspace_bytes());
  }

  void run(const KernelArgs& args) override {
    auto* scratch = static_cast<std::byte*>(args.scratch);
    const LoopRun run{args, args.out + carries_ + 1, scratch, std::max<int64_t>(maximum_, 0), -1};
    body_.start(run);
    int64_t iterations = 0;
    while (iterations != maximum_ && condition_holds(args, scratch + body_.spare_bytes())) {
      body_.run_iteration(iterations, iterations + 1 == maximum_ ? -1 : iterations + 1,
                          iterations == 0);
      ++iterations;
    }
    body_.finish(iterations);
    *static_cast<int64_t*>(args.out[carries_]) = iterations;
  }

 private:
  bool condition_holds(const KernelArgs& args, std::byte* workspace) {
    bool result = false;
    void* out[] = {&result};
    condition_->run({.inputs = body_.operands(),
                     .states = {},
                     .outputs = out,
                     .workspace = workspace,
                     .group = args.group});
    return result;
  }

  std::unique_ptr<Program> condition_;
  IteratedBody body_;
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
