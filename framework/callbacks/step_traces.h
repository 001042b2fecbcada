// SPDX-License-Identifier: Apache-2.0
// Files that show the runs of compiled programs along a line of time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "framework/graph/program_recorder.h"

namespace cornu::callbacks {

// A training step, with all that surrounds its programs.
struct StepSpan {
  int64_t step = 0;
  ProgramRun::Clock::time_point begin;
  ProgramRun::Clock::time_point end;
};

// "relu", or "fused: add, relu": an instruction's name for people.
std::string title_of(const ProgramInstruction& instruction);

// Chrome's trace-event JSON, which chrome://tracing and ui.perfetto.dev open: one row for the
// steps and one for each replica, times in microseconds from the first event.
std::string chrome_trace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps);

// tensorflow.profiler.XSpace (xplane.proto), serialized, which TensorBoard's profile plugin reads:
// the plane of the host, with the same rows.
std::string xspace(std::span<const ProgramRun> runs, std::span<const StepSpan> steps);

// Both, as <folder>/<host>.trace.json.gz and <host>.xplane.pb, in a folder that is made. Errors as
// write_file_atomically's; FailedPrecondition when the folder can't be made.
void write_step_traces(const std::string& folder, std::span<const ProgramRun> runs,
                       std::span<const StepSpan> steps);

}  // namespace cornu::callbacks
