// SPDX-License-Identifier: Apache-2.0
// A training that stops after a number of steps, for elastic_test.py: usage:
// test_distribute_elastic KIND FOLDER STEPS OUTPUT. The state is kept in FOLDER, STEPS are those of
// this process (0: to the end), and worker 0 writes the weights and figures of the whole training
// to OUTPUT. There are as many processes as TF_CONFIG says. KIND:
//   arrays, dataset, off  one call of fit; "off": each worker has a whole dataset
//   twice                 a second model learns what the first one has learned: SIGKILL stops it
//   quits, exits          as arrays, but ends by _Exit(0), or exit(0), instead of being stopped
//   fails                 worker 1's evaluation throws; then it waits to be killed
//   evaluates, skips      a worker is killed in an evaluation, after a call of fit; "skips": the
//                         restarted run omits fit
//   copies, apart         as arrays, and every worker keeps the state; "apart": in FOLDER/0, …, as
//                         on separate machines; the chief writes OUTPUT.csv
//   full, full of 1       worker 0, or 1, can't write to its disk after so many steps; for worker
//                         1, every worker keeps the state
//   again                 two calls of fit in one FOLDER: stopped in the second (below 0: SIGKILL)
//   ends, ends interrupted, ends killed  as arrays, and the last worker gets SIGTERM, SIGINT or
//                         SIGKILL at the end of training: STEPS says in which callback (At)
//   keeps, folds, defers  calls of fit between which the program uses or changes the weights: a
//                         worker is killed in the last one; "folds": each has its own model,
//                         "defers": a model that gets its shapes in its first batch
//   leaks, leaks and forks  a model that holds the strategy is never deleted; "and forks": a
//                         child of worker 1 calls exit(0) before
//   own                   each worker has its own batches, worker 0 fewer than the others
//   parts                 two strategies in turn; SIGKILL between them unless STEPS is 0
//   checkpoints           each worker's ModelCheckpoint keeps the state in FOLDER/0, …; SIGKILL
//   ahead                 no callback looks at batches, so that steps are in flight when SIGKILL
//                         comes, so many milliseconds after the first state
//   early                 a worker is killed before a state is written: STEPS says where (Early)
// Global batches have CORNU_TEST_BATCH examples, 6 by default.
#include <cornu/cornu.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "framework/saving/run_state.h"
#include "tests/support/device/test_device.h"

using namespace cornu;

namespace {

constexpr int64_t kRows = 23;

// The global batch size, uneven for most numbers of workers.
int64_t batch_size() {
  const char* set = std::getenv("CORNU_TEST_BATCH");
  return set ? std::atoll(set) : 6;
}

class StopsAfter : public Callback {
 public:
  // `state`: a file that must have been written before it stops.
  explicit StopsAfter(int64_t steps, int signal = SIGTERM, std::string state = "")
      : steps_(steps), signal_(signal), state_(std::move(state)) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++done_ != steps_) return;
    while (!state_.empty() && !std::filesystem::exists(state_)) std::this_thread::yield();
    if (signal_ == 0) std::_Exit(0);
    if (signal_ < 0) std::exit(0);
    std::raise(signal_);
  }

 private:
  int64_t steps_;
  int signal_;
  std::string state_;
  int64_t done_ = 0;
};

Tensor numbers(const Shape& shape, int64_t seed) {
  return random::normal(shape, {.dtype = DType::Float64, .seed = seed});
}

Model compiled_model() {
  Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                    layers::Dense({.units = 4, .activation = "tanh", .dtype = "float64"}),
                    layers::Dropout({.rate = 0.2, .dtype = "float64"}),
                    layers::Dense({.units = 1, .dtype = "float64"})});
  model.compile(
      {.optimizer = optimizers::Adam({.learning_rate = 0.05}), .loss = "mse", .metrics = {"mae"}});
  return model;
}

// A model whose variables are created in its first step.
Model deferred_model() {
  Sequential model({layers::Dense({.units = 4, .activation = "tanh", .dtype = "float64"}),
                    layers::Dropout({.rate = 0.2, .dtype = "float64"}),
                    layers::Dense({.units = 1, .dtype = "float64"})});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  return model;
}

