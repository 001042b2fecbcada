// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/model_checkpoint.h"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "framework/callbacks/monitor.h"
#include "framework/callbacks/run_keeper.h"
#include "framework/callbacks/text.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/file_descriptor.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWho = "ModelCheckpoint";

// Throws the errors that formatting the first path would throw.
void check_fields(const FieldText& file, const ModelCheckpointOptions& options) {
  file.format([&](const std::string& name) -> FieldText::Value {
    const bool is_batch = name == "batch";
    check<InvalidArgument>(
        !is_batch || options.save_freq.batches(),
        "{}: the filepath '{}' names the batch, but it is saved at the end of epochs (save_freq = "
        "\"epoch\"). Omit {{batch}}, or set save_freq to a number of batches.",
        kWho, options.filepath);
    if (is_batch || name == "epoch") return int64_t{1};
    return 1.0;
  });
}

// The path of the file; `filepath` may be a folder.
FieldText file_of(const ModelCheckpointOptions& options) {
  const std::string& filepath = options.filepath;
  check<InvalidArgument>(!filepath.empty(), "{}: expected a filepath, got an empty one.", kWho);
  FieldText file(kWho, filepath);
  std::string name = file.after_fields();
  const bool is_weights = name.ends_with(".weights.h5");
  const bool is_model = name.ends_with(".keras") || (name.ends_with(".h5") && !is_weights);
  if (options.save_weights_only ? is_weights : is_model) return file;
  name.erase(0, name.rfind('/') + 1);  // npos + 1 is 0
  check<InvalidArgument>(
      name.find('.') == std::string::npos,
      "{}: expected a filepath that ends in {}, got '{}'. Or name a directory, "
      "without an extension.",
      kWho,
      options.save_weights_only ? "\".weights.h5\" (save_weights_only)" : "\".keras\" or \".h5\"",
      filepath);
  const char* inside = options.save_weights_only ? "model.weights.h5" : "model.keras";
  return FieldText(kWho, (fs::path(filepath) / inside).string());
}

void make_folder(const fs::path& folder, const std::string& filepath) {
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  check<FailedPrecondition>(
      !error,
      "{}: the directory '{}' can't be created: {}. Create it, or pass another filepath than '{}'.",
      kWho, folder.string(), error.message(), filepath);
}

// Detects before training what would fail after the first epoch.
void require_writable(const FieldText& file, const std::string& filepath) {
  const fs::path known = file.before_fields();
  const fs::path folder = known.parent_path();
  make_folder(folder, filepath);
  const std::string shown = folder.empty() ? "." : folder.string();
  // Writing is the only reliable test: root may write everywhere, except on read-only mounts.
  std::string probe = shown + "/.cornu-XXXXXX";
  const FileDescriptor opened(mkstemp(probe.data()));
  check<FailedPrecondition>(opened.is_open(),
                            "{}: files can't be written to the directory '{}': {}. Make it "
                            "writable, or pass another filepath than '{}'.",
                            kWho, shown, std::strerror(errno), filepath);
  unlink(probe.c_str());
  std::error_code ignored;
  check<FailedPrecondition>(file.has_fields() || !fs::is_directory(known, ignored),
                            "{}: '{}' is a directory. Pass the path of a file.", kWho,
                            known.string());
}

class ModelCheckpointImpl : public Callback {
 public:
  explicit ModelCheckpointImpl(const ModelCheckpointOptions& options)
      : options_(options),
        file_(file_of(options)),
        monitor_(kWho, options.monitor, options.mode, 0),
        best_(options.initial_value_threshold) {
    check_fields(file_, options);
  }
  std::string class_name() const override { return "ModelCheckpoint"; }
  std::string state_name() const override { return options_.filepath; }

  bool wants_batches() const override { return options_.save_freq.batches().has_value(); }

  void on_train_begin(const Logs&) override {
    if (get_strategy().is_chief()) require_writable(file_, options_.filepath);
    state_due_ = false;
    keeper_.begin(state_folder(), options_.on_every_worker);
  }
  void on_train_end(const Logs&) override { keeper_.end(false); }
  void on_epoch_begin(int64_t epoch, const Logs&) override { epoch_ = epoch; }

  void on_train_batch_end(int64_t batch, const Logs& logs) override {
    const std::optional<int64_t> every = options_.save_freq.batches();
    if (!every) return;
    if (!since_save_.is_due(batch, *every)) return;
    state_due_ = true;
    save(batch, logs);
  }

