// SPDX-License-Identifier: Apache-2.0
// What fit does with its data and arguments.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cstring>

#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using doctest::Approx;
using test::some_values;

namespace {

// The metrics of each step describe the values it was given, so that tests can see them. Each
// sample is a single number.
class Witness : public Model {
 public:
  Witness() : weight_(track("weight", Variable(Tensor::scalar(0.0F)))) { set_built(); }
  Tensor call(const Tensor& x, const CallArgs&) override { return x * weight_; }
  NamedValues<Tensor> train_step(const Batch& data) override { return figures(data); }
  NamedValues<Tensor> test_step(const Batch& data) override { return figures(data); }

 private:
  static NamedValues<Tensor> figures(const Batch& data) {
    const Tensor& x = data.x[0];
    return {{"count", Tensor::scalar(static_cast<float>(x.shape()[0]))},
            {"sum", ops::sum(x)},
            {"first", ops::sum(ops::slice_axis(x, 0, 0, 1))}};
  }
  Variable weight_;
};

// Records the metrics of every batch.
class Batches : public Callback {
 public:
  void on_train_batch_end(int64_t, const Logs& logs) override { train.push_back(logs); }
  void on_test_batch_end(int64_t, const Logs& logs) override { test.push_back(logs); }

  static std::vector<double> of(const std::vector<Logs>& logs, const std::string& name) {
    std::vector<double> values;
    for (const Logs& batch : logs) values.push_back(batch.at(name));
    return values;
  }
  std::vector<Logs> train;
  std::vector<Logs> test;
};

using Values = std::vector<double>;

// 0, 1, 2, … as a column.
Tensor counting(int64_t count) {
  Tensor x = Tensor::empty({count, 1}, DType::Float32);
  for (int64_t i = 0; i < count; ++i) x.mutable_data<float>()[i] = static_cast<float>(i);
  return x;
}

std::shared_ptr<Batches> witness(const FitOptions& options, const Tensor& x = counting(10)) {
  Witness model;
  model.compile({});
  const auto batches = std::make_shared<Batches>();
  FitOptions with_batches = options;
  with_batches.verbose = 0;
  with_batches.callbacks.push_back(CallbackHandle(batches));
  model.fit(x, x, with_batches);
  return batches;
}

// y = w x, with w = 2 initially.
Sequential line(const CompileOptions& options, double l2 = 0) {
  Sequential model(Input({.shape = {1}}),
                   {layers::Dense({.units = 1,
                                   .use_bias = false,
                                   .kernel_initializer = initializers::Constant(2.0),
                                   .kernel_regularizer = regularizers::L2(l2)})});
  model.compile(options);
  return model;
}

CompileOptions standing() {
  return {.optimizer = optimizers::SGD({.learning_rate = 0}), .loss = "mse", .metrics = {"mae"}};
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].shape() != b[i].shape() || a[i].dtype() != b[i].dtype()) return false;
    if (std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  }
  return true;
}

// A small network with all kinds of randomness: weights, dropout, the order of samples.
struct Trained {
  History history;
  std::vector<Tensor> weights;
};
Trained train(uint64_t seed, const CompileOptions& compile = {
                                 .optimizer = "adam", .loss = "mse", .metrics = {"mae"}}) {
  set_random_seed(seed);
  Sequential model({layers::Dense({.units = 8, .activation = "tanh"}), layers::BatchNormalization(),
                    layers::Dropout({.rate = 0.3}), layers::Dense({.units = 2})});
  model.compile(compile);
  History history =
      model.fit(some_values({23, 5}, 1), some_values({23, 2}, 2),
                {.batch_size = 8, .epochs = 3, .verbose = 0, .validation_split = 0.2});
  return {std::move(history), model.get_weights()};
}

}  // namespace

TEST_CASE("validation_split takes the last samples, before shuffling") {
  const auto batches = witness({.batch_size = 3, .validation_split = 0.3, .shuffle = true});
  double sum = 0;
  for (const double part : Batches::of(batches->train, "sum")) sum += part;
  CHECK(sum == 0 + 1 + 2 + 3 + 4 + 5 + 6);
  CHECK(Batches::of(batches->train, "count") == Values{3, 3, 1});
  CHECK(Batches::of(batches->test, "first") == Values{7});  // in order
  CHECK(Batches::of(batches->test, "sum") == Values{7 + 8 + 9});
}

