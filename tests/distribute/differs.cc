// SPDX-License-Identifier: Apache-2.0
// Two workers whose programs differ in one thing, for differs_test.py: usage:
// test_distribute_differs WHAT FOLDER. Prints the resulting error, or "alike".
#include <cornu/cornu.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <optional>
#include <string>
#include <thread>

using namespace cornu;

namespace {

class Differs {
 public:
  Differs(std::string what, std::string folder, const Strategy& strategy)
      : what_(std::move(what)), folder_(std::move(folder)), strategy_(strategy) {}

  void run() {
    // A worker that has made other models before has other names.
    if (is("names")) Sequential({Input({.shape = {3}}), layers::Dense({.units = 2})});
    Sequential model = compiled();
    if (what_ == "evaluate") {
      model.evaluate(x(), y(), {.batch_size = 4, .verbose = 0});
    } else if (what_ == "trace" || what_ == "trace alike") {
      fail_to_trace();
    } else if (what_ == "read") {
      fail_to_read();
    } else if (what_ == "trace of fit") {
      fail_to_trace_fit(model);
    } else if (what_.starts_with("weights of ")) {
      change_weights(model);
    } else if (what_ == "overwrite") {
      save_twice(model);
    } else if (what_ == "predict") {
      predict_alone(model);
    } else if (what_.starts_with("gather") || what_.starts_with("reduce")) {
      communicate();
    } else if (what_ == "step") {
      run_named_steps();
    } else if (what_ == "step order") {
      run_in_order();
    } else if (what_ == "operation" || what_ == "axis" || what_ == "one gathers") {
      bring_together();
    } else if (what_ == "values" || what_ == "values, then others") {
      fail_to_reduce();
    } else if (what_ == "steps of threads") {
      run_from_two_threads();
    } else if (what_ == "callback") {
      fail_in_callback(model);
    } else if (what_ == "threads") {
      from_two_threads(model);
    } else if (is("argument")) {
      model.fit(x(), y(), {.epochs = -1, .verbose = 0});
    } else if (what_ == "map" || what_ == "contents" || what_ == "policy" ||
               what_ == "batch of a dataset" || what_ == "folder") {
      model.fit(dataset(), {.epochs = 1, .verbose = 0});
    } else {
      fit(model);
    }
  }

 private:
  static void say(const Error& error) {
    std::cout << to_string(error.code()) << ": " << error.what() << std::endl;
  }

  // Runs a step of a custom loop that can't be traced on worker 1, or on both workers for "trace
  // alike". In the latter case they continue together; otherwise worker 1, which has caught its
  // error, waits until worker 0 has one.
  void fail_to_trace() const {
    const bool is_second = strategy_.impl().worker() == 1;
    const auto step_with = [](int64_t rows) {
      return function(
          [rows](const Tensor& x) {
            const Tensor y = ops::matmul(x, ops::ones({rows, 1}));
            return distribute::get_replica_context().all_reduce(ReduceOp::Sum, y);
          },
          {.name = "loop"});
    };
    const Tensors x = ops::ones({2, 3});
    for (int i = 0; i < 2; ++i) {
      try {
        strategy_.run(step_with(is_second || what_ == "trace alike" ? 4 : 3), x);
      } catch (const Error& error) {
        say(error);
      }
      if (what_ == "trace alike") continue;
      wait_for_first();
      return;
    }
    const auto sums = strategy_.run(step_with(3), x);
    std::cout << sums[0].single().to_vector<float>()[0] << "\n";
  }

  // Waits until worker 0 has arrived here.
  void wait_for_first() const {
    const std::string told = folder_ + "/told in " + what_;
    if (strategy_.impl().worker() == 0) std::ofstream(told) << "\n";
    while (!std::filesystem::exists(told)) std::this_thread::yield();
  }

  // Reading worker 1's batches, made by a function, fails.
  void fail_to_read() const {
    const bool fails = strategy_.impl().worker() == 1;
    const auto batches =
        strategy_.distribute_datasets_from_function([=](const distribute::InputContext&) {
          return make_generator_source([=]() -> NextBatch {
            return [=]() -> std::optional<Batch> {
              if (fails) throw OutOfRange("there is no such row");
              return Batch{.x = ops::ones({2, 3}), .y = {}, .sample_weight = {}};
            };
          });
        });
    try {
      batches.begin();
    } catch (const Error& error) {
      say(error);
    }
    wait_for_first();
  }

  void fail_to_trace_fit(Sequential& model) const {
    const bool fails = strategy_.impl().worker() == 1;
    model.compile({.optimizer = "sgd",
                   .loss = "mse",
                   .metrics = {Metric("odd", [fails](const Tensor& truth, const Tensor&) {
                     return ops::reshape(truth, {fails ? 3 : 2});
                   })}});
    try {
      fit(model);
    } catch (const Error& error) {
      say(error);
    }
  }