FitOptions options_with(const std::string& folder, const CallbackHandle& stops,
                        bool on_every_worker = false) {
  return {.epochs = 3,
          .verbose = 0,
          .callbacks = {callbacks::BackupAndRestore({.backup_dir = folder,
                                                     .save_freq = 1,
                                                     .delete_checkpoint = false,
                                                     .on_every_worker = on_every_worker}),
                        stops}};
}

void write_number(std::ofstream& file, double number) { file << number << "\n"; }

void write(std::ofstream& file, const History& history) {
  for (const auto& [name, values] : history) {
    for (const double value : values) write_number(file, value);
  }
}

void write(std::ofstream& file, const Logs& logs) {
  for (const auto& [name, value] : logs) write_number(file, value);
}

void write(std::ofstream& file, const Model& model, const History& history) {
  for (const Tensor& weight : model.get_weights()) {
    for (const double value : weight.to_vector<double>()) write_number(file, value);
  }
  write(file, history);
}

void train_twice(const std::string& folder, int64_t steps, std::ofstream& file) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  Model teacher = compiled_model();
  FitOptions options = options_with(folder + "/1", make_callback<StopsAfter>(0));
  options.batch_size = batch_size();
  // A restarted worker gets the figures of these calls, and the weights.
  write(file, teacher.fit(x, y, options));
  // Its shuffle has no seed: each pass continues where the last one ended.
  const auto shuffled = data::Dataset::from_tensor_slices({x, y}).shuffle(10).batch(batch_size());
  const FitOptions without_state{.epochs = 1, .verbose = 0};
  write(file, teacher.fit(shuffled, without_state));
  write_number(file, teacher.evaluate(shuffled, {.verbose = 0}).at("loss"));
  const Tensor order = random::shuffle(ops::arange(0, kRows, 1, DType::Int64));
  const Tensor rows = ops::take(x, order, 0);
  Model pupil = compiled_model();
  options.callbacks = options_with(folder + "/2", make_callback<StopsAfter>(
                                                      steps, SIGKILL, folder + "/2/run_state"))
                          .callbacks;
  write(file, pupil, pupil.fit(rows, teacher.predict(rows, {.verbose = 0}).single(), options));
  write(file, teacher, teacher.fit(shuffled, without_state));
  write_number(file, teacher.evaluate(shuffled, {.verbose = 0}).at("loss"));
}

void fail(const Strategy& strategy) {
  callbacks::LambdaCallbackOptions options;
  options.on_test_batch_begin = [&](int64_t, const Logs&) {
    if (strategy.impl().worker() == 1) throw std::runtime_error("no more");
  };
  try {
    compiled_model().evaluate(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2),
                              {.verbose = 0, .callbacks = {callbacks::LambdaCallback(options)}});
  } catch (const std::runtime_error&) {
    std::cout << "caught" << std::endl;
    ::pause();
  }
}

void evaluate(const std::string& folder, bool trains, int64_t steps, std::ofstream& file) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  Model model = compiled_model();
  FitOptions options = options_with(folder, make_callback<StopsAfter>(0));
  options.batch_size = batch_size();
  if (trains) write(file, model, model.fit(x, y, options));
  callbacks::LambdaCallbackOptions kills;
  kills.on_test_batch_begin = [&](int64_t batch, const Logs&) {
    if (steps > 0 && batch == steps) std::raise(SIGKILL);
  };
  const auto noisy =
      data::Dataset::from_tensor_slices({x, y})
          .shuffle(kRows)
          .take(17)
          .map([](const Tensor& a, const Tensor& b) {
            return std::pair{a + random::normal(a.shape(), {.dtype = DType::Float64}), b};
          })
          .batch(batch_size());
  const EvaluateOptions dies{.verbose = 0, .callbacks = {callbacks::LambdaCallback(kills)}};
  write(file, model.evaluate(noisy, dies));
  write(file, model.evaluate(noisy, {.verbose = 0}));
  write_number(file, model.evaluate(x, y * 2.0, {.verbose = 0}).at("loss"));
}

