// SPDX-License-Identifier: Apache-2.0
// A training that stops after a number of steps, for elastic_test.py: usage:
// test_distribute_elastic KIND FOLDER STEPS OUTPUT. KIND: arrays, dataset, off (each worker has a
// whole dataset); the state is kept in FOLDER, STEPS are those of this process (0: to the end), and
// worker 0 writes weights and figures of the whole training to OUTPUT. As many processes as
// TF_CONFIG says.
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
  explicit StopsAfter(int64_t steps) : steps_(steps) {}
  void on_train_batch_end(int64_t, const Logs&) override {
    if (++done_ == steps_) std::raise(SIGTERM);
  }

 private:
  int64_t steps_;
  int64_t done_ = 0;
};

Tensor numbers(const Shape& shape, int64_t seed) {
  return random::normal(shape, {.dtype = DType::Float64, .seed = seed});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::string kind = argv[1];
  const std::string output = argv[4];
  try {
    set_random_seed(5);
    const distribute::MultiWorkerMirroredStrategy strategy;
    const auto scope = strategy.scope();
    Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                      layers::Dense({.units = 4, .activation = "tanh", .dtype = "float64"}),
                      layers::Dropout({.rate = 0.2, .dtype = "float64"}),
                      layers::Dense({.units = 1, .dtype = "float64"})});
    model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.05}),
                   .loss = "mse",
                   .metrics = {"mae"}});
    const Tensor x = numbers({kRows, 3}, 1);
    const Tensor y = numbers({kRows, 1}, 2);
    FitOptions options{
        .epochs = 3,
        .verbose = 0,
        .callbacks = {callbacks::BackupAndRestore(
                          {.backup_dir = argv[2], .save_freq = 1, .delete_checkpoint = false}),
                      make_callback<StopsAfter>(std::atoll(argv[3]))}};
    History history;
    if (kind == "arrays") {
      options.batch_size = kBatch;
      options.validation_data = {x(Slice(0, 9)), y(Slice(0, 9))};
      history = model.fit(x, y, options);
    } else {
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
      history = model.fit(dataset, options);
    }
    if (!strategy.is_chief()) return 0;
    std::ofstream file(output);
    file.precision(17);
    for (const Tensor& weight : model.get_weights()) {
      for (const double value : weight.to_vector<double>()) file << value << "\n";
    }
    for (const auto& [name, values] : history) {
      for (const double value : values) file << value << "\n";
    }
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