  static Function summing(const char* name, double factor) {
    return function(
        [factor](const Tensor& x) {
          return distribute::get_replica_context().all_reduce(ReduceOp::Sum, x * factor);
        },
        {.name = name});
  }

  void run_named_steps() const {
    const bool is_second = strategy_.impl().worker() == 1;
    strategy_.run(summing(is_second ? "discriminator" : "generator", is_second ? 1000 : 2),
                  Tensors(Tensor::scalar(1.0)));
  }

  // Runs steps of the same name with the same collectives.
  void run_in_order() const {
    const Function first = summing("loop", 2);
    const Function second = summing("loop", 1000);
    const Tensors one(Tensor::scalar(1.0));
    for (const Function& step : {first, second, first, second}) strategy_.run(step, one);
    strategy_.run(is("step order") ? second : first, one);
  }

  // Calls whose data has the same size on both workers.
  void bring_together() const {
    const bool is_second = strategy_.impl().worker() == 1;
    const distribute::PerReplica square({Tensors(ops::ones({2, 2}))});
    if (what_ == "operation") {
      strategy_.reduce(is_second ? ReduceOp::Max : ReduceOp::Sum, square);
    } else if (what_ == "axis") {
      strategy_.reduce(ReduceOp::Sum, square, is_second ? 1 : -2);
    } else if (is_second) {
      strategy_.gather(square);
    } else {
      strategy_.reduce(ReduceOp::Sum, square);
    }
  }

  // Fails because of worker 1's values alone. Worker 1 waits until worker 0 has been notified, or
  // continues.
  void fail_to_reduce() const {
    const distribute::PerReplica scalar({Tensors(Tensor::scalar(1.0))});
    const distribute::PerReplica row({Tensors(ops::ones({2}, DType::Float64))});
    const bool is_second = strategy_.impl().worker() == 1;
    try {
      strategy_.reduce(ReduceOp::Sum, is_second ? scalar : row, 0);
      std::cout << "reduced\n";
    } catch (const Error& error) {
      say(error);
    }
    if (what_ == "values") return wait_for_first();
    strategy_.reduce(ReduceOp::Sum, scalar, {});
    std::cout << "reduced\n";
  }

  // Another thread runs a step while this one waits for it; then this thread runs one.
  void run_from_two_threads() const {
    const Function step = summing("loop", 2);
    const Tensors one(Tensor::scalar(1.0));
    strategy_.run(step, one);
    std::promise<void> has_run;
    std::promise<void> may_end;
    std::thread other([&] {
      const auto scope = strategy_.scope();
      try {
        strategy_.run(step, one);
      } catch (const Error& error) {  // the other worker may have reached the rejected step
        say(error);
      }
      has_run.set_value();
      may_end.get_future().wait();
    });
    has_run.get_future().wait();
    try {
      strategy_.run(step, one);
    } catch (const Error& error) {
      say(error);
    }
    may_end.set_value();
    other.join();
  }

  // Fails with an Unavailable that isn't the loss of a worker.
  void fail_in_callback(Sequential& model) const {
    callbacks::LambdaCallbackOptions options;
    options.on_epoch_begin = [&](int64_t, const Logs&) {
      if (is("callback")) throw Unavailable("http: no answer");
    };
    model.fit(x(), y(),
              {.epochs = 1, .verbose = 0, .callbacks = {callbacks::LambdaCallback(options)}});
  }

  // Changes the weights of one worker alone, between two calls.
  void change_weights(Sequential& model) const {
    fit(model);
    if (what_.ends_with(std::to_string(strategy_.impl().worker()))) {
      std::vector<Tensor> weights = model.get_weights();
      for (Tensor& weight : weights) weight = ops::ones(weight.shape());
      model.set_weights(weights);
    }
    std::cout << model.evaluate(x(), y(), {.verbose = 0}).at("loss") << "\n";
    fit(model);
    for (const Tensor& weight : model.get_weights()) std::cout << weight.to_string() << "\n";
  }

  // Worker 1 saves after worker 0 has written.
  void save_twice(Sequential& model) const {
    fit(model);
    const bool is_second = strategy_.impl().worker() == 1;
    if (is_second) wait_for_first();
    model.save(folder_ + "/once.keras", {.overwrite = false});
    model.save_weights(folder_ + "/once.weights.h5", {.overwrite = false});
    if (!is_second) wait_for_first();
  }

  // A worker predicts by itself, which the other worker isn't told about.
  void predict_alone(Sequential& model) const {
    if (strategy_.impl().worker() == 1) {
      try {
        model.predict(ops::ones({2, 4}), {.verbose = 0});
      } catch (const Error&) {
      }
    }
    fit(model);
  }