// Keeps files from growing after so many steps.
class FillsDisk : public Callback {
 public:
  explicit FillsDisk(int64_t steps) : steps_(steps) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    ++done_;
    if (done_ == steps_ + 1) said_.wait(false);  // the state of the batch before is being written
    if (done_ != steps_) return;
    logging::set_line_end([] {
      said_ = true;
      said_.notify_all();
    });
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit none{.rlim_cur = 64, .rlim_max = RLIM_INFINITY};
    if (::setrlimit(RLIMIT_FSIZE, &none) != 0) std::_Exit(3);
  }

 private:
  static inline std::atomic<bool> said_ = false;  // that the state can't be written
  int64_t steps_;
  int64_t done_ = 0;
};

void train_on_full_disk(const Strategy& strategy, const std::string& folder, int64_t steps,
                        int64_t whose) {
  FitOptions options = options_with(folder, make_callback<StopsAfter>(0), whose != 0);
  if (strategy.impl().worker() == whose) {
    options.callbacks.push_back(make_callback<FillsDisk>(steps));
  }
  options.batch_size = batch_size();
  const History history =
      compiled_model().fit(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2), options);
  std::cout << "epochs: " << history.epoch.size() << "\n";
}

// The first call's state is gone by the end of the second, which keeps its own.
void train_again(const std::string& folder, int64_t steps, std::ofstream& file) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  Model model = compiled_model();
  const auto fit = [&](const CallbackHandle& stops) {
    const callbacks::BackupAndRestore keeps({.backup_dir = folder, .save_freq = 1});
    return model.fit(
        x, y, {.batch_size = batch_size(), .epochs = 2, .verbose = 0, .callbacks = {keeps, stops}});
  };
  write(file, fit(make_callback<StopsAfter>(0)));
  write(file, model,
        fit(make_callback<StopsAfter>(std::abs(steps), steps < 0 ? SIGKILL : SIGTERM,
                                      folder + "/fit 2/run_state")));
}

// Kills the process after so many steps, in the second epoch or later, once the state that is kept
// in a folder is that of the end of the previous epoch.
class DiesAfterEpoch : public Callback {
 public:
  DiesAfterEpoch(int64_t steps, std::string folder) : steps_(steps), folder_(std::move(folder)) {}
  void on_epoch_begin(int64_t epoch, const Logs&) override { epoch_ = epoch; }
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++done_ != steps_) return;
    while (!is_kept()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::raise(SIGKILL);
  }

 private:
  bool is_kept() const {
    const auto state = RunStateFolder::peek(folder_);
    return state && state->info.at("epoch") == Json(epoch_ - 1) &&
           state->info.at("batch").is_null();
  }

  int64_t steps_;
  std::string folder_;
  int64_t epoch_ = 0;
  int64_t done_ = 0;
};

// A restarted run has nothing but the files of its ModelCheckpoint.
void train_with_checkpoints(const Strategy& strategy, const std::string& folder, int64_t steps,
                            std::ofstream& file) {
  const std::string own = folder + "/" + std::to_string(strategy.impl().worker());
  const std::string state = folder + "/0/.{epoch}.weights.h5.run";
  const callbacks::ModelCheckpoint keeps(
      {.filepath = own + "/{epoch}.weights.h5", .save_weights_only = true});
  Model model = compiled_model();
  write(file, model,
        model.fit(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2),
                  {.batch_size = batch_size(),
                   .epochs = 3,
                   .verbose = 0,
                   .callbacks = {keeps, make_callback<DiesAfterEpoch>(steps, state)}}));
}

// Callbacks at the end of training, where the worker is stopped.
enum At : int64_t { LastEpochEnd = 1, TrainEnd };

class EndsAt : public Callback {
 public:
  EndsAt(int64_t where, int signal) : where_(where), signal_(signal) {}
  void on_epoch_end(int64_t epoch, const Logs&) override {
    if (epoch == 2) end_at(LastEpochEnd);
  }
  void on_train_end(const Logs&) override { end_at(TrainEnd); }

 private:
  void end_at(int64_t here) const {
    if (here == where_) std::raise(signal_);
  }

