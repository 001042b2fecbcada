// SPDX-License-Identifier: Apache-2.0
// Writes traces that show the runs of compiled programs on a timeline.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "framework/graph/program_recorder.h"

namespace cornu::callbacks {

// A training step, including everything around its programs.
struct StepSpan {
  int64_t step = 0;
  ProgramRun::Clock::time_point begin;
  ProgramRun::Clock::time_point end;
};

// A human-readable name of an instruction: "relu", or "fused: add, relu".
std::string title_of(const ProgramInstruction& instruction);

// Chrome's trace-event JSON, for chrome://tracing and ui.perfetto.dev: one row for the steps and
// one for each replica, with times in microseconds since the first event.
std::string chrome_trace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps);

// A serialized tensorflow.profiler.XSpace (xplane.proto), for TensorBoard's profile plugin: the
// host plane, with the same rows.
std::string xspace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps);

// Writes both, as <folder>/<host>.trace.json.gz and <host>.xplane.pb, creating the folder. Throws
// the same errors as write_file_atomically; FailedPrecondition when the folder can't be created.
void write_step_traces(const std::string& folder, std::span<const ProgramRun> runs,
                       std::span<const StepSpan> steps);

}  // namespace cornu::callbacks
