// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/run_keeper.h"

#include "framework/strategy/strategy.h"

namespace cornu::callbacks {

void RunKeeper::begin(const std::string& folder, bool writes) {
  leave();
  get_strategy().impl().clean_up_now();
  if (writes) {
    folder_ = std::make_shared<RunStateFolder>(folder);
    writer_ = std::make_unique<RunStateWriter>(folder_);
  }
  keeps_ = true;
}

std::optional<RunState> RunKeeper::load() {
  if (!folder_) return {};
  writer_.reset();
  auto state = folder_->load();
  writer_ = std::make_unique<RunStateWriter>(folder_);
  return state;
}

void RunKeeper::keep(const RunState& state) {
  if (writer_) writer_->write(state);
}

void RunKeeper::end(bool keep_states) {
  const bool clears = writer_ && !keep_states;
  writer_.reset();
  if (clears) get_strategy().impl().when_all_are_done([folder = folder_] { folder->clear(); });
  leave();
}

void RunKeeper::leave() {
  keeps_ = false;
  writer_.reset();
  folder_.reset();
}

}  // namespace cornu::callbacks