  // Collectives that move the same number of bytes on both workers.
  void communicate() const {
    const bool is_second = strategy_.impl().worker() == 1;
    const Function step = function(
        [&](const Tensor& x) {
          const auto context = distribute::get_replica_context();
          const Tensor turned = ops::transpose(x);
          if (what_ == "reduce shape") {
            return context.all_reduce(ReduceOp::Sum, is_second ? turned : x);
          }
          if (what_ == "gather order") {
            const Tensor first = context.all_gather(is_second ? turned : x);
            return ops::sum(first) + ops::sum(context.all_gather(is_second ? x : turned));
          }
          const int64_t axis = what_ == "gather axis" && is_second ? 1 : 0;
          return context.all_gather(what_ == "gather shape" && is_second ? turned : x, axis);
        },
        {.name = "loop"});
    const int64_t rows = what_ == "gather size" && is_second ? 4 : 2;
    const DType dtype = what_ == "gather dtype" && is_second ? DType::Int32 : DType::Float32;
    strategy_.run(step, Tensors(ops::ones({rows, 3}, dtype)));
  }

  // Returns whether this is worker 1 and `what` differs.
  bool is(const char* what) const { return what_ == what && strategy_.impl().worker() == 1; }

  Tensor x() const {
    Tensor rows = random::normal({8, 3}, {.seed = 1});
    if (is("rows")) rows = rows + ops::cast(ops::equal(rows, rows(3, 1)), DType::Float32);
    if (is("evaluate")) rows = rows * 2.0F;
    return rows;
  }
  Tensor y() const { return random::normal({8, 1}, {.seed = 2}); }

  Sequential compiled() const {
    Sequential model({Input({.shape = {3}}),
                      layers::Dense({.units = 4, .activation = is("activation") ? "tanh" : "relu"}),
                      layers::Dropout({.rate = is("rate") ? 0.25 : 0.5})});
    if (is("layers")) model.add(layers::Dense({.units = 1}));
    model.add(layers::Dense({.units = 1}));
    if (is("optimizer name")) optimizers::SGD();  // the next one is sgd_1
    const Optimizer optimizer = optimizers::SGD({.learning_rate = is("optimizer") ? 0.2 : 0.1});
    if (is("later rate")) optimizer.set_learning_rate(0.05);  // fit takes worker 0's, and warns
    model.compile({.optimizer = optimizer,
                   .loss = is("loss") ? "mae" : "mse",
                   .metrics = {is("metrics") ? "mse" : "mae"},
                   .steps_per_execution = is("steps") ? 2 : 1});
    return model;
  }

  data::Dataset dataset() const {
    data::Options policy;
    if (is("policy")) policy.distribute.auto_shard_policy = data::AutoShardPolicy::Off;
    const Tensor rows = is("contents") ? x() * 2.0F : x();
    if (what_ == "folder") {
      const std::string folder = folder_ + "/" + std::to_string(strategy_.impl().worker());
      std::filesystem::create_directories(folder);
      std::ofstream(folder + "/lines") << "1\n2\n3\n4\n";
      return data::TextLineDataset(folder + "/lines")
          .map([](const Tensor& line) {
            const Tensor number = data::strings::to_number(line);
            return std::pair{ops::stack({number, number, number}), ops::reshape(number, {1})};
          })
          .batch(2);
    }
    const float factor = is("map") ? 3.0F : 2.0F;
    return data::Dataset::from_tensor_slices({rows, y()})
        .map([factor](const Tensor& a, const Tensor& b) {
          return std::pair{a * factor, b};
        })
        .batch(is("batch of a dataset") ? 2 : 4)
        .with_options(policy);
  }

  void fit(Sequential& model) const {
    FitOptions options{.batch_size = is("batch") ? 2 : 4, .epochs = 1, .verbose = 0};
    if (is("callbacks")) {
      options.callbacks = {callbacks::BackupAndRestore({.backup_dir = folder_ + "/1"})};
    }
    if (is("weights")) options.class_weight = {{0, 2.0}};
    if (is("validation")) options.validation_data = {x(), y()};
    model.fit(x(), y(), options);
  }

  // The second call is rejected; the first one continues.
  void from_two_threads(Sequential& model) const {
    callbacks::LambdaCallbackOptions options;
    options.on_test_batch_begin = [&](int64_t batch, const Logs&) {
      if (batch > 0) return;
      std::thread other([&] {
        try {
          model.evaluate(x(), y(), {.verbose = 0});
        } catch (const FailedPrecondition& error) {
          std::cout << error.what() << "\n";
        }
      });
      other.join();
    };
    model.evaluate(
        x(), y(),
        {.batch_size = 4, .verbose = 0, .callbacks = {callbacks::LambdaCallback(options)}});
  }

  std::string what_;
  std::string folder_;
  const Strategy& strategy_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  set_random_seed(3);
  const distribute::MultiWorkerMirroredStrategy strategy;
  const auto scope = strategy.scope();
  try {
    Differs(argv[1], argv[2], strategy).run();
    std::cout << "alike\n";
  } catch (const Error& error) {
    std::cout << error.what() << "\n";
  }
  return 0;
}