  int64_t where_;
  int signal_;
};

void train_to_end(const Strategy& strategy, const std::string& folder, int64_t where, int signal,
                  std::ofstream& file) {
  const bool is_last = strategy.impl().worker() == strategy.impl().num_workers() - 1;
  Model model = compiled_model();
  FitOptions options = options_with(folder, make_callback<EndsAt>(is_last ? where : 0, signal));
  options.batch_size = batch_size();
  write(file, model, model.fit(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2), options));
}

// Where a worker is killed; ten times the number of the call is added.
enum Early : int64_t {
  Nowhere,
  BeforeFits,
  BeforeSteps,
  InFirstStep,
  AfterFirstStep,
  OnFullDisk,
  AtEpochBegin,
  InValidation,
  InBeginning
};

// At each epoch's beginning, changes what a run that begins anew must find as it was: its own
// state, the learning rate and the weights.
class ChangesEpochs : public Callback {
 public:
  void on_epoch_begin(int64_t, const Logs&) override {
    ++epochs_;
    trained().set_learning_rate(trained().learning_rate() * 0.7);
    if (!model().built()) return;
    for (const Variable& weight : model().weights()) weight.assign(weight.value() * 1.1);
  }
  Logs epoch_logs() const override { return {{"epochs", static_cast<double>(epochs_)}}; }
  RunState save_state() const override { return {.info = Json::object({{"epochs", epochs_}})}; }
  void restore_state(const RunState& state) override { epochs_ = state.info.at("epochs").as_int(); }

 private:
  int64_t epochs_ = 0;
};

class DiesEarly : public Callback {
 public:
  // `begun`: the beginning of names of files that tell that workers have begun an epoch.
  DiesEarly(int64_t where, std::string begun) : where_(where), begun_(std::move(begun)) {}
  void on_train_begin(const Logs&) override { die_at(BeforeSteps); }
  void on_epoch_begin(int64_t, const Logs&) override {
    const StrategyImpl& strategy = get_strategy().impl();
    std::ofstream(fmt::format("{}{}", begun_, strategy.worker())) << "\n";
    const std::string other = fmt::format("{}{}", begun_, 1 - strategy.worker());
    while (where_ == AtEpochBegin && !std::filesystem::exists(other)) std::this_thread::yield();
    die_at(AtEpochBegin);
  }
  void on_test_batch_begin(int64_t batch, const Logs&) override {
    if (batch == 1) die_at(InValidation);
  }
  void on_train_batch_begin(int64_t, const Logs&) override { die_at(InFirstStep); }
  void on_train_batch_end(int64_t batch, const Logs&) override {
    die_at(AfterFirstStep);
    if (batch == 2) die_at(OnFullDisk);
  }
  // First called before the first epoch, then when its first step has been prepared.
  RunState save_state() const override {
    if (++saved_ == 2) die_at(InBeginning);
    return {};
  }

 private:
  void die_at(int64_t here) const {
    if (here == where_) std::raise(SIGKILL);
  }

  int64_t where_;
  std::string begun_;
  mutable int64_t saved_ = 0;
};

