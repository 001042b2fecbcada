// SPDX-License-Identifier: Apache-2.0
// What the instructions of a compiled step take (Model::profile).
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
  int64_t runs = 10;    // steps that are measured
  int64_t warm_up = 3;  // and before them; at least one, which compiles
};

// An instruction: one kernel, which may do the work of many ops and layers.
struct ProfiledInstruction {
  std::string op = {};                   // "matmul_bias_act", "fused", "copy"
  std::vector<std::string> parts = {};   // of a fused one: the ops in it
  std::vector<std::string> layers = {};  // "dense", "block/conv"; "gradients/dense" of the
                                         // backward pass; none where no layer made it
  double seconds = 0;                    // the median over the runs
  double share = 0;                      // of the sum over all instructions
  int64_t bytes = 0;                     // of its operands and results, each counted once
  std::optional<double> gflops = {};     // 10^9 operations a second, where they are known: matrix
                                         // products and convolutions
};

// A step's instructions in the order in which they run, on the first replica of this process. The
// clock is read after each of them, which takes some 30 ns.
struct Profile {
  std::string step;  // "predict_step" or "train_step"
  int64_t runs = 0;
  std::vector<ProfiledInstruction> instructions;
  double program_seconds = 0;        // the median of the whole program
  double step_seconds = 0;           // and of the step, with what lies around that
  std::vector<ProgramRun> timeline;  // of the last run, all replicas

  // Those that take longest, `most` of them, and what the others take together.
  std::string table(int64_t most = 20) const;
  // Writes the table to standard output.
  void print(int64_t most = 20) const;
  // {"step", "runs", "step_seconds", "program_seconds", "instructions": [{"op", "parts", "layers",
  // "seconds", "share", "bytes", "gflops"}]}
  Json to_json() const;
  // The last run as Chrome's trace-event JSON, for ui.perfetto.dev or chrome://tracing; packed by
  // gzip where the path ends in ".gz". Written atomically; errors as write_file_atomically's.
  void save_trace(const std::string& path) const;
};

// Model::profile, for a model whose strategy's scope this thread is in.
Profile profile_step(Model& model, const Tensors& x, const Tensors& y,
                     const ProfileOptions& options);

}  // namespace cornu
