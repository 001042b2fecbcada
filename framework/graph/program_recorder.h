// SPDX-License-Identifier: Apache-2.0
// Measures how long each instruction of compiled programs takes.
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
  std::vector<std::string> parts = {};   // the ops that a fused instruction computes
  std::vector<std::string> scopes = {};  // layers of those: "model/dense", "gradients/model/dense"
  int64_t bytes = 0;                     // of its operands and results, each counted once
  double flops = 0;                      // of matrix products and convolutions; 0 if unknown
};

// The instructions that a backend has compiled a graph to.
struct ProgramFacts {
  std::string name;  // of the function
  std::vector<ProgramInstruction> instructions;
};

// A run of a program by one replica.
struct ProgramRun {
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<const ProgramFacts> program;
  int64_t replica = 0;  // index within this process
  Clock::time_point begin;
  std::vector<Clock::time_point> ends;  // by instruction; each begins when the previous one ended
};

// Between start() and stop(), records the runs of compiled programs that its thread starts, with
// all their replicas. Several recorders may be active at the same time. Without any, a run costs
// one check and measures nothing. Used by one thread.
class ProgramRecorder {
 public:
  ProgramRecorder() = default;
  ~ProgramRecorder() { stop(); }
  ProgramRecorder(const ProgramRecorder&) = delete;
  ProgramRecorder& operator=(const ProgramRecorder&) = delete;

  void start();
  void stop();
  bool is_recording() const { return recording_; }
  // Returns what was recorded since the last call, in the order of the runs.
  std::vector<ProgramRun> take();

  // ---- for backends, on the thread that calls Backend::run ----
  static bool is_any_recording();
  static void record(const ProgramRun& run);

 private:
  bool recording_ = false;
  std::vector<ProgramRun> runs_;
};

}  // namespace cornu
