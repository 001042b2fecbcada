// SPDX-License-Identifier: Apache-2.0
#include "framework/train/checkpoint_manager.h"

#include <algorithm>
#include <filesystem>

#include "framework/core/logging.h"
#include "framework/train/checkpoint_state.h"

namespace cornu {
namespace {

constexpr double kSecondsAnHour = 3600;

void check_options(const CheckpointManagerOptions& options) {
  check<InvalidArgument>(!options.directory.empty(),
                         "CheckpointManager: expected a directory for the checkpoints, got none.");
  check<InvalidArgument>(!options.max_to_keep || *options.max_to_keep >= 1,
                         "CheckpointManager: expected max_to_keep >= 1, or none, got {}.",
                         options.max_to_keep.value_or(0));
  check<InvalidArgument>(
      !options.checkpoint_name.empty() && options.checkpoint_name.find('/') == std::string::npos,
      "CheckpointManager: expected a checkpoint_name of at least one character and without '/', "
      "got '{}'.",
      options.checkpoint_name);
  check<InvalidArgument>(!options.checkpoint_interval || options.step_counter.defined(),
                         "CheckpointManager: a checkpoint_interval needs a step_counter, the "
                         "variable that counts steps.");
}

}  // namespace

struct CheckpointManager::State {
  Checkpoint checkpoint;
  CheckpointManagerOptions options;
  CheckpointState kept;
  std::optional<int64_t> last_step;  // of the last save or restore; set if there is an interval

  std::string path_of(const std::string& name) const { return options.directory + "/" + name; }

  double now() const { return options.clock ? options.clock() : seconds_since_1970(); }

  void note_step() {
    if (options.checkpoint_interval) last_step = options.step_counter.item<int64_t>();
  }

  // Whether too few steps have passed since the last save.
  bool is_early() const {
    return options.checkpoint_interval && last_step &&
           options.step_counter.item<int64_t>() - *last_step < *options.checkpoint_interval;
  }

  // Moves a newly written checkpoint to the end of the list.
  void add(const std::string& name) {
    std::erase_if(kept.checkpoints, [&](const auto& entry) { return entry.name == name; });
    kept.checkpoints.push_back({name, now()});
  }

  // Drops surplus checkpoints from the list and returns those whose files are to be removed.
  std::vector<std::string> sweep() {
    std::vector<std::string> removed;
    auto& list = kept.checkpoints;
    while (options.max_to_keep && list.size() > static_cast<size_t>(*options.max_to_keep)) {
      const auto [name, timestamp] = list.front();
      list.erase(list.begin());
      const auto& hours = options.keep_checkpoint_every_n_hours;
      if (hours && timestamp - *hours * kSecondsAnHour >= kept.last_preserved_timestamp) {
        kept.last_preserved_timestamp = timestamp;
      } else {
        removed.push_back(name);
      }
    }
    return removed;
  }
};

CheckpointManager::CheckpointManager(const Checkpoint& checkpoint,
                                     const CheckpointManagerOptions& options)
    : state_(std::make_shared<State>(State{checkpoint, options, {}, {}})) {
  check_options(options);
  const double now = state_->now();
  auto kept = read_checkpoint_state(options.directory, options.checkpoint_name);
  state_->kept = kept ? std::move(*kept) : CheckpointState{{}, now};
  // The clock may have been set back.
  auto& preserved = state_->kept.last_preserved_timestamp;
  preserved = std::min(preserved, now);
}

std::optional<std::string> CheckpointManager::save(std::optional<int64_t> checkpoint_number,
                                                   bool check_interval) {
  State& state = *state_;
  if (check_interval && state.is_early()) return std::nullopt;
  const Variable& counter = state.checkpoint.save_counter();
  const int64_t before = counter.item<int64_t>();
  counter.assign(Tensor::scalar(before + 1));
  const std::string name =
      fmt::format("{}-{}", state.options.checkpoint_name, checkpoint_number.value_or(before + 1));
  try {
    state.checkpoint.write(state.path_of(name));
  } catch (...) {
    counter.assign(Tensor::scalar(before));
    throw;
  }
  state.note_step();
  state.add(name);
  const std::vector<std::string> removed = state.sweep();
  // The list is written before files are removed, so that the files it names exist whenever the
  // process is killed.
  write_checkpoint_state(state.options.directory, state.kept);
  for (const std::string& old : removed) {
    std::error_code gone;
    std::filesystem::remove(state.path_of(old), gone);
  }
  return state.path_of(name);
}

std::optional<std::string> CheckpointManager::restore_or_initialize() {
  State& state = *state_;
  std::string problem;
  for (auto entry = state.kept.checkpoints.rbegin(); entry != state.kept.checkpoints.rend();
       ++entry) {
    const std::string path = state.path_of(entry->name);
    try {
      state.checkpoint.restore(path);
      if (!problem.empty()) {
        logging::warn(fmt::format("{} The checkpoint before it is used, '{}'.", problem, path));
      }
      state.note_step();
      return path;
    } catch (const DataLoss& error) {
      if (problem.empty()) problem = error.what();
    } catch (const NotFound& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  check<DataLoss>(problem.empty(),
                  "CheckpointManager: {} There is no complete checkpoint before it, either. Delete "
                  "the directory '{}' to start over.",
                  problem, state.options.directory);
  if (state.options.init_fn) state.options.init_fn();
  return std::nullopt;
}

std::vector<std::string> CheckpointManager::checkpoints() const {
  std::vector<std::string> paths;
  for (const auto& entry : state_->kept.checkpoints) paths.push_back(state_->path_of(entry.name));
  return paths;
}

std::optional<std::string> CheckpointManager::latest_checkpoint() const {
  if (state_->kept.checkpoints.empty()) return std::nullopt;
  return state_->path_of(state_->kept.checkpoints.back().name);
}

const std::string& CheckpointManager::directory() const { return state_->options.directory; }

std::optional<std::string> latest_checkpoint(const std::string& directory) {
  const std::optional<CheckpointState> state = read_checkpoint_state(directory);
  if (!state) return std::nullopt;
  return directory + "/" + state->checkpoints.back().name;
}

}  // namespace cornu
