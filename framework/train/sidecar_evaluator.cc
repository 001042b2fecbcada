// SPDX-License-Identifier: Apache-2.0
#include "framework/train/sidecar_evaluator.h"

#include <sys/stat.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <utility>

#include "framework/core/error.h"
#include "framework/core/logging.h"
#include "framework/train/checkpoint.h"
#include "framework/train/checkpoint_manager.h"
#include "framework/train/optimizer.h"

namespace cornu {
namespace {

namespace fs = std::filesystem;

bool has_weights(const fs::path& path) {
  return path.extension() == ".h5" || path.extension() == ".keras";
}

}  // namespace

SidecarEvaluator::SidecarEvaluator(Model model, std::shared_ptr<BatchSource> data,
                                   SidecarEvaluatorOptions options)
    : model_(std::move(model)), data_(std::move(data)), options_(std::move(options)) {
  check<InvalidArgument>(!options_.checkpoint_dir.empty(),
                         "SidecarEvaluator: expected a checkpoint_dir, got none.");
  check<InvalidArgument>(!options_.max_evaluations || *options_.max_evaluations > 0,
                         "SidecarEvaluator: expected max_evaluations of at least 1, got {}.",
                         options_.max_evaluations.value_or(0));
  check<InvalidArgument>(
      options_.seconds_between_looks >= 0 && options_.seconds_between_looks <= 1e6,
      "SidecarEvaluator: expected seconds_between_looks from 0 to a million, "
      "got {}.",
      options_.seconds_between_looks);
}

// If several were changed at the same time, the last one by name.
std::optional<SidecarEvaluator::File> SidecarEvaluator::newest() const {
  std::vector<std::string> paths;
  std::error_code failed;
  for (fs::directory_iterator entry(options_.checkpoint_dir, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (has_weights(entry->path())) paths.push_back(entry->path().string());
  }
  if (const auto checkpoint = latest_checkpoint(options_.checkpoint_dir)) {
    paths.push_back(*checkpoint);
  }
  std::optional<File> found;
  for (const std::string& path : paths) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;  // gone meanwhile
    const File file{.path = path,
                    .changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
                    .bytes = static_cast<uint64_t>(status.st_size)};
    if (!found || std::pair(file.changed, file.path) > std::pair(found->changed, found->path)) {
      found = file;
    }
  }
  return found;
}

// A program that doesn't rename completed files may still be writing it.
bool SidecarEvaluator::load(const File& file) {
  try {
    // Creates the variables that the file may contain, including the number of steps.
    if (model_.built()) model_.optimizer().build(model_.trainable_variables());
    if (has_weights(file.path)) {
      model_.load_weights(file.path);
    } else {
      Checkpoint({{"model", model_}, {"optimizer", model_.optimizer()}}).restore(file.path);
    }
    return true;
  } catch (const DataLoss& error) {
    warn(file, error);
  } catch (const NotFound& error) {
    warn(file, error);
  }
  return false;
}

void SidecarEvaluator::warn(const File& file, const Error& error) {
  if (std::exchange(unread_, file) == file) return;
  logging::warn(fmt::format("SidecarEvaluator: {} can't be read: {} It is tried again.", file.path,
                            error.what()));
}

bool SidecarEvaluator::is_told_to_end() {
  const auto signal = signals_->received();
  if (!signal || !signal->ends) return ends_;
  if (signal->number == SIGINT) throw Interrupted(SIGINT, "SidecarEvaluator: SIGINT ends it.");
  return ends_ = true;
}

// Waits until the next look or a signal.
void SidecarEvaluator::wait() const {
  timespec left{};
  left.tv_sec = static_cast<time_t>(options_.seconds_between_looks);
  left.tv_nsec = static_cast<int64_t>(
      (options_.seconds_between_looks - static_cast<double>(left.tv_sec)) * 1e9);
  ::nanosleep(&left, nullptr);
}

Logs SidecarEvaluator::start() {
  signals_.emplace();
  const auto results = evaluate_what_comes();
  signals_.reset();
  return results;
}

Logs SidecarEvaluator::evaluate_what_comes() {
  Logs results;
  std::optional<File> evaluated;
  int64_t evaluations = 0;
  while (!options_.until || !options_.until()) {
    const bool is_last = is_told_to_end();  // checked before looking
    const std::optional<File> file = newest();
    if (file && file != evaluated && load(*file)) {
      logging::info(fmt::format("SidecarEvaluator: evaluating {}, of {} training steps.",
                                file->path, model_.optimizer().iterations()));
      results = model_.evaluate(
          data_,
          {.verbose = options_.verbose, .steps = options_.steps, .callbacks = options_.callbacks});
      evaluated = file;
      if (++evaluations == options_.max_evaluations) return results;
    } else if (is_last) {
      return results;
    } else {
      wait();
    }
  }
  return results;
}

}  // namespace cornu
