// SPDX-License-Identifier: Apache-2.0
#include "framework/callbacks/tensor_board.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "framework/callbacks/model_graph.h"
#include "framework/callbacks/projector.h"
#include "framework/callbacks/step_traces.h"
#include "framework/callbacks/summaries.h"
#include "framework/core/logging.h"
#include "framework/core/strings.h"
#include "framework/io/event_file.h"
#include "framework/strategy/strategy.h"

namespace cornu::callbacks {
namespace {

constexpr std::string_view kValidated = "val_";

void check_options(const TensorBoardOptions& options) {
  check<InvalidArgument>(options.embeddings_freq >= 0,
                         "TensorBoard: expected an embeddings_freq of 0 or more epochs, got {}.",
                         options.embeddings_freq);
  check<InvalidArgument>(options.histogram_freq >= 0,
                         "TensorBoard: expected a histogram_freq of 0 or more epochs, got {}.",
                         options.histogram_freq);
  check<InvalidArgument>(!options.log_dir.empty(), "TensorBoard: expected a log_dir, got none.");
}

class Stopwatch {
 public:
  void start() { start_ = Clock::now(); }
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// The events of training, or of validation; the file is created when needed.
class EventFolder {
 public:
  EventFolder(const std::string& log_dir, const char* name)
      : log_dir_(log_dir), folder_((std::filesystem::path(log_dir) / name).string()) {}

  // Throws FailedPrecondition when the file can't be written.
  void open() {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    check<FailedPrecondition>(!error,
                              "TensorBoard: the directory '{}' can't be created: {}. Create it, or "
                              "pass another log_dir than '{}'.",
                              folder_, error.message(), log_dir_);
    try {
      file_ = std::make_unique<EventFile>(folder_);
    } catch (const Error& cause) {
      raise<FailedPrecondition>("TensorBoard: no file can be made in the log_dir '{}': {}",
                                log_dir_, cause.what());
    }
  }
  const std::string& folder() const { return folder_; }
  void close() {
    file_.reset();
    warned_ = false;
  }

  // Writes serialized summary values, and a graph unless it is empty. Failures don't stop training.
  void write(int64_t step, const std::vector<std::string>& values, std::string_view graph = {}) {
    try {
      if (!file_) open();
      for (const std::string& value : values) file_->add_value(step, value);
      if (!graph.empty()) file_->add_graph(graph);
      file_->flush();
      warned_ = false;
    } catch (const Error& error) {
      if (!warned_) {
        logging::warn(fmt::format("{} TensorBoard leaves out events until it can be written again.",
                                  error.what()));
      }
      warned_ = true;
    }
  }

 private:
  std::string log_dir_;
  std::string folder_;
  std::unique_ptr<EventFile> file_;
  bool warned_ = false;
};

// Records the steps of some batches, and writes them after the last one.
class StepProfiler {
 public:
  explicit StepProfiler(const ProfiledBatches& batches) : batches_(batches) {}
  bool wants_batches() const { return batches_.any(); }

  void begin_batch(int64_t batch) {
    if (!batches_.any() || batch < batches_.first() || batch > batches_.last()) return;
    recorder_.start();
    steps_.push_back({.step = batch, .begin = ProgramRun::Clock::now(), .end = {}});
  }
  // `folder`: the folder of the events. Failures don't stop training.
  void end_batch(int64_t batch, const std::string& folder) {
    if (!recorder_.is_recording()) return;
    steps_.back().end = ProgramRun::Clock::now();
    if (batch >= batches_.last()) write(folder);
  }
  // If training ends early, writes what was recorded.
  void end(const std::string& folder) {
    if (!recorder_.is_recording()) return;
    if (steps_.back().end < steps_.back().begin) steps_.back().end = ProgramRun::Clock::now();
    write(folder);
  }
  void give_up() {
    recorder_.stop();
    recorder_.take();
    steps_.clear();
  }

 private:
  void write(const std::string& folder) {
    recorder_.stop();
    const std::vector<ProgramRun> runs = recorder_.take();
    try {
      write_step_traces(fmt::format("{}/plugins/profile/{:%Y_%m_%d_%H_%M_%S}", folder,
                                    fmt::localtime(std::time(nullptr))),
                        runs, steps_);
    } catch (const Error& error) {
      logging::warn(fmt::format("TensorBoard: the profile isn't written. {}", error.what()));
    }
    steps_.clear();
  }

  ProfiledBatches batches_;
  ProgramRecorder recorder_;
  std::vector<StepSpan> steps_;
};

class TensorBoardImpl : public Callback {
 public:
  explicit TensorBoardImpl(const TensorBoardOptions& options)
      : options_(options),
        train_(options.log_dir, "train"),
        validation_(options.log_dir, "validation"),
        profiler_(options.profile_batch) {
    check_options(options);
  }
  std::string class_name() const override { return "TensorBoard"; }
  std::string state_name() const override { return options_.log_dir; }

  bool wants_batches() const override {
    return options_.update_freq.batches().has_value() || profiler_.wants_batches();
  }

  void on_train_begin(const Logs&) override {
    train_batch_ = 0;
    trains_ = true;
    graph_due_ = options_.write_graph;
    writes_ = get_strategy().is_chief();
    if (!writes_) return;
    train_.open();
    write_model();
  }

  void on_train_batch_begin(int64_t, const Logs&) override {
    ++train_batch_;
    batch_time_.start();
    if (writes_) profiler_.begin_batch(train_batch_);
  }

  void on_train_batch_end(int64_t, const Logs& logs) override {
    if (!writes_) return;
    profiler_.end_batch(train_batch_, train_.folder());
    const std::optional<int64_t> every = options_.update_freq.batches();
    if (!every || train_batch_ % *every != 0) return;
    Logs all = logs;
    if (options_.write_steps_per_second) all["steps_per_second"] = 1 / batch_time_.seconds();
    write_scalars(train_, "batch_", all, train_batch_);
  }

