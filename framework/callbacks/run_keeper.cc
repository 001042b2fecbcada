// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/run_keeper.h"

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "framework/core/logging.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOfWorker = "worker ";
constexpr const char* kOfFit = "fit ";

// How many runs of this process have ended, and removed their states, by the folders that these
// were kept in.
class EndedRuns {
 public:
  int64_t in(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    return counts_[key(folder)];
  }
  void add(const std::string& folder) {
    const std::lock_guard lock(mutex_);
    ++counts_[key(folder)];
  }

 private:
  static std::string key(const std::string& folder) {
    return fs::absolute(folder).lexically_normal().string();
  }

  std::mutex mutex_;
  std::map<std::string, int64_t> counts_;
};

EndedRuns& ended_runs() {
  static EndedRuns runs;
  return runs;
}

// A state that the program's first fit would once have taken is not passed over in silence.
void tell_of_later_fits(const std::string& folder) {
  std::error_code failed;
  if (fs::exists(fs::path(folder) / "run_state", failed)) return;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with(kOfFit)) continue;
    logging::info(fmt::format(
        "Run state: '{}' is of a later fit of the program that kept it. It goes on when that fit "
        "begins; move its files to '{}' to go on with it in this one.",
        entry->path().string(), folder));
  }
}

// Of the next run that is given this folder.
std::string folder_of_run(const std::string& folder, const StrategyImpl& strategy) {
  const int64_t ended = strategy.num_workers() == 1 ? ended_runs().in(folder) : 0;
  if (ended > 0) return (fs::path(folder) / fmt::format("{}{}", kOfFit, ended + 1)).string();
  tell_of_later_fits(folder);
  return folder;
}

}  // namespace

void RunKeeper::begin(const std::string& folder, bool on_every_worker) {
  leave();
  const StrategyImpl& strategy = get_strategy().impl();
  get_strategy().impl().clean_up_now();
  given_ = folder;
  std::string own = folder_of_run(folder, strategy);
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
  if (!clears || get_strategy().impl().num_workers() > 1) return;
  ended_runs().add(given_);
  std::error_code used;
  fs::remove(given_, used);  // where no other run has left anything in it
}

void RunKeeper::leave() {
  keeps_ = false;
  writer_.reset();
  folder_.reset();
}

}  // namespace cornu::callbacks