  void on_epoch_end(int64_t, const Logs& logs) override {
    if (options_.save_freq.batches()) return;
    state_due_ = true;
    save({}, logs);
  }

  std::optional<RunState> resume_run() override { return keeper_.load(); }
  bool keeps_run_state() const override { return true; }
  bool wants_run_state(std::optional<int64_t>) override {
    return std::exchange(state_due_, false) && keeper_.keeps();
  }
  void keep_run_state(const RunState& state) override { keeper_.keep(state); }
  std::string unkept_state() override { return keeper_.take_error(); }
  bool has_kept_state() override { return keeper_.has_kept(); }
  void skip_run() override { keeper_.skip(state_folder(), options_.on_every_worker, false); }
  void leave_run() override { keeper_.leave(); }

  RunState save_state() const override {
    return {.info = Json::object(
                {{"monitor", options_.save_best_only ? monitor_.name() : ""},
                 {"best", best_ ? Json(*best_) : Json()},
                 {"batches_since_save", since_save_.count},
                 {"last_batch", since_save_.last ? Json(*since_save_.last) : Json()}})};
  }
  void restore_state(const RunState& saved) override {
    const Json& json = saved.info;
    if (const std::string monitor = json.at("monitor").as_string();
        options_.save_best_only && !monitor.empty()) {
      monitor_.require_same(monitor);
    }
    const Json& best = json.at("best");
    best_ = best.is_null() ? std::nullopt : std::optional(best.as_double());
    since_save_.count = json.at("batches_since_save").as_int();
    const Json& last_batch = json.at("last_batch");
    since_save_.last = last_batch.is_null() ? std::nullopt : std::optional(last_batch.as_int());
  }

  std::optional<double> best() const { return best_; }

 private:
  void say(const std::string& message) const {
    if (options_.verbose > 0) logging::info(fmt::format("Epoch {}: {}", epoch_ + 1, message));
  }

  // Next to the files, one for each filepath.
  std::string state_folder() const {
    const fs::path file(file_.before_fields());
    const fs::path name = fs::path(options_.filepath).filename();
    return (file.parent_path() / ("." + name.string() + ".run")).string();
  }

  std::string path(std::optional<int64_t> batch, const Logs& logs) const {
    return file_.format([&](const std::string& name) -> FieldText::Value {
      if (name == "epoch") return epoch_ + 1;
      if (const double* value = logs.find(name)) return *value;
      if (name == "batch" && batch) return *batch + 1;
      std::vector<std::string> known = logs.names();
      known.insert(known.begin(), "epoch");
      if (batch) known.insert(known.begin() + 1, "batch");
      raise<InvalidArgument>("{}: the filepath '{}' names '{}', which isn't known then.{}", kWho,
                             options_.filepath, name, did_you_mean(name, known));
    });
  }

  bool is_best(const Logs& logs, const std::string& file) {
    const std::optional<double> value = monitor_.value(logs);
    if (!value) return true;  // as in Keras: better to save too often
    const std::string before = best_ ? fmt::format("{:.5f}", *best_) : "None";
    if (!monitor_.improves(*value, best_, trained().metrics())) {
      say(fmt::format("{} did not improve from {}", monitor_.name(), before));
      return false;
    }
    say(fmt::format("{} improved from {} to {:.5f}, saving model to {}", monitor_.name(), before,
                    *value, file));
    best_ = value;
    return true;
  }

  void save(std::optional<int64_t> batch, const Logs& logs) {
    const std::string file = path(batch, logs);
    if (options_.save_best_only) {
      if (!is_best(logs, file)) return;
    } else {
      say("saving model to " + file);
    }
    if (!get_strategy().is_chief()) return;
    make_folder(fs::path(file).parent_path(), options_.filepath);
    if (options_.save_weights_only) {
      trained().save_weights(file);
    } else {
      trained().save(file);
    }
  }

  ModelCheckpointOptions options_;
  FieldText file_;
  Monitor monitor_;
  std::optional<double> best_;
  RunKeeper keeper_;
  bool state_due_ = false;
  int64_t epoch_ = 0;
  BatchesSinceSave since_save_;
};

}  // namespace

ModelCheckpoint::ModelCheckpoint(const ModelCheckpointOptions& options)
    : CallbackHandle(std::make_shared<ModelCheckpointImpl>(options)) {}

std::optional<double> ModelCheckpoint::best() const {
  return static_cast<const ModelCheckpointImpl&>(get()).best();
}

}  // namespace cornu::callbacks