  void on_train_end(const Logs&) override { profiler_.end(train_.folder()); }

  void on_epoch_begin(int64_t, const Logs&) override {
    if (options_.write_steps_per_second) start_epoch_time();
  }

  void on_epoch_end(int64_t epoch, const Logs& logs) override {
    if (!writes_) return;
    write_model();
    Logs train;
    Logs validation;
    for (const auto& [name, value] : logs) {
      if (name.starts_with(kValidated)) {
        validation[name.substr(kValidated.size())] = value;
      } else {
        train[name] = value;
      }
    }
    train["learning_rate"] = trained().learning_rate();
    if (options_.write_steps_per_second) {
      const auto steps = static_cast<double>(trained().iterations() - epoch_iterations_);
      train["steps_per_second"] = steps / epoch_time_.seconds();
    }
    write_scalars(train_, "epoch_", train, epoch);
    if (!validation.empty()) write_scalars(validation_, "epoch_", validation, epoch);
    if (options_.histogram_freq > 0 && epoch % options_.histogram_freq == 0) write_weights(epoch);
    if (options_.embeddings_freq > 0 && epoch % options_.embeddings_freq == 0) write_embeddings();
  }

  void on_test_begin(const Logs&) override {
    if (trains_) return;
    writes_ = get_strategy().is_chief();
    if (writes_) validation_.open();
  }

  void on_test_end(const Logs& logs) override {
    if (!writes_) return;
    std::vector<std::string> values;
    for (const auto& [name, value] : logs) {
      values.push_back(scalar_summary("evaluation_" + name + "_vs_iterations", value));
    }
    validation_.write(trained().iterations(), values);
  }

  void leave_run() override {
    profiler_.give_up();
    train_.close();
    validation_.close();
    trains_ = false;
  }

  RunState save_state() const override {
    return {.info = Json::object({{"train_batch", train_batch_}})};
  }
  void restore_state(const RunState& saved) override {
    train_batch_ = saved.info.at("train_batch").as_int();
    if (options_.write_steps_per_second) start_epoch_time();
  }

 private:
  void start_epoch_time() {
    epoch_iterations_ = trained().iterations();
    epoch_time_.start();
  }

  static void write_scalars(EventFolder& folder, const std::string& prefix, const Logs& logs,
                            int64_t step) {
    std::vector<std::string> values;
    for (const auto& [name, value] : logs) values.push_back(scalar_summary(prefix + name, value));
    folder.write(step, values);
  }

  // A Sequential model without an input shape has a graph only after the first step.
  void write_model() {
    if (!graph_due_) return;
    const FunctionalGraph* graph = trained().graph();
    if (!graph) return;
    graph_due_ = false;
    try {
      const std::string config = trained().architecture().value_or("");
      train_.write(0, {keras_model_summary("keras", config)}, model_graph(*graph));
    } catch (const Error& error) {
      logging::warn(fmt::format("TensorBoard: the model's graph isn't written. {}", error.what()));
    }
  }

  void write_weights(int64_t epoch) {
    std::vector<std::string> values;
    for (const LayerHandle& layer : trained().layers()) {
      for (const Variable& weight : layer.weights()) {
        std::string path = weight.path();
        std::replace(path.begin(), path.end(), ':', '_');
        const Tensor value = weight.stored().host();
        values.push_back(histogram_summary(path + "/histogram", value));
        if (!options_.write_images) continue;
        if (auto image = image_summary(path + "/image", value)) values.push_back(*image);
      }
    }
    train_.write(epoch, values);
  }

  void write_embeddings() {
    std::vector<Embeddings> found;
    for (const LayerHandle& layer : trained().layers()) {
      if (layer.get().class_name() != "Embedding") continue;
      found.push_back({.layer = layer.name(), .weight = layer.weights().at(0)});
    }
    try {
      write_projector(train_.folder(), found, options_.embeddings_metadata);
    } catch (const Error& error) {
      logging::warn(fmt::format("TensorBoard: embeddings aren't written. {}", error.what()));
    }
  }

  TensorBoardOptions options_;
  EventFolder train_;
  EventFolder validation_;
  bool writes_ = false;
  bool trains_ = false;  // whether evaluations are part of fit
  bool graph_due_ = false;
  int64_t train_batch_ = 0;       // of this fit, from 1
  int64_t epoch_iterations_ = 0;  // value when the epoch, or the rest of it in a resumed run, began
  Stopwatch epoch_time_;
  Stopwatch batch_time_;
  StepProfiler profiler_;
};

}  // namespace

ProfiledBatches::ProfiledBatches(int64_t first, int64_t last) : first_(first), last_(last) {
  check<InvalidArgument>(first >= 0 && last >= first,
                         "profile_batch: expected 0 (none), a batch counted from 1, or a first and "
                         "a last one, got {} and {}.",
                         first, last);
}

UpdateFrequency::UpdateFrequency(const char* text) {
  const std::string_view name = given_text(text, "update_freq");
  check<InvalidArgument>(name == "epoch" || name == "batch",
                         "update_freq: expected \"epoch\", \"batch\" or a number of batches, got "
                         "\"{}\".",
                         name);
  if (name == "batch") batches_ = 1;
}

UpdateFrequency::UpdateFrequency(int64_t batches) : batches_(batches) {
  check<InvalidArgument>(
      batches >= 1, "update_freq: expected \"epoch\", \"batch\" or a number of batches, got {}.",
      batches);
}

TensorBoard::TensorBoard(const TensorBoardOptions& options)
    : CallbackHandle(std::make_shared<TensorBoardImpl>(options)) {}

}  // namespace cornu::callbacks
