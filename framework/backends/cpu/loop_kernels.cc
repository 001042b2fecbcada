// SPDX-License-Identifier: Apache-2.0
#include "framework/backends/cpu/loop_kernels.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "framework/backends/cpu/passes/batch_rows.h"
#include "framework/core/threads.h"
#include "framework/graph/iterated_body.h"

namespace cornu::cpu {
namespace {

thread_local LoopCounts counts;

Graph optimized_body(const KernelSpec& spec) {
  return optimize(spec.attributes.get_graph("body"), "body");
}

// A loop's body, as a program.
class LoopBody : public LoopMachine {
 public:
  // `graph` is optimized. If it computes some rows of another body's slices, that is `whole`.
  LoopBody(Graph graph, size_t carries, size_t xs, const Graph* whole = nullptr)
      : iterations_(graph, carries, xs, whole), program_(std::move(graph)) {}

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
  IteratedBody iterations_;
  Program program_;
  CollectiveGroup* group_ = nullptr;
};

// The attributes of a scan.
struct ScanProblem {
  explicit ScanProblem(const KernelSpec& spec)
      : carries(static_cast<size_t>(spec.attributes.get_int("carries"))),
        xs(static_cast<size_t>(spec.attributes.get_int("xs"))),
        length(spec.attributes.get_int("length")),
        reverse(spec.attributes.get_bool("reverse")),
        count(spec.attributes.get_bool("counted") ? static_cast<int>(spec.inputs.size()) - 1 : -1) {
  }

  int64_t iterations(const KernelArgs& args) const {
    if (count < 0) return length;
    return std::clamp<int64_t>(*static_cast<const int64_t*>(args.in[count]), 0, length);
  }

  size_t carries;
  size_t xs;
  int64_t length;
  bool reverse;
  int count;  // index of the operand; -1: none
};

void run_scan(const ScanProblem& problem, LoopBody& body, const void* const* in, void* const* out,
              std::byte* scratch, int64_t iterations) {
  const LoopRun run{body, in, out, out + problem.carries, scratch, problem.length, iterations};
  body.iterations().run_all(run, problem.reverse);
}

// Runs all iterations one after the other; each kernel of the body uses all threads.
class ScanKernel : public Kernel {
 public:
  explicit ScanKernel(const KernelSpec& spec)
      : problem_(spec), body_(optimized_body(spec), problem_.carries, problem_.xs) {}

  size_t scratch_bytes() const override { return body_.scratch_bytes(); }

  void run(const KernelArgs& args) override {
    body_.set_group(args.group);
    run_scan(problem_, body_, args.in, args.out, static_cast<std::byte*>(args.scratch),
             problem_.iterations(args));
  }

