// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/run_keeper.h"

namespace cornu::callbacks {

void RunKeeper::begin(const std::string& folder, bool writes) {
  leave();
  folder_ = std::make_shared<RunStateFolder>(folder);
  if (writes) writer_ = std::make_unique<RunStateWriter>(folder_);
}

void RunKeeper::end(bool keep_states) {
  const bool clears = writer_ && !keep_states;
  writer_.reset();
  if (clears) folder_->clear();
  leave();
}

void RunKeeper::leave() {
  writer_.reset();
  folder_.reset();
}

}  // namespace cornu::callbacks
