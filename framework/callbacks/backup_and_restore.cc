// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/backup_and_restore.h"

#include <memory>

#include "framework/callbacks/run_keeper.h"
#include "framework/core/error.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {
namespace {

class BackupAndRestoreImpl : public Callback {
 public:
  explicit BackupAndRestoreImpl(const BackupAndRestoreOptions& options) : options_(options) {
    check<InvalidArgument>(
        !options.backup_dir.empty(),
        "BackupAndRestore: expected backup_dir, the directory for the state of the run, got none.");
  }
  std::string class_name() const override { return "BackupAndRestore"; }

  void on_train_begin(const Logs&) override {
    since_save_ = {};
    keeper_.begin(options_.backup_dir, options_.on_every_worker);
  }
  std::optional<RunState> resume_run() override { return keeper_.load(); }

  bool keeps_run_state() const override { return true; }
  bool wants_run_state(std::optional<int64_t> batch) override {
    if (!keeper_.keeps()) return false;
    const std::optional<int64_t> every = options_.save_freq.batches();
    if (!every) return !batch;
    // If the state is kept after training, a completed run isn't trained again.
    if (!batch) return !options_.delete_checkpoint;
    return since_save_.is_due(*batch, *every);
  }
  void keep_run_state(const RunState& state) override { keeper_.keep(state); }
  std::string unkept_state() override { return keeper_.take_error(); }
  bool has_kept_state() override { return keeper_.has_kept(); }
  void skip_run() override {
    keeper_.skip(options_.backup_dir, options_.on_every_worker, !options_.delete_checkpoint);
  }

  RunState save_state() const override {
    return {.info = Json::object(
                {{"since", since_save_.count},
                 {"last_batch", since_save_.last ? Json(*since_save_.last) : Json()}})};
  }
  void restore_state(const RunState& saved) override {
    since_save_ = {.count = saved.info.at("since").as_int(), .last = {}};
    const Json* last_batch = saved.info.find("last_batch");
    if (last_batch && !last_batch->is_null()) since_save_.last = last_batch->as_int();
  }

  void on_train_end(const Logs&) override { keeper_.end(!options_.delete_checkpoint); }
  void leave_run() override { keeper_.leave(); }

 private:
  BackupAndRestoreOptions options_;
  RunKeeper keeper_;
  BatchesSinceSave since_save_;
};

}  // namespace

BackupAndRestore::BackupAndRestore(const BackupAndRestoreOptions& options)
    : CallbackHandle(std::make_shared<BackupAndRestoreImpl>(options)) {}

}  // namespace cornu::callbacks
