// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/run_keeper.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "framework/core/logging.h"
#include "framework/strategy/job_end.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOfWorker = "worker ";
constexpr const char* kOfFit = "fit ";

// Counts the runs of this process that have ended and removed their states, by the folder of the
// states.
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

// Logs if there is a state of a later fit, which this fit doesn't load.
void tell_of_later_fits(const std::string& folder) {
  std::error_code failed;
  if (fs::exists(fs::path(folder) / "run_state", failed)) return;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->path().filename().string().starts_with(kOfFit)) continue;
    logging::info(
        fmt::format("Run state: '{}' is of a later fit of the program that saved it. It is resumed "
                    "when that fit begins; move its files to '{}' to resume it in this one.",
                    entry->path().string(), folder));
  }
}

// The folder where a worker other than the chief saves its states.
std::string folder_of_worker(const std::string& of_run, int64_t worker) {
  return (fs::path(of_run) / fmt::format("{}{}", kOfWorker, worker)).string();
}

}  // namespace

void RunKeeper::begin(const std::string& folder, bool on_every_worker) {
  leave();
  error_.clear();
  has_kept_ = false;
  const StrategyImpl& strategy = get_strategy().impl();
  get_strategy().impl().clean_up_now();
  JobEnd::get().forget();
  const int64_t ended = ended_runs().in(folder);
  given_ = of_run_ = folder;
  if (ended > 0) of_run_ = (fs::path(folder) / fmt::format("{}{}", kOfFit, ended + 1)).string();
  on_every_worker_ = on_every_worker;
  if (strategy.is_chief() || on_every_worker) {
    if (ended == 0) tell_of_later_fits(folder);
    folder_ = std::make_shared<RunStateFolder>(
        strategy.is_chief() ? of_run_ : folder_of_worker(of_run_, strategy.worker()));
    writer_ = std::make_unique<RunStateWriter>(folder_);
  }
  keeps_ = true;
}

// The folders of other workers on this machine, including those from when this worker had another
// index.
std::vector<std::string> RunKeeper::other_folders() const {
  std::vector<std::string> folders;
  if (!on_every_worker_) return folders;
  if (of_run_ != folder_->path()) folders.push_back(of_run_);
  std::error_code failed;
  for (fs::directory_iterator entry(of_run_, failed), end; !failed && entry != end;
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
  std::optional<RunState> state;
  std::optional<DataLoss> damage;
  try {
    state = folder_->load();
  } catch (const DataLoss& error) {
    damage = error;
  }
  for (const std::string& folder : other_folders()) {
    auto other = RunStateFolder::peek(folder);
    if (!other || (state && place_in_run(*state) >= place_in_run(*other))) continue;
    state = std::move(other);
    state->folder = folder;
  }
  if (damage && !state) throw *damage;
  if (damage) {
    logging::warn(fmt::format("{} The state in '{}' is used.", damage->what(), state->folder));
  }
  writer_ = std::make_unique<RunStateWriter>(folder_);
  return state;
}

void RunKeeper::keep(const RunState& state) {
  if (writer_) writer_->write(state);
}

void RunKeeper::end(bool keep_states) {
  const bool clears = keeps_ && !keep_states;
  writer_.reset();
  if (clears) {
    ended_runs().add(given_);
    tell_of_obsolete_states();
  }
  if (clears && folder_) {
    // Nobody else would remove the states of workers that no longer exist.
    std::vector<std::string> others;
    if (get_strategy().is_chief()) others = other_folders();
    get_strategy().impl().when_all_are_done(
        [own = std::move(folder_), others, around = std::vector{of_run_, given_}]() mutable {
          for (const std::string& other : others) RunStateFolder::clear_unused(other);
          own->clear();
          own.reset();
          // It stays where another run or worker has left files in it, and where it is a link.
          for (const std::string& folder : around) rmdir(folder.c_str());
        });
  }
  leave();
}

// On every worker: the first to know that all are done tells the others what to remove.
void RunKeeper::tell_of_obsolete_states() const {
  const int64_t workers = get_strategy().impl().num_workers();
  if (workers == 1) return;  // it is removed immediately
  ObsoleteStates obsolete{.states = {of_run_}, .folders = {}};
  for (int64_t worker = 1; on_every_worker_ && worker < workers; ++worker) {
    obsolete.states.push_back(folder_of_worker(of_run_, worker));
    obsolete.folders.push_back(obsolete.states.back());
  }
  obsolete.folders.insert(obsolete.folders.end(), {of_run_, given_});
  JobEnd::get().add(obsolete);
}

void RunKeeper::skip(const std::string& folder, bool on_every_worker, bool keep_states) {
  if (!keeps_) begin(folder, on_every_worker);
  end(keep_states);
}

std::string RunKeeper::take_error() {
  return writer_ ? writer_->take_error() : std::exchange(error_, {});
}

void RunKeeper::leave() {
  keeps_ = false;
  if (writer_) {
    writer_->finish();
    error_ = writer_->take_error();
    has_kept_ = writer_->has_written();
  }
  writer_.reset();
  folder_.reset();
}

}  // namespace cornu::callbacks
