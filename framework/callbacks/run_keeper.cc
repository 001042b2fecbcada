// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/run_keeper.h"

#include <filesystem>
#include <utility>

#include "framework/strategy/strategy.h"

namespace cornu::callbacks {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOfWorker = "worker ";

}  // namespace

void RunKeeper::begin(const std::string& folder, bool on_every_worker) {
  leave();
  const StrategyImpl& strategy = get_strategy().impl();
  get_strategy().impl().clean_up_now();
  std::string own = folder;
  if (on_every_worker && !strategy.is_chief()) {
    own = (fs::path(folder) / fmt::format("{}{}", kOfWorker, strategy.worker())).string();
  }
  if (strategy.is_chief() || on_every_worker) {
    folder_ = std::make_shared<RunStateFolder>(own);
    writer_ = std::make_unique<RunStateWriter>(folder_);
  }
  shared_ = on_every_worker ? folder : "";
  keeps_ = true;
}

// Those of other workers that are on this machine, or were, when this one had another number.
std::vector<std::string> RunKeeper::other_folders() const {
  std::vector<std::string> folders;
  if (shared_.empty()) return folders;
  if (shared_ != folder_->path()) folders.push_back(shared_);
  std::error_code failed;
  for (fs::directory_iterator entry(shared_, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string path = entry->path().string();
    if (entry->path().filename().string().starts_with(kOfWorker) && path != folder_->path()) {
      folders.push_back(path);
    }
  }
  return folders;
}

std::optional<RunState> RunKeeper::load() {
  if (!folder_) return {};
  writer_.reset();
  auto state = folder_->load();
  for (const std::string& folder : other_folders()) {
    auto other = RunStateFolder::peek(folder);
    if (other && (!state || place_in_run(*state) < place_in_run(*other))) state = std::move(other);
  }
  writer_ = std::make_unique<RunStateWriter>(folder_);
  return state;
}

void RunKeeper::keep(const RunState& state) {
  if (writer_) writer_->write(state);
}

void RunKeeper::end(bool keep_states) {
  const bool clears = writer_ && !keep_states;
  writer_.reset();
  if (clears) {
    // Of workers that aren't there any more nobody else would remove them.
    std::vector<std::string> others;
    if (get_strategy().is_chief()) others = other_folders();
    get_strategy().impl().when_all_are_done([folder = folder_, others] {
      for (const std::string& other : others) RunStateFolder::clear_unused(other);
      folder->clear();
    });
  }
  leave();
}

void RunKeeper::leave() {
  keeps_ = false;
  writer_.reset();
  folder_.reset();
}

}  // namespace cornu::callbacks
