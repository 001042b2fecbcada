// SPDX-License-Identifier: Apache-2.0
#include "framework/train/checkpoint.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <set>

#include "framework/saving/run_conditions.h"
#include "framework/saving/run_state.h"
#include "framework/saving/saved_variables.h"
#include "framework/train/checkpoint_state.h"

namespace cornu {
namespace {

constexpr const char* kCounter = "save_counter";

void check_names(const std::vector<NamedCheckpointItem>& items) {
  std::set<std::string> names = {kCounter};
  for (const auto& [name, item] : items) {
    check<InvalidArgument>(!name.empty() && name.find('/') == std::string::npos,
                           "Checkpoint: expected a name without '/', got '{}'.", name);
    check<InvalidArgument>(names.insert(name).second, "Checkpoint: the name '{}' is taken.{}", name,
                           name == kCounter ? " It is the checkpoint's own. Choose another." : "");
  }
}

void make_folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error, unknown;
  std::filesystem::create_directories(folder, error);
  check<FailedPrecondition>(
      std::filesystem::is_directory(folder, unknown),
      "Checkpoint: '{}' isn't a directory, and none can be created there{}{}. Choose another path.",
      folder.string(), error ? ": " : "", error ? error.message() : "");
}

}  // namespace

struct Checkpoint::State {
  std::vector<NamedCheckpointItem> items;
  Variable counter{Tensor::scalar(int64_t{0}), {.name = kCounter, .trainable = false}};
};

Checkpoint::Checkpoint(std::vector<NamedCheckpointItem> items) : state_(std::make_shared<State>()) {
  check_names(items);
  state_->items = std::move(items);
  state_->items.push_back({kCounter, state_->counter});
}

const Variable& Checkpoint::save_counter() const { return state_->counter; }

std::string Checkpoint::write(const std::string& path) const {
  RunState saved;
  Json positions = Json::object();
  for (const auto& [name, item] : state_->items) {
    if (item.variables_) {
      save_variables(saved, name, item.variables_());
    } else {
      positions.set(name, item.save_());
    }
  }
  saved.info.set("positions", std::move(positions));
  save_conditions(saved);
  make_folder_of(path);
  write_run_state(path, saved);
  return path;
}

std::string Checkpoint::save(const std::string& prefix) const {
  const Variable& counter = state_->counter;
  const auto number = counter.item<int64_t>() + 1;
  const std::string path = fmt::format("{}-{}", prefix, number);
  counter.assign(Tensor::scalar(number));
  try {
    write(path);
    const std::filesystem::path file(path);
    const std::string folder = file.parent_path().string();
    write_checkpoint_state(folder.empty() ? "." : folder,
                           {{{file.filename().string(), seconds_since_1970()}}});
    return path;
  } catch (...) {
    counter.assign(Tensor::scalar(number - 1));
    throw;
  }
}

CheckpointStatus Checkpoint::restore(const std::optional<std::string>& path) const {
  CheckpointStatus status;
  std::set<std::string> known;
  for (const auto& [name, item] : state_->items) known.insert(name);
  if (!path) {
    status.missing_.assign(known.begin(), known.end());
    return status;
  }
  status.path_ = *path;
  const RunState saved = read_run_state(*path, "checkpoint");
  const Json* groups = saved.info.find("variables");
  const Json* positions = saved.info.find("positions");
  check<DataLoss>(groups && positions,
                  "Checkpoint: '{}' isn't a checkpoint, but the state of a run that fit saved. "
                  "Start its program to resume it.",
                  *path);
  std::vector<const NamedCheckpointItem*> matched;
  for (const NamedCheckpointItem& named : state_->items) {
    const auto& [name, item] = named;
    if (!(item.variables_ ? groups : positions)->contains(name)) {
      status.missing_.push_back(name);
      continue;
    }
    matched.push_back(&named);
    if (!item.variables_) continue;
    const std::string difference = difference_of_variables(saved, name, item.variables_());
    check<FailedPrecondition>(
        difference.empty(),
        "Checkpoint: '{}' in '{}' isn't what it is here: {}. Make it as it was, and before it is "
        "restored, its variables: by build(), or a first call.",
        name, *path, difference);
  }
  for (const Json* part : {groups, positions}) {
    for (const auto& [name, ignored] : part->as_object()) {
      if (!known.contains(name)) status.unused_.push_back(name);
    }
  }
  // Restoring positions may fail; restoring variables no longer can.
  for (const NamedCheckpointItem* named : matched) {
    if (!named->item.variables_) named->item.restore_(positions->at(named->name));
  }
  for (const NamedCheckpointItem* named : matched) {
    if (named->item.variables_) restore_variables(saved, named->name, named->item.variables_());
  }
  warn_of_other_conditions(saved);
  restore_seeds(saved);
  return status;
}

const CheckpointStatus& CheckpointStatus::assert_existing_objects_matched() const {
  check<FailedPrecondition>(!path_.empty(), "Checkpoint: nothing was restored, there was no path.");
  check<FailedPrecondition>(missing_.empty(), "Checkpoint: '{}' has nothing for {}.", path_,
                            fmt::join(missing_, ", "));
  return *this;
}

const CheckpointStatus& CheckpointStatus::assert_consumed() const {
  assert_existing_objects_matched();
  check<FailedPrecondition>(unused_.empty(),
                            "Checkpoint: '{}' holds {}, which no object here took. Add them, or "
                            "don't assert this.",
                            path_, fmt::join(unused_, ", "));
  return *this;
}

}  // namespace cornu