 private:
  ScanProblem problem_;
  LoopBody body_;
};

// Divides the batch: each thread takes some of its rows through all iterations, so that threads
// meet once rather than in each kernel of each iteration.
class DividedScan : public Kernel {
 public:
  DividedScan(const KernelSpec& spec, const BatchRows& rows, int64_t parts) : problem_(spec) {
    const ComputeThreadsScope alone(1);
    const int64_t most = (rows.batch() + parts - 1) / parts;
    std::optional<Graph> optimized;
    for (int64_t first = 0; first < rows.batch(); first += most) {
      const int64_t count = std::min(most, rows.batch() - first);
      if (!optimized || count < most) optimized = optimize(rows.with_rows(count), "body");
      parts_.push_back(std::make_unique<Part>(*optimized, rows, first, problem_));
      const size_t bytes = parts_.back()->body.scratch_bytes();
      part_scratch_ = std::max(part_scratch_, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    }
  }

  size_t scratch_bytes() const override { return part_scratch_ * parts_.size(); }

  void run(const KernelArgs& args) override {
    parallel_parts(static_cast<int>(parts_.size()), [&](int index) {
      const ComputeThreadsScope alone(1);
      Part& part = *parts_[static_cast<size_t>(index)];
      part.pointers.bind(args, part.first_row);
      auto* scratch =
          static_cast<std::byte*>(args.scratch) + static_cast<size_t>(index) * part_scratch_;
      run_scan(problem_, part.body, part.pointers.in(), part.pointers.out(), scratch,
               problem_.iterations(args));
    });
  }

 private:
  static constexpr size_t kAlignment = 256;

  struct Part {
    Part(const Graph& optimized, const BatchRows& rows, int64_t first, const ScanProblem& problem)
        : body(optimized, problem.carries, problem.xs, &rows.body()),
          pointers(rows),
          first_row(first) {}

    LoopBody body;
    RowPointers pointers;
    int64_t first_row;
  };

  ScanProblem problem_;
  std::vector<std::unique_ptr<Part>> parts_;
  size_t part_scratch_ = 0;
};

// The number of parts into which a batch is divided; 1 if that doesn't pay: if an iteration is so
// short that the constant costs of its kernels, which each part has, prevail, or the whole loop is;
// if weights don't stay in a core's cache, so that each part would read them from memory again in
// every iteration; if there are too few rows for the threads, and kernels long enough to share; or
// if compiling a program for each part would take long.
int64_t parts_of(const BatchRows& rows, int64_t iterations) {
  constexpr int64_t kFewestRows = 8;
  constexpr int64_t kShortIteration = int64_t{1} << 14;  // work
  constexpr int64_t kShortLoop = int64_t{1} << 16;
  constexpr int64_t kLongIteration = int64_t{1} << 19;
  constexpr size_t kLargeWeights = size_t{4} << 20;  // bytes
  constexpr size_t kManyNodes = 4096;
  const int64_t work = rows.work();
  if (work < kShortIteration || work < kShortLoop / std::max<int64_t>(iterations, 1)) return 1;
  if (rows.undivided_bytes() > kLargeWeights) return 1;
  const int64_t threads = compute_threads();
  const int64_t parts = std::min(threads, rows.batch() / kFewestRows);
  if (rows.nodes() * static_cast<size_t>(parts) > kManyNodes) return 1;
  return 2 * parts >= threads || work < kLongIteration ? parts : 1;
}

std::unique_ptr<Kernel> make_scan(const KernelSpec& spec) {
  const Graph& body = spec.attributes.get_graph("body");
  const auto carries = static_cast<size_t>(spec.attributes.get_int("carries"));
  if (compute_threads() > 1 && carries > 0) {
    if (const auto rows = BatchRows::of(body, carries)) {
      const int64_t parts = parts_of(*rows, spec.attributes.get_int("length"));
      if (parts > 1) return std::make_unique<DividedScan>(spec, *rows, parts);
    }
  }
  return std::make_unique<ScanKernel>(spec);
}

class WhileKernel : public Kernel {
 public:
  explicit WhileKernel(const KernelSpec& spec)
      : condition_(make_program(spec.attributes, "condition")),
        carries_(static_cast<size_t>(spec.attributes.get_int("carries"))),
        body_(optimized_body(spec), carries_, 0),
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
  size_t carries_;
  LoopBody body_;
  int64_t maximum_;  // -1: unbounded
};

}  // namespace

LoopCounts loop_counts() { return counts; }

RowPointers::RowPointers(const BatchRows& rows)
    : in_(rows.body().inputs.size()), out_(rows.body().outputs.size()) {
  const Graph& body = rows.body();
  const auto row_bytes = [&](ValueId id) {
    return rows.is_divided(id) ? body.type(id).bytes() / static_cast<size_t>(rows.batch()) : 0;
  };
  for (const ValueId id : body.inputs) in_row_bytes_.push_back(row_bytes(id));
  for (const ValueId id : body.outputs) out_row_bytes_.push_back(row_bytes(id));
}

void RowPointers::bind(const KernelArgs& args, int64_t first_row) {
  const auto first = static_cast<size_t>(first_row);
  for (size_t i = 0; i < in_.size(); ++i) {
    in_[i] = static_cast<const std::byte*>(args.in[i]) + first * in_row_bytes_[i];
  }
  for (size_t i = 0; i < out_.size(); ++i) {
    out_[i] = static_cast<std::byte*>(args.out[i]) + first * out_row_bytes_[i];
  }
}

std::unique_ptr<Program> make_program(const Attributes& attributes, std::string_view name) {
  return std::make_unique<Program>(optimize(attributes.get_graph(name), std::string(name)));
}

void register_loop_kernels(KernelTable& table) {
  table.add("scan", make_scan);
  table.add("while", [](const KernelSpec& spec) { return std::make_unique<WhileKernel>(spec); });
}

}  // namespace cornu::cpu
