// SPDX-License-Identifier: Apache-2.0
// A training that stops after a number of steps, for elastic_test.py: usage:
// test_distribute_elastic KIND FOLDER STEPS OUTPUT. KIND: arrays, dataset, off (each worker has a
// whole dataset), twice (two calls of fit, where worker 1 is killed in the second); the state is
// kept in FOLDER, STEPS are those of this process (0: to the end), and worker 0 writes weights and
// figures of the whole training to OUTPUT. As many processes as TF_CONFIG says.
#include <cornu/cornu.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>

using namespace cornu;

namespace {

constexpr int64_t kRows = 23;
constexpr int64_t kBatch = 6;  // global, and uneven for most numbers of workers

class StopsAfter : public Callback {
 public:
  explicit StopsAfter(int64_t steps, int signal = SIGTERM) : steps_(steps), signal_(signal) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++done_ == steps_) std::raise(signal_);
  }

 private:
  int64_t steps_;
  int signal_;
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

FitOptions options_with(const std::string& folder, const CallbackHandle& stops) {
  return {.epochs = 3,
          .verbose = 0,
          .callbacks = {callbacks::BackupAndRestore(
                            {.backup_dir = folder, .save_freq = 1, .delete_checkpoint = false}),
                        stops}};
}

History trained_twice(Model model, const std::string& folder, int64_t steps) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  FitOptions options = options_with(folder + "/1", make_callback<StopsAfter>(0));
  options.batch_size = kBatch;
  model.fit(x, y, options);
  model.evaluate(x, y, {.batch_size = kBatch, .verbose = 0});
  options.callbacks =
      options_with(folder + "/2", make_callback<StopsAfter>(steps, SIGKILL)).callbacks;
  return model.fit(x, y, options);
}

History trained(Model model, const std::string& kind, const FitOptions& given) {
  const Tensor x = numbers({kRows, 3}, 1);
  const Tensor y = numbers({kRows, 1}, 2);
  FitOptions options = given;
  if (kind == "arrays") {
    options.batch_size = kBatch;
    options.validation_data = {x(Slice(0, 9)), y(Slice(0, 9))};
    return model.fit(x, y, options);
  }
  data::Options policy;
  policy.distribute.auto_shard_policy =
      kind == "off" ? data::AutoShardPolicy::Off : data::AutoShardPolicy::Auto;
  const auto dataset = data::Dataset::from_tensor_slices({x, y})
                           .shuffle(10)
                           .map([](const Tensor& a, const Tensor& b) {
                             return std::pair{a * 2.0, b + 1.0};
                           })
                           .batch(kBatch)
                           .prefetch(2)
                           .with_options(policy);
  options.validation_data = dataset.take(2);
  return model.fit(dataset, options);
}

void write(const std::string& path, const Model& model, const History& history) {
  std::ofstream file(path);
  file.precision(17);
  for (const Tensor& weight : model.get_weights()) {
    for (const double value : weight.to_vector<double>()) file << value << "\n";
  }
  for (const auto& [name, values] : history) {
    for (const double value : values) file << value << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string kind = argv[1];
  const std::string folder = argv[2];
  const int64_t steps = std::atoll(argv[3]);
  try {
    set_random_seed(5);
    const distribute::MultiWorkerMirroredStrategy strategy;
    const auto scope = strategy.scope();
    Model model = compiled_model();
    const History history =
        kind == "twice"
            ? trained_twice(model, folder, steps)
            : trained(model, kind, options_with(folder, make_callback<StopsAfter>(steps)));
    if (strategy.is_chief()) write(argv[4], model, history);
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