// A model whose initial weights differ between workers, where the chief's count; then a deferred
// model, with dropout and unseeded shuffles; then each worker has a whole dataset.
void train_early(const Strategy& strategy, const std::string& folder, int64_t where,
                 std::ofstream& file) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  Model unbuilt = deferred_model();
  Model built = compiled_model();
  for (const Variable& weight : built.weights()) {
    weight.assign(weight.value() + static_cast<double>(strategy.impl().worker()));
  }
  if (where == BeforeFits) std::raise(SIGKILL);
  std::filesystem::create_directories(folder);
  const auto all = data::Dataset::from_tensor_slices({x, y});
  const auto noisy = all.shuffle(kRows).take(9).map([](const Tensor& a, const Tensor& b) {
    return std::pair{a + random::normal(a.shape(), {.dtype = DType::Float64}), b};
  });
  const auto options_of = [&](int64_t call) {
    const int64_t here = where / 10 == call ? where % 10 : int64_t{Nowhere};
    const std::string own = folder + "/" + std::to_string(call);
    FitOptions options = options_with(own, make_callback<ChangesEpochs>());
    options.callbacks.push_back(make_callback<DiesEarly>(here, own + ".begun."));
    if (here == OnFullDisk) options.callbacks.push_back(make_callback<FillsDisk>(1));
    options.validation_data = noisy.batch(2);
    return options;
  };
  FitOptions of_arrays = options_of(1);
  of_arrays.batch_size = batch_size();
  write(file, built, built.fit(x, y, of_arrays));
  const auto shuffled = all.shuffle(10).batch(batch_size());
  write(file, unbuilt, unbuilt.fit(shuffled, options_of(2)));
  data::Options off;
  off.distribute.auto_shard_policy = data::AutoShardPolicy::Off;
  FitOptions whole = options_of(3);
  whole.validation_data = all.shuffle(10, {.seed = 3}).take(9).batch(2).with_options(off);
  write(file, built,
        built.fit(all.shuffle(10, {.seed = 4}).batch(batch_size()).with_options(off), whole));
}

void write_weights(std::ofstream& file, const Model& model) { write(file, model, History()); }

void train_and_keep(const std::string& folder, const std::string& kind, int64_t steps,
                    std::ofstream& file) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  const auto options = [&](const std::string& name, int64_t stop) {
    FitOptions all = options_with(
        folder + "/" + name, make_callback<StopsAfter>(stop, SIGKILL, folder + "/2/run_state"));
    all.batch_size = batch_size();
    return all;
  };
  const auto made = [&] { return kind == "defers" ? deferred_model() : compiled_model(); };
  Model model = made();
  for (int64_t call = 0; call < 2; ++call) {
    if (kind != "keeps") model = made();
    model.fit(x, y * static_cast<double>(call + 1), options(std::to_string(call), 0));
    write_weights(file, model);
    std::vector<Tensor> weights = model.get_weights();
    for (Tensor& weight : weights) weight = weight * 2.0;
    if (kind == "keeps") model.set_weights(weights);
  }
  Model last = kind == "keeps" ? model : made();
  last.fit(x, y, options("2", steps));
  write_weights(file, last);
}

void leak(const Strategy& strategy, const std::string& kind, std::ofstream& file) {
  static auto* const model = new Model(compiled_model());
  model->fit(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2), {.epochs = 1, .verbose = 0});
  if (kind == "leaks and forks" && strategy.impl().worker() == 1) {
    const pid_t child = ::fork();
    if (child == 0) std::exit(0);
    int status = 0;
    if (::waitpid(child, &status, 0) != child) status = -1;
    std::cout << "the child's status: " << status << std::endl;
  }
  write(file, model->evaluate(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2), {.verbose = 0}));
}

// No worker begins the second part before the chief has left the first.
void train_in_parts(const std::string& chief_left, int64_t steps) {
  for (int part = 0; part < 2; ++part) {
    bool is_chief = false;
    {
      const distribute::MultiWorkerMirroredStrategy strategy;
      const auto scope = strategy.scope();
      compiled_model().fit(numbers({kRows, 3}, 1), numbers({kRows, 1}, 2), {.verbose = 0});
      is_chief = strategy.is_chief();
    }
    if (is_chief) std::ofstream(chief_left) << "\n";
    while (!std::filesystem::exists(chief_left)) std::this_thread::yield();
    if (steps != 0) std::raise(SIGKILL);
  }
}

