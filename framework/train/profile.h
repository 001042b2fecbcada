// SPDX-License-Identifier: Apache-2.0
// Measurements of the instructions of a compiled step (Model::profile).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/core/json.h"
#include "framework/core/tensors.h"
#include "framework/graph/program_recorder.h"

namespace cornu {

class Model;

struct ProfileOptions {
  int64_t runs = 10;    // measured steps
  int64_t warm_up = 3;  // steps before them; at least one, which compiles
};

// An instruction: a kernel, which may do the work of several ops and layers.
struct ProfiledInstruction {
  std::string op = {};                   // "matmul_bias_act", "fused", "copy"
  std::vector<std::string> parts = {};   // the ops in a fused instruction
  std::vector<std::string> layers = {};  // "dense", "block/conv"; "gradients/dense" in the backward
                                         // pass; empty: not from a layer
  double seconds = 0;                    // median over the runs
  double share = 0;                      // fraction of the sum over all instructions
  int64_t bytes = 0;                     // of operands and results, each counted once
  std::optional<double> gflops = {};     // 10^9 operations per second, if known: matrix products
                                         // and convolutions
};

// A step's instructions in execution order, on the first replica of this process. The clock is read
// after each instruction, which takes about 30 ns.
struct Profile {
  std::string step;  // "predict_step" or "train_step"
  int64_t runs = 0;
  std::vector<ProfiledInstruction> instructions;
  double program_seconds = 0;        // median of the whole program
  double step_seconds = 0;           // median of the step, with its overhead
  std::vector<ProgramRun> timeline;  // of the last run, for all replicas

  // A table of the `most` slowest instructions, and the total of the others.
  std::string table(int64_t most = 20) const;
  // Writes the table to standard output.
  void print(int64_t most = 20) const;
  // {"step", "runs", "step_seconds", "program_seconds", "instructions": [{"op", "parts", "layers",
  // "seconds", "share", "bytes", "gflops"}]}
  Json to_json() const;
  // Saves the last run as Chrome trace-event JSON, for ui.perfetto.dev or chrome://tracing;
  // compressed with gzip if the path ends in ".gz". Written atomically; errors are those of
  // write_file_atomically.
  void save_trace(const std::string& path) const;
};

// Implements Model::profile; this thread must be in the scope of the model's strategy.
Profile profile_step(Model& model, const Tensors& x, const Tensors& y,
                     const ProfileOptions& options);

}  // namespace cornu
