// SPDX-License-Identifier: Apache-2.0
#include "framework/graph/program_recorder.h"

#include <utility>

#include "framework/core/per_thread.h"

namespace cornu {
namespace {

std::vector<ProgramRecorder*>& recorders() {
  return per_thread([] { return std::vector<ProgramRecorder*>(); });
}

}  // namespace

void ProgramRecorder::start() {
  if (recording_) return;
  recorders().push_back(this);
  recording_ = true;
}

void ProgramRecorder::stop() {
  if (!recording_) return;
  std::erase(recorders(), this);
  recording_ = false;
}

std::vector<ProgramRun> ProgramRecorder::take() { return std::exchange(runs_, {}); }

bool ProgramRecorder::is_any_recording() { return !recorders().empty(); }

void ProgramRecorder::record(const ProgramRun& run) {
  for (ProgramRecorder* recorder : recorders()) recorder->runs_.push_back(run);
}

}  // namespace cornu