History trained(Model model, const std::string& kind, const FitOptions& given) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  FitOptions options = given;
  if (kind == "arrays" || kind == "quits" || kind == "exits" || kind == "copies" ||
      kind == "apart") {
    options.batch_size = batch_size();
    options.validation_data = {x(Slice(0, 9)), y(Slice(0, 9))};
    return model.fit(x, y, options);
  }
  if (kind == "own") {
    const auto batches = get_strategy().distribute_datasets_from_function(
        [&](const distribute::InputContext& context) {
          return data::Dataset::from_tensor_slices({x, y})
              .shuffle(10)
              .take(context.input_pipeline_id == 0 ? 5 : 17)
              .batch(context.get_per_replica_batch_size(batch_size()));
        });
    options.validation_data = batches;
    return model.fit(batches, options);
  }
  data::Options policy;
  policy.distribute.auto_shard_policy =
      kind == "off" ? data::AutoShardPolicy::Off : data::AutoShardPolicy::Auto;
  const auto dataset = data::Dataset::from_tensor_slices({x, y})
                           .shuffle(10)
                           .map([](const Tensor& a, const Tensor& b) {
                             return std::pair{a * 2.0, b + 1.0};
                           })
                           .batch(batch_size())
                           .prefetch(2)
                           .with_options(policy);
  options.validation_data = dataset.take(2);
  return model.fit(dataset, options);
}

void train_ahead(const std::string& folder, int64_t milliseconds, std::ofstream& file) {
  if (milliseconds > 0) {
    std::thread([=] {
      while (!std::filesystem::exists(folder + "/run_state")) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::raise(SIGKILL);
    }).detach();
  }
  const Tensor x = numbers({10 * kRows, 3}, 1);
  const Tensor y = numbers({10 * kRows, 1}, 2);
  Model model = compiled_model();
  const callbacks::BackupAndRestore keeps(
      {.backup_dir = folder, .save_freq = 3, .delete_checkpoint = false});
  write(file, model,
        model.fit(x, y,
                  {.batch_size = batch_size(), .epochs = 20, .verbose = 0, .callbacks = {keeps}}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string kind = argv[1];
  const std::string folder = argv[2];
  const int64_t steps = std::atoll(argv[3]);
  test::use_device_of_environment();
  try {
    set_random_seed(5);
    if (kind == "parts") return train_in_parts(folder, steps), 0;
    const distribute::MultiWorkerMirroredStrategy strategy;
    const auto scope = strategy.scope();
    std::ofstream file;
    if (strategy.is_chief()) file.open(argv[4]);
    file.precision(17);
    if (kind == "twice") {
      train_twice(folder, steps, file);
    } else if (kind == "ahead") {
      train_ahead(folder, steps, file);
    } else if (kind == "fails") {
      fail(strategy);
    } else if (kind == "evaluates" || kind == "skips") {
      const std::string begun = fmt::format("{}.{}", argv[4], strategy.impl().worker());
      const bool trains = kind == "evaluates" || !std::filesystem::exists(begun);
      std::ofstream(begun) << "\n";
      evaluate(folder, trains, steps, file);
    } else if (kind == "full" || kind == "full of 1") {
      train_on_full_disk(strategy, folder, steps, kind == "full" ? 0 : 1);
    } else if (kind == "again") {
      train_again(folder, steps, file);
    } else if (kind == "keeps" || kind == "folds" || kind == "defers") {
      train_and_keep(folder, kind, steps, file);
    } else if (kind.starts_with("leaks")) {
      leak(strategy, kind, file);
    } else if (kind.starts_with("ends")) {
      const int signal = kind == "ends" ? SIGTERM : kind == "ends killed" ? SIGKILL : SIGINT;
      train_to_end(strategy, folder, steps, signal, file);
    } else if (kind == "checkpoints") {
      train_with_checkpoints(strategy, folder, steps, file);
    } else if (kind == "early") {
      train_early(strategy, folder, steps, file);
    } else {
      const int signal = kind == "quits" ? 0 : kind == "exits" ? -1 : SIGTERM;
      const bool is_apart = kind == "apart";
      const std::string own =
          is_apart ? folder + "/" + std::to_string(strategy.impl().worker()) : folder;
      const std::string state = (is_apart ? folder + "/0" : folder) + "/run_state";
      const bool on_every_worker = is_apart || kind == "copies";
      FitOptions options =
          options_with(own, make_callback<StopsAfter>(steps, signal, state), on_every_worker);
      if (on_every_worker) {
        options.callbacks.push_back(
            callbacks::CSVLogger({.filename = fmt::format("{}.csv", argv[4])}));
      }
      Model model = compiled_model();
      write(file, model, trained(model, kind, options));
    }
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