TEST_CASE("validation_data goes before validation_split, in batches of its own size") {
  const auto batches = witness({.batch_size = 10,
                                .validation_split = 0.3,
                                .validation_data = {counting(4), counting(4)},
                                .validation_batch_size = 3});
  CHECK(Batches::of(batches->train, "count") == Values{10});
  CHECK(Batches::of(batches->test, "count") == Values{3, 1});
}

TEST_CASE("shuffling gives every sample once an epoch, in another order each time") {
  const auto shuffled = witness({.batch_size = 1, .epochs = 2});
  const Values order = Batches::of(shuffled->train, "first");
  REQUIRE(order.size() == 20);
  Values first(order.begin(), order.begin() + 10);
  Values second(order.begin() + 10, order.end());
  CHECK(first != second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  CHECK(first == Values{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(second == first);
}

TEST_CASE("steps_per_epoch goes on through the data, and starts anew when it is used up") {
  const auto batches =
      witness({.batch_size = 2, .epochs = 4, .shuffle = false, .steps_per_epoch = 2});
  // Five batches: the third epoch gets the remaining one, the fourth starts over.
  CHECK(Batches::of(batches->train, "first") == Values{0, 2, 4, 6, 8, 0, 2});
}

TEST_CASE("predict divides arrays by its number of steps") {
  Sequential model({layers::Dense({.units = 1})});
  int64_t batches = 0;
  const callbacks::LambdaCallback count(
      {.on_predict_batch_end = [&](int64_t, const Logs&) { ++batches; }});
  const PredictOptions options{.verbose = 0, .steps = 3, .callbacks = {count}};
  CHECK(model.predict(some_values({70, 2}), options).shape() == Shape{70, 1});
  CHECK(batches == 3);
}

TEST_CASE("a batch of no rows takes a step that changes nothing") {
  const Tensor x = some_values({6, 3}, 1);
  const Tensor y = some_values({6, 1}, 2);
  const std::shared_ptr<BatchSource> source =
      data::Dataset::from_tensor_slices({x.rows(0, 5), y.rows(0, 5)}).batch(4);  // 4 and 1 rows
  auto train = [](const std::shared_ptr<BatchSource>& batches) {
    set_random_seed(3);
    Sequential model(
        {layers::Dense({.units = 4}), layers::BatchNormalization(), layers::Dense({.units = 1})});
    model.compile(
        {.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse", .metrics = {"mae"}});
    const History history = model.fit(batches, {.verbose = 0});
    return std::pair(model.get_weights(), history);
  };
  const auto [weights, history] = train(source->divide(2)->shard(2, 1));  // 2 rows, none
  const auto [expected, alone] =
      train(data::Dataset::from_tensor_slices({x.rows(2, 4), y.rows(2, 4)}).batch(2));
  CHECK(same_bits(weights, expected));
  CHECK(history.at("loss") == alone.at("loss"));
  CHECK(history.at("mae") == alone.at("mae"));
}

TEST_CASE("a dataset without end is cut into epochs") {
  Witness model;
  model.compile({});
  const auto batches = std::make_shared<Batches>();
  const data::Dataset dataset = data::Dataset::from_tensor_slices(counting(3)).batch(1).repeat();
  const History history = model.fit(dataset, {.epochs = 2,
                                              .verbose = 0,
                                              .callbacks = {CallbackHandle(batches)},
                                              .validation_data = dataset,
                                              .steps_per_epoch = 4,
                                              .validation_steps = 2});
  CHECK(Batches::of(batches->train, "first") == Values{0, 1, 2, 0, 1, 2, 0, 1});
  CHECK(Batches::of(batches->test, "count") == Values{1, 1, 1, 1});
  CHECK(history.epoch == std::vector<int64_t>{0, 1});
}

TEST_CASE("the last, partial batch counts by its samples") {
  Sequential model = line(standing());
  const Tensor x = counting(5);
  const Tensor y = ops::zeros({5, 1});
  const History history = model.fit(x, y, {.batch_size = 2, .verbose = 0});
  CHECK(history.at("loss").at(0) == Approx(4.0 * (0 + 1 + 4 + 9 + 16) / 5));
  CHECK(history.at("mae").at(0) == Approx(2.0 * (0 + 1 + 2 + 3 + 4) / 5));
  const Logs logs = model.evaluate(x, y, {.batch_size = 3, .verbose = 0});
  CHECK(logs.at("loss") == Approx(history.at("loss").at(0)));
  CHECK(logs.at("mae") == Approx(history.at("mae").at(0)));
  CHECK(model.predict(x, {.batch_size = 2, .verbose = 0}).shape() == Shape{5, 1});
}

TEST_CASE("initial_epoch counts on, and leaves out what was done") {
  std::vector<int64_t> begun;
  Sequential model = line(standing());
  const callbacks::LambdaCallback keep(
      {.on_epoch_begin = [&](int64_t epoch, const Logs&) { begun.push_back(epoch); }});
  FitOptions options = {.epochs = 4, .verbose = 0, .callbacks = {keep}, .initial_epoch = 2};
  const History history = model.fit(counting(4), counting(4), options);
  CHECK(begun == std::vector<int64_t>{2, 3});
  CHECK(history.epoch == begun);
  CHECK(history.at("loss").size() == 2);
  options.initial_epoch = 4;
  CHECK(model.fit(counting(4), counting(4), options).epoch.empty());
}

TEST_CASE("validation_freq validates every so often, or after the epochs it lists") {
  auto validated = [](const ValidationFrequency& frequency) {
    std::vector<int64_t> epochs;
    int64_t current = 0;
    const callbacks::LambdaCallback keep(
        {.on_epoch_begin = [&](int64_t epoch, const Logs&) { current = epoch; },
         .on_test_begin = [&](const Logs&) { epochs.push_back(current); }});
    const History history = line(standing())
                                .fit(counting(4), counting(4),
                                     {.epochs = 5,
                                      .verbose = 0,
                                      .callbacks = {keep},
                                      .validation_data = {counting(2), counting(2)},
                                      .validation_freq = frequency});
    CHECK(history.at("loss").size() == 5);
    if (!epochs.empty()) CHECK(history.at("val_loss").size() == epochs.size());
    return epochs;
  };
  CHECK(validated(1) == std::vector<int64_t>{0, 1, 2, 3, 4});
  CHECK(validated(2) == std::vector<int64_t>{1, 3});
  CHECK(validated({1, 5}) == std::vector<int64_t>{0, 4});
  CHECK(validated(std::vector<int>{2, 3}) == std::vector<int64_t>{1, 2});
  CHECK(validated(std::vector<int>()).empty());
  CHECK_FALSE(ValidationFrequency({1}).includes(int64_t{1} << 32));
}

TEST_CASE("train_on_batch takes one step; its metrics are those of the batch alone") {
  const Tensor x = Tensor::from<float>({1, 2}, {2, 1});
  const Tensor y = ops::zeros({2, 1});
  Sequential model = line({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  CHECK(model.train_on_batch(x, y).at("loss") == Approx(10));  // w = 2: (4 + 16) / 2
  CHECK(model.get_weights()[0].item<float>() == Approx(1));    // 2 - 0.1 * 2 * 2 * 2.5
  CHECK(model.optimizer().iterations() == 1);
  CHECK(model.test_on_batch(x, y).at("loss") == Approx(2.5));
  CHECK(model.train_on_batch(x, y, {.sample_weight = Tensor::from<float>({1, 0})}).at("loss") ==
        Approx(0.5));
  const Sequential other = line(standing());
  const Tensor classes = Tensor::from<float>({0, 1}, {2, 1});
  // (2 - 0)² * 3 and (4 - 1)² * 1, halved.
  CHECK(Model(other).train_on_batch(x, classes, {.class_weight = {{0, 3.0}}}).at("loss") ==
        Approx((4.0 * 3 + 9) / 2));
  CHECK(model.predict_on_batch(x).shape() == Shape{2, 1});
}

TEST_CASE("regularizers and added losses are part of the loss") {
  class Activity : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      add_loss(ops::mean(x) * 0.5);
      return x;
    }
  };
  const Tensor x = Tensor::from<float>({1, 3}, {2, 1});
  const Tensor y = ops::zeros({2, 1});
  const double mse = (4.0 + 36.0) / 2;
  CHECK(line(standing(), 0.25).fit(x, y, {.verbose = 0}).at("loss").at(0) ==
        Approx(mse + 0.25 * 4));
  Sequential model = line(standing(), 0.25);
  model.add(make_layer<Activity>());
  model.compile(standing());
  const double total = mse + 0.25 * 4 + 0.5 * 4;
  CHECK(model.fit(x, y, {.verbose = 0}).at("loss").at(0) == Approx(total));
  CHECK(model.evaluate(x, y, {.verbose = 0}).at("loss") == Approx(total));
  // Without a compiled loss, and without targets.
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1})});
  CHECK(model.fit(x, {}, {.verbose = 0}).at("loss").at(0) == Approx(0.25 * 4 + 0.5 * 4));
  model.set_weights({ops::ones({1, 1}) * 2.0});
  CHECK(model.fit(x, {.verbose = 0}).at("loss").at(0) == Approx(0.25 * 4 + 0.5 * 4));
  CHECK(model.get_weights()[0].item<float>() == Approx(2 - 0.1 * (2 * 0.25 * 2 + 0.5 * 2)));
}

TEST_CASE("batch methods are called where they are overridden, without being asked for") {
  class Of : public Callback {
   public:
    void on_epoch_end(int64_t, const Logs&) override {}
  };
  class Below : public Of {
   public:
    void on_train_batch_end(int64_t batch, const Logs& logs) override {
      calls += fmt::format("{}:{:.0f} ", batch, logs["loss"]);
    }
    std::string calls;
  };
  class Hidden : public Callback {
    void on_test_batch_begin(int64_t, const Logs&) override {}
  };
  CHECK(!make_callback<Of>()->wants_batches());
  CHECK(make_callback<Below>()->wants_batches());
  CHECK(make_callback<Hidden>()->wants_batches());
  CHECK(make_callback<Below>()->calls.empty());  // the handle knows the class
  CHECK(!callbacks::EarlyStopping()->wants_batches());
  CHECK(callbacks::TerminateOnNaN()->wants_batches());
  // If only its base class is known, a callback counts as overriding them.
  const std::shared_ptr<Callback> base = std::make_shared<Of>();
  CHECK(CallbackHandle(base)->wants_batches());
  const auto below = std::make_shared<Below>();
  line(standing())
      .fit(ops::ones({4, 1}), ops::zeros({4, 1}),
           {.batch_size = 2, .verbose = 0, .callbacks = {below}});
  CHECK(below->calls == "0:4 1:4 ");
  CHECK(test::message_of<FailedPrecondition>([] { make_callback<Of>()->model(); }) ==
        "Callback: it isn't bound to a model yet. Pass it to fit, evaluate or predict first; its "
        "methods are called with one.");
}

TEST_CASE("a train_step of the user's own is what fit runs") {
  class Doubling : public Model {
   public:
    Doubling() : dense_(track(layers::Dense({.units = 1}))) {}
    Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
    NamedValues<Tensor> train_step(const Batch& data) override {
      NamedValues<Tensor> logs = Model::train_step(data);
      logs["twice"] = logs["loss"] * 2;
      ++traced;
      return logs;
    }
    int traced = 0;

   private:
    layers::Dense dense_;
  };
  Doubling model;
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = model.fit(some_values({8, 3}), some_values({8, 1}),
                                    {.batch_size = 4, .epochs = 3, .verbose = 0});
  CHECK(model.traced == 1);
  CHECK(history.names() == std::vector<std::string>{"loss", "twice"});
  for (size_t i = 0; i < 3; ++i) CHECK(history.at("twice")[i] == Approx(2 * history.at("loss")[i]));
  CHECK(history.at("loss")[2] < history.at("loss")[0]);
}

TEST_CASE("a scaled loss changes neither metrics nor updates") {
  const Trained plain = train(3, {.optimizer = optimizers::SGD(), .loss = "mse"});
  const Trained scaled =
      train(3, {.optimizer = optimizers::SGD({.loss_scale_factor = 1024.0}), .loss = "mse"});
  CHECK(plain.history.at("loss") == scaled.history.at("loss"));
  CHECK(same_bits(plain.weights, scaled.weights));  // a power of two, hence exact
}

TEST_CASE("eager, compiled with passes and without: the same losses") {
  const Trained compiled = train(5);
  for (const bool eager : {true, false}) {
    CAPTURE(eager);
    const Trained other = train(5, {.optimizer = "adam",
                                    .loss = "mse",
                                    .metrics = {"mae"},
                                    .run_eagerly = eager,
                                    .jit_compile = false});
    CHECK(other.history.names() == compiled.history.names());
    for (const auto& [key, values] : compiled.history) {
      const std::string name = key;
      CAPTURE(name);
      for (size_t i = 0; i < values.size(); ++i) {
        CHECK(other.history.at(name)[i] == Approx(values[i]).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("the same seed gives the same bits, another one doesn't") {
  const Trained first = train(11);
  const Trained again = train(11);
  CHECK(same_bits(first.weights, again.weights));
  for (const auto& [name, values] : first.history) CHECK(again.history.at(name) == values);
  CHECK_FALSE(same_bits(first.weights, train(12).weights));
}

TEST_CASE("a history has the learning rate of a LearningRateScheduler") {
  Sequential model = line({.optimizer = "sgd", .loss = "mse"});
  const callbacks::LearningRateScheduler halve(
      {.schedule = [](int64_t epoch) { return 0.01 / static_cast<double>(1 << epoch); }});
  const History history =
      model.fit(counting(2), counting(2), {.epochs = 3, .verbose = 0, .callbacks = {halve}});
  const std::vector<double>& rates = history.at("learning_rate");
  REQUIRE(rates.size() == 3);
  for (size_t i = 0; i < 3; ++i) CHECK(rates[i] == Approx(0.01 / static_cast<double>(1 << i)));
  CHECK(model.optimizer().learning_rate().item<double>() == Approx(0.0025));
}

TEST_CASE("with use_ema, a trained model holds the averages") {
  const auto sgd = [](bool use_ema) {
    return optimizers::SGD({.learning_rate = 0.1, .use_ema = use_ema, .ema_momentum = 0.5});
  };
  const Tensor x = Tensor::from<float>({1, 1}, {2, 1});
  const Tensor y = ops::zeros({2, 1});
  const FitOptions twice = {.batch_size = 1, .verbose = 0};
  Sequential model = line({.optimizer = sgd(true), .loss = "mse"});
  model.fit(x, y, twice);
  // Weights 1.6, 1.28; averages, which start with the first value: 1.6, 1.44.
  CHECK(model.get_weights()[0].item<float>() == Approx(1.44));
  Sequential plain = line({.optimizer = sgd(false), .loss = "mse"});
  plain.fit(x, y, twice);
  CHECK(plain.get_weights()[0].item<float>() == Approx(1.28));
}

TEST_CASE("sample weights: one for all outputs, or one for each by name") {
  const Tensor x = Tensor::from<float>({1, 2}, {2, 1});
  auto loss_with = [&](const Tensors& weights) {
    const Tensor in = Input({.shape = {1}});
    auto unit = [&](const std::string& name) {
      return layers::Dense({.units = 1, .kernel_initializer = "ones", .name = name})(in);
    };
    Model model({in}, {unit("a"), unit("b")});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor zeros = ops::zeros({2, 1});
    return model.evaluate(x, {zeros, zeros}, {.verbose = 0, .sample_weight = weights}).at("loss");
  };
  const Tensor first = Tensor::from<float>({1, 0});
  const Tensor second = Tensor::from<float>({0, 1});
  // Squares 1 and 4, averaged over both examples.
  CHECK(loss_with({}) == Approx(2.5 + 2.5));
  CHECK(loss_with(first) == Approx(0.5 + 0.5));
  CHECK(loss_with({first, second}) == Approx(0.5 + 2));
  CHECK(loss_with({{"b", second}}) == Approx(2.5 + 2));
}

TEST_CASE("steps_per_execution: batches between the callbacks, and the same weights") {
  auto train = [&](int64_t steps) {
    std::string calls;
    Sequential model = line({.optimizer = "sgd", .loss = "mse", .steps_per_execution = steps});
    model.fit(
        counting(7), counting(7) * 3.0,
        {.batch_size = 1,
         .verbose = 0,
         .callbacks = {callbacks::LambdaCallback(
             {.on_train_batch_begin = [&](int64_t batch,
                                          const Logs&) { calls += std::to_string(batch) + "("; },
              .on_train_batch_end = [&](int64_t batch,
                                        const Logs&) { calls += std::to_string(batch) + ")"; }})},
         .shuffle = false});
    return std::pair(calls, model.get_weights()[0].item<float>());
  };
  const auto [calls, weight] = train(3);
  CHECK(calls == "0(2)3(5)6(8)");  // counted as in Keras
  CHECK(weight == train(1).second);
  CHECK(weight != 2.0F);
}

TEST_CASE("a callback that stops training before its first batch lets one batch pass") {
  int stop_at = 0;
  std::string calls;
  auto stop = [&](Model& model, int when) {
    if (when != stop_at) return;
    calls += "stop ";
    model.stop_training = true;
  };
  for (stop_at = 0; stop_at < 3; ++stop_at) {
    calls.clear();
    Sequential model = line({.optimizer = "sgd", .loss = "mse"});
    const auto callback = callbacks::LambdaCallback(
        {.on_epoch_begin = [&](int64_t, const Logs&) { stop(model, 1); },
         .on_train_begin = [&](const Logs&) { stop(model, 0); },
         .on_train_batch_begin = [&](int64_t batch,
                                     const Logs&) { stop(model, 2 + static_cast<int>(batch)); },
         .on_train_batch_end = [&](int64_t batch,
                                   const Logs&) { calls += std::to_string(batch) + " "; }});
    const History history =
        model.fit(counting(3), counting(3) * 3.0,
                  {.batch_size = 1, .epochs = 2, .verbose = 0, .callbacks = {callback}});
    CHECK(calls == "stop 0 ");
    CHECK(history.epoch.size() == 1);
  }
}

TEST_CASE("class_weight takes the nearest class, and the largest of the last axis") {
  struct Same : Model {
    Same() : Model({.name = "same"}) {}
    Tensor call(const Tensor& x, const CallArgs&) override { return x; }
  };
  auto loss = [&](const Tensor& y) {
    Same model;
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const TrainOnBatchOptions options{.class_weight = {{0, 3.0}, {1, 5.0}}};
    return model.train_on_batch(ops::zeros_like(y), y, options).at("loss");
  };
  auto label = [](float value) { return ops::full({1, 1}, value); };
  CHECK(loss(label(0.9F)) == Approx(5 * 0.81));
  CHECK(loss(label(0.5F)) == Approx(3 * 0.25));  // half rounds to even, as in NumPy
  CHECK(loss(label(1.5F)) == Approx(2.25));
  CHECK(loss(ops::reshape(Tensor::from<float>({0, 1}), {1, 1, 2})) == Approx(5 * 0.5));
  CHECK(test::message_of([&] {
          loss(ops::ones({2, 3, 2}));
        }) ==
        "Same 'same': class_weight needs one label an example, a class index or a one-hot "
        "row, got targets of shape (2, 3, 2). Give sample_weight instead.");
}

TEST_CASE("options that name an optimizer are for any number of models") {
  const CompileOptions options{.optimizer = "adam", .loss = "mse", .metrics = {"mae"}};
  const Tensor x = some_values({8, 2});
  const Tensor y = some_values({8, 1});
  const auto make = [] { return Sequential({Input({.shape = {2}}), layers::Dense({.units = 1})}); };
  Sequential first = make();
  Sequential second = make();
  first.compile(options);
  second.compile(options);
  CHECK(first.optimizer().shared() == options.optimizer.shared());
  CHECK(second.optimizer().shared() != first.optimizer().shared());
  for (Sequential* model : {&first, &second}) {
    model->fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0});
    CHECK(model->optimizer().iterations() == 6);
  }
  second.compile(options);  // from scratch, as in Keras
  second.fit(x, y, {.batch_size = 4, .verbose = 0});
  CHECK(second.optimizer().iterations() == 2);
  // Optimizers created from a name start with the settings that the first one had when it was
  // taken.
  const Optimizer slow = "sgd";
  slow.set_learning_rate(0.125);
  first.compile({.optimizer = slow, .loss = "mse"});
  slow.set_learning_rate(0.5);  // now belongs to the first model
  second.compile({.optimizer = slow, .loss = "mse"});
  CHECK(first.optimizer().learning_rate().item<float>() == 0.5F);
  CHECK(second.optimizer().learning_rate().item<float>() == 0.125F);
  // An object is the same one in all models.
  const CompileOptions object{.optimizer = optimizers::Adam(), .loss = "mse"};
  first.compile(object);
  second.compile(object);
  CHECK(second.optimizer().shared() == first.optimizer().shared());
}

TEST_CASE("arguments as Keras's users give them") {
  Sequential model(
      {Input({.shape = {2}}), layers::Dense({.units = 2, .activation = "softmax", .name = "d"})});
  const std::vector<std::string> names = {"accuracy"};
  const std::map<std::string, Loss> losses = {{"d", "sparse_categorical_crossentropy"}};
  model.compile({.optimizer = optimizers::SGD({0.1}), .loss = losses, .metrics = names});
  const Tensor x = some_values({4, 2});
  const Tensor y = {0, 1, 0, 1};
  const std::map<int, float> weights = {{0, 2.0F}};
  const History history = model.fit(
      x, y, {.verbose = 0, .callbacks = callbacks::TerminateOnNaN(), .class_weight = weights});
  CHECK(history.contains("accuracy"));
}
