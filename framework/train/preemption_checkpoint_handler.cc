// SPDX-License-Identifier: Apache-2.0
#include "framework/train/preemption_checkpoint_handler.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <vector>

#include "framework/core/error.h"
#include "framework/core/json.h"
#include "framework/core/logging.h"
#include "framework/strategy/agreed_bits.h"

namespace cornu::distribute {
namespace {

constexpr char kWho[] = "PreemptionCheckpointHandler";

std::string folder_of(const StrategyImpl& strategy, const std::string& directory) {
  if (strategy.worker() == 0) return directory;
  const std::string own = fmt::format("worker-{}", strategy.worker());
  return (std::filesystem::path(directory) / own).string();
}

// The numbers of calls after which checkpoints were saved, from names ending in -<calls>.
std::vector<int64_t> saved_after(const CheckpointManager& manager) {
  std::vector<int64_t> calls;
  for (const std::string& path : manager.checkpoints()) {
    const std::string digits = path.substr(path.rfind('-') + 1);
    int64_t number = 0;
    const char* end = digits.data() + digits.size();
    if (std::from_chars(digits.data(), end, number).ptr == end) calls.push_back(number);
  }
  return calls;
}

}  // namespace

PreemptionCheckpointHandler::PreemptionCheckpointHandler(const Checkpoint& checkpoint,
                                                         const std::string& checkpoint_dir,
                                                         TerminationConfig config)
    : strategy_(get_strategy()),
      config_(std::move(config)),
      checkpoint_(checkpoint),
      manager_(checkpoint, {.directory = folder_of(strategy_.impl(), checkpoint_dir),
                            .max_to_keep = 2}) {  // one of the two exists on all workers
  strategy_.impl().agree(agreed::kPreempted, 0);  // discard an earlier handler's flag
  restore();
}

void PreemptionCheckpointHandler::restore() {
  Json own = Json::array();
  for (const int64_t calls : saved_after(manager_)) own.push_back(calls);
  std::vector<std::vector<int64_t>> by_worker;
  for (const std::string& text : strategy_.impl().exchange("checkpoints", own.dump())) {
    std::vector<int64_t>& theirs = by_worker.emplace_back();
    for (const Json& calls : Json::parse(text).as_array()) theirs.push_back(calls.as_int());
  }
  std::optional<int64_t> newest;
  for (const int64_t calls : by_worker.front()) {
    const bool all_have = std::ranges::all_of(by_worker, [&](const auto& theirs) {
      return std::ranges::find(theirs, calls) != theirs.end();
    });
    if (all_have) newest = std::max(calls, newest.value_or(0));
  }
  if (!newest) {
    const bool some = std::ranges::any_of(by_worker, [](const auto& all) { return !all.empty(); });
    check<FailedPrecondition>(
        !some,
        "{}: workers have checkpoints in the directories of {}, but none that all of them have. "
        "Start as many workers as before, or delete the directory to start over.",
        kWho, manager_.directory());
    return;
  }
  for (const std::string& path : manager_.checkpoints()) {
    if (!path.ends_with(fmt::format("-{}", *newest))) continue;
    checkpoint_.restore(path);
    calls_ = *newest;
    logging::info(fmt::format("{}: resuming from {}.", kWho, path));
  }
}

PreemptionCheckpointHandler::~PreemptionCheckpointHandler() {
  if (std::uncaught_exceptions() > exceptions_) return;
  try {
    const auto told =
        strategy_.impl().exchange("whether to end", is_signalled() || told_ ? "yes" : "");
    if (std::ranges::any_of(told, [](const std::string& said) { return !said.empty(); })) keep();
  } catch (const std::exception& error) {
    logging::warn(fmt::format("{}: the last state isn't kept: {}", kWho, error.what()));
  }
}

// Saves with the user's save_fn, or else with save().
void PreemptionCheckpointHandler::keep() {
  if (config_.save_fn) {
    config_.save_fn();
  } else {
    save();
  }
}

std::string PreemptionCheckpointHandler::save() { return manager_.save(calls_, false).value(); }

bool PreemptionCheckpointHandler::is_signalled() {
  if (const auto signal = signals_->received(); signal && signal->ends) signal_ = signal;
  return signal_.has_value();
}

// Notified by a signal or by the watcher.
bool PreemptionCheckpointHandler::is_told() {
  told_ = is_signalled() || told_ ||
          (config_.termination_watcher_fn && config_.termination_watcher_fn());
  return told_;
}

void PreemptionCheckpointHandler::end_call() {
  ++calls_;
  StrategyImpl& strategy = strategy_.impl();
  if (strategy.agree(agreed::kPreempted, is_told() ? agreed::kPreempted : 0) == 0) return;
  keep();
  try {  // don't leave before the others have saved it
    strategy.exchange("that the state is kept", "");
  } catch (const Unavailable& error) {
    logging::warn(error.what());
  } catch (const Aborted& error) {
    logging::warn(error.what());
  }
  const std::string text = fmt::format(
      "{}: a worker is to end. The state after {} calls has been saved: restart the same program "
      "to resume from there.",
      kWho, calls_);
  logging::info(text);
  const bool was_signal = signal_.has_value();
  const int number = was_signal ? signal_->number : SIGTERM;
  told_ = false;
  signal_.reset();
  strategy.agree(agreed::kPreempted, 0);
  if (config_.exit_fn) return config_.exit_fn();
  if (!was_signal) {  // as if it had been sent to this process
    std::raise(number);
    static_cast<void>(signals_->received());
  }
  if (number == SIGTERM) {
    signals_.reset();  // ends the process, unless an enclosing scope must end first
    signals_.emplace();
  }
  throw Interrupted(number, text);
}

}  // namespace cornu::distribute
