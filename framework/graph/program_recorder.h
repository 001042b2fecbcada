// SPDX-License-Identifier: Apache-2.0
// What runs of compiled programs take, instruction by instruction.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cornu {

// An instruction of a compiled program: a kernel, or the copies at the end.
struct ProgramInstruction {
  std::string op = {};                   // "matmul_bias_act", "fused", "copy"
  std::vector<std::string> parts = {};   // of one that is fused: the ops that it computes
  std::vector<std::string> scopes = {};  // of the layers that those are of: "model/dense",
                                         // "gradients/model/dense"
  int64_t bytes = 0;                     // of its operands and results, each counted once
  double flops = 0;                      // of matrix products and convolutions; 0: not known
};

// What a backend has made of a graph.
struct ProgramFacts {
  std::string name;  // of the function
  std::vector<ProgramInstruction> instructions;
};

// A run of a program by one replica.
struct ProgramRun {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const ProgramFacts> program;
  int64_t replica = 0;  // among those of this process
  Clock::time_point begin;
  std::vector<Clock::time_point> ends;  // of its instructions; each begins where the last one ended
};

// Collects what compiled programs do that its thread runs, with all of their replicas, between
// start() and stop(). Several may do so at once. Where none does, a run looks once whether there is
// one, and measures nothing. Used by one thread.
class ProgramRecorder {
 public:
  ProgramRecorder() = default;
  ~ProgramRecorder() { stop(); }
  ProgramRecorder(const ProgramRecorder&) = delete;
  ProgramRecorder& operator=(const ProgramRecorder&) = delete;

  void start();
  void stop();
  bool is_recording() const { return recording_; }
  // What was recorded since the last call, in the order of the runs.
  std::vector<ProgramRun> take();

  // ---- for backends, on the thread that calls Backend::run ----
  static bool is_any_recording();
  static void record(const ProgramRun& run);

 private:
  bool recording_ = false;
  std::vector<ProgramRun> runs_;
};

}  // namespace cornu
