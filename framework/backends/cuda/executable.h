// SPDX-License-Identifier: Apache-2.0
// The CUDA backend's executable: one program for each GPU that it has been run on.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/backends/cuda/program.h"
#include "framework/graph/backend.h"
#include "framework/graph/program_recorder.h"

namespace cornu::cuda {

// Code for one GPU. A program that consists only of launches is captured on its second run, and
// replayed by a single launch from then on. The captured graph uses fixed addresses: inputs are
// copied there before, and outputs copied from there afterwards.
class PreparedProgram {
 public:
  PreparedProgram(const Graph& graph, GpuDevice& device, bool optimized);

  struct Arguments {
    std::span<void* const> inputs;
    std::span<void* const> states;
    std::span<void* const> outputs;
  };
  // The tensors that the arguments' addresses belong to.
  struct Tensors {
    std::span<const Tensor> inputs;
    std::span<const Tensor> outputs;
  };
  // Enqueues a run; the caller holds the device's lock.
  void enqueue(const Arguments& arguments, const Tensors& tensors, RunContext context);
  // Like enqueue(), for programs that are never captured.
  void enqueue_directly(const Arguments& arguments, RunContext& context);

  // Allocates the memory for the next run, so that running out of memory is reported before
  // anything is written. The caller holds the device's lock.
  void reserve() { device_.arena(has_run_ ? staged_bytes_ : program_.workspace_bytes()); }

  const Program& program() const { return program_; }
  const std::shared_ptr<const Checks>& checks() const { return checks_; }

 private:
  struct Captured {
    std::byte* arena = nullptr;
    std::vector<void*> states;
    std::shared_ptr<RuntimeGraph> graph;
  };
  static constexpr size_t kMaxCaptured = 2;
  // A graph is captured again when states move. This many captures without enough replays in
  // between, and capturing is given up.
  static constexpr int kMaxCaptures = 16;
  static constexpr int kWorthCaptures = 64;

  bool replay(const Arguments& arguments, const Tensors& tensors);
  // `tensors`: those that belong to one of the two sides.
  void copy_arrays(std::span<void* const> to, std::span<void* const> from,
                   const std::vector<size_t>& bytes, std::span<const Tensor> tensors);
  RuntimeGraph* captured_for(std::byte* arena, std::span<void* const> states);

  GpuDevice& device_;
  Program program_;
  std::shared_ptr<const Checks> checks_;
  std::vector<size_t> input_bytes_;
  std::vector<size_t> output_bytes_;
  std::vector<size_t> input_places_;  // in the arena, for captured runs
  std::vector<size_t> output_places_;
  size_t staged_bytes_ = 0;
  bool has_run_ = false;
  int captures_ = 0;  // since the last one that paid off
  int replays_ = 0;   // since the last capture
  bool cannot_be_captured_ = false;
  std::vector<Captured> captured_;  // most recently used first
};

class CudaExecutable : public Executable {
 public:
  // Prepares the program for `device` immediately: throws for ops without a kernel.
  CudaExecutable(Graph graph, const ExecutableOptions& options, GpuDevice& device);

  std::string describe() const override { return graph_.to_string(); }
  size_t node_count() const override { return graph_.nodes.size(); }
  size_t workspace_bytes() const override;

  const Graph& graph() const { return graph_; }
  bool writes(size_t state) const { return graph_.states.at(state).out != graph_.states[state].in; }
  PreparedProgram& prepared_for(GpuDevice& device);
  // Facts about its program on the device; computed on first use.
  std::shared_ptr<const ProgramFacts> facts(GpuDevice& device);

 private:
  CudaExecutable(Graph graph, const ExecutableOptions& options, GpuDevice& device,
                 passes::Dump dump);

  std::string name_;
  Graph graph_;  // optimized
  bool optimized_;
  mutable std::mutex mutex_;
  std::map<const GpuDevice*, std::unique_ptr<PreparedProgram>> prepared_;
  std::shared_ptr<const ProgramFacts> facts_;
};

// Implements Backend::run.
void run_launches(std::span<Launch> launches);

}  // namespace cornu::cuda
