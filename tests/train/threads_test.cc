// SPDX-License-Identifier: Apache-2.0
// Functions and models used by several threads concurrently.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <atomic>
#include <barrier>
#include <mutex>
#include <thread>

#include "framework/backends/cpu/workspace.h"
#include "framework/core/threads.h"
#include "framework/core/variable_access.h"
#include "framework/graph/trace.h"
#include "framework/train/trainer.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

using namespace cornu;

namespace {

constexpr int kThreads = 4;

// Calls body(thread) on this many threads, which start together; rethrows an exception of one of
// them.
void on_threads(int count, const std::function<void(int)>& body) {
  std::barrier start(count);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      try {
        body(i);
      } catch (...) {
        errors[static_cast<size_t>(i)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

bool same_bits(const Tensor& x, const Tensor& y) {
  const Tensor a = x.host();
  const Tensor b = y.host();
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

Tensor request(int i) { return random::normal({1 + i % 3, 8, 8, 1}, {.seed = i}); }

Sequential classifier() {
  Sequential model(
      Input({.shape = {8, 8, 1}}),
      {layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"}),
       layers::MaxPooling2D(), layers::Flatten(), layers::Dropout({.rate = 0.5}),
       layers::Dense({.units = 16, .activation = "tanh"}), layers::BatchNormalization(),
       layers::Dense({.units = 3, .activation = "softmax"})});
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

}  // namespace

TEST_CASE("a function called by several threads, from its first trace on") {
  std::atomic<int> traces = 0;
  const Function f = function([&](const Tensor& x) {
    ++traces;
    const Tensor y = ops::softmax(ops::matmul(x, ops::transpose(x)), -1);
    return std::pair(ops::sum(y * x, 0), ops::max(y));
  });
  const Function alone = f;
  auto input = [](int i) { return random::normal({5, 5}, {.seed = i}); };
  std::vector<std::vector<Tensor>> results(100);
  on_threads(kThreads, [&](int thread) {
    for (int i = thread; i < 100; i += kThreads) {
      results[static_cast<size_t>(i)] = f.call({input(i)});
    }
  });
  CHECK(traces == 1);
  for (int i = 0; i < 100; ++i) {
    const auto expected = alone.call({input(i)});
    for (size_t k = 0; k < 2; ++k) {
      CHECK(same_bits(results[static_cast<size_t>(i)][k], expected[k]));
    }
  }
}

TEST_CASE("eager ops by several threads") {
  auto compute = [](int i) {
    const Tensor x = random::normal({6, 6}, {.seed = i});
    return ops::softmax(ops::matmul(x, x) + ops::sum(x, 1, true), -1);
  };
  std::vector<Tensor> results(60);
  on_threads(kThreads, [&](int thread) {
    for (int i = thread; i < 60; i += kThreads) results[static_cast<size_t>(i)] = compute(i);
  });
  for (int i = 0; i < 60; ++i) CHECK(same_bits(results[static_cast<size_t>(i)], compute(i)));
}

TEST_CASE("signatures that come and go between threads") {
  const Function f =
      function([](const Tensor& x) { return ops::sum(ops::matmul(x, x)); }, {.max_signatures = 2});
  on_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 40; ++i) {
      const int64_t n = 1 + (i + thread) % 5;
      const float sum = f(ops::ones({n, n})).single().item<float>();
      REQUIRE(sum == static_cast<float>(n * n * n));
    }
  });
  CHECK(f.signature_count() <= 2);
}

TEST_CASE("writes to one variable from several threads are all there") {
  const Variable count(Tensor::scalar(0.0f), {.name = "count"});
  const Variable twice(Tensor::scalar(0.0f), {.name = "twice"});
  const Function step = function([&] {
    count.assign(count + 1.0f);
    twice.assign(count * 2.0f);
    return twice - count * 2.0f;
  });
  const Function other = function([&] { return twice - count * 2.0f; });
  on_threads(kThreads, [&](int thread) {
    for (int i = 0; i < 200; ++i) {
      // A reader sees the values of both variables between steps.
      const Tensors difference = thread % 2 == 0 ? step() : other();
      REQUIRE(difference.single().item<float>() == 0);
      REQUIRE(count.value().item<float>() >= 0);
    }
  });
  CHECK(count.value().item<float>() == 200 * (kThreads / 2));
}

TEST_CASE("variable access: the same variable twice, and one that is poisoned") {
  const Variable w(Tensor::scalar(1.0f), {.name = "w"});
  {
    VariableAccess access;
    for (const bool writes : {false, true, true, false}) access.add(w, writes);
    access.acquire();
    auto value = [&](size_t use) -> float& {
      return *reinterpret_cast<float*>(access.memory(use));
    };
    value(1) = 3;
    CHECK(value(2) == 3);
    CHECK(value(0) == 1);  // a reader keeps the old value
    CHECK(value(3) == 1);
  }
  CHECK(w.value().item<float>() == 3);
  w.poison("on purpose");
  {
    VariableAccess access;
    access.add(w, false);
    access.acquire();
    CHECK_THROWS_AS(access.memory(0), FailedPrecondition);
  }
  w.assign(2.0f);
  CHECK(w.value().item<float>() == 2);
}

TEST_CASE("predict, predict_on_batch and evaluate of one model by several threads") {
  set_random_seed(1);
  Sequential model = classifier();
  Sequential fresh = classifier();  // nothing of it has been traced
  fresh.set_weights(model.get_weights());
  const int count = 24;
  std::vector<Tensor> expected;
  std::vector<double> losses;
  auto labels = [](int i) { return random::randint({1 + i % 3}, 0, 3, {.seed = i}); };
  for (int i = 0; i < count; ++i) {
    expected.push_back(model.predict_on_batch(request(i)).single());
    losses.push_back(model.evaluate(request(i), labels(i), {.verbose = 0})["loss"]);
  }
  std::vector<Tensor> batches(count);
  std::vector<Tensor> predictions(count);
  std::vector<double> evaluated(count);
  on_threads(kThreads, [&](int thread) {
    for (int i = thread; i < count; i += kThreads) {
      const auto at = static_cast<size_t>(i);
      batches[at] = fresh.predict_on_batch(request(i)).single();
      predictions[at] = fresh.predict(request(i), {.verbose = 0}).single();
      evaluated[at] = fresh.evaluate(request(i), labels(i), {.verbose = 0})["loss"];
    }
  });
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(i);
    CHECK(same_bits(batches[at], expected[at]));
    CHECK(same_bits(predictions[at], expected[at]));
    CHECK(evaluated[at] == losses[at]);
  }
}

namespace {

// Whether another thread could be tracing now.
bool others_may_trace() {
  std::recursive_mutex* const mutex = tracing_lock().mutex();
  bool may = false;
  std::thread([&] {
    may = mutex->try_lock();
    if (may) mutex->unlock();
  }).join();
  return may;
}

// Makes its variable in its first update, as metrics do that need a shape.
struct LateMean : MetricImpl {
  LateMean() : MetricImpl("late_mean") {}
  mutable std::atomic<bool> raced = false;  // whether it was used while a trace could change it
  Variable total;

  void update_state(const Tensor&, const Tensor& y_pred, const Tensor&) override {
    if (!total.defined()) total = add_variable({}, "total");
    total.assign(total + ops::mean(y_pred));
  }
  Tensor result() const override { return total; }
  void reset_state() override {
    raced = raced || others_may_trace();
    MetricImpl::reset_state();
  }
  const std::vector<Variable>& variables() const override {
    raced = raced || others_may_trace();
    return MetricImpl::variables();
  }
};

}  // namespace

TEST_CASE("no thread uses metrics while another's trace may be making their variables") {
  const auto metric = make_metric<LateMean>();
  Sequential model(Input({.shape = {2}}), {layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {metric}});
  const Tensor x = ops::ones({4, 2});
  const Tensor y = ops::ones({4, 1});
  const auto evaluates = callbacks::LambdaCallback({.on_epoch_begin = [&](int64_t, const Logs&) {
    std::thread([&] { model.evaluate(x, y, {.verbose = 0}); }).join();
  }});
  const test::Scratch scratch;
  const auto keeps = callbacks::BackupAndRestore({.backup_dir = scratch.path("backup")});
  model.fit(x, y, {.batch_size = 2, .epochs = 2, .verbose = 0, .callbacks = {evaluates, keeps}});
  CHECK(!metric->raced);
}

TEST_CASE("training one model by two threads is an error that names it") {
  Sequential model(Input({.shape = {2}}), {layers::Dense({.units = 1})}, {.name = "shared"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = ops::ones({4, 2});
  const Tensor y = ops::ones({4, 1});
  std::string fit_error;
  std::string step_error;
  const auto other_thread = callbacks::LambdaCallback({.on_epoch_begin = [&](int64_t, const Logs&) {
    std::thread([&] {
      fit_error = test::message_of<FailedPrecondition>([&] { model.fit(x, y, {.verbose = 0}); });
      step_error = test::message_of<FailedPrecondition>([&] { model.train_on_batch(x, y); });
      model.predict(x, {.verbose = 0});
    }).join();
    model.train_on_batch(x, y);  // the training thread is allowed to
  }});
  model.fit(x, y, {.verbose = 0, .callbacks = {other_thread}});
  CHECK(fit_error ==
        "Sequential 'shared': another thread is training it. Train one model "
        "from one thread at a time; predict and evaluate may be called meanwhile.");
  CHECK(step_error == fit_error);
  model.train_on_batch(x, y);
  std::thread([&] { model.train_on_batch(x, y); }).join();  // one after the other
}

TEST_CASE("predict and evaluate beside fit see the weights between two steps") {
  // Two equal layers trained in the same way: their outputs are equal at any time between steps.
  const Tensor x = Input({.shape = {3}});
  auto dense = [&](const char* name) {
    return layers::Dense({.units = 1, .kernel_initializer = "ones", .name = name})(x);
  };
  Model model(x, Tensors({{"a", dense("a")}, {"b", dense("b")}}));
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor inputs = random::normal({64, 3}, {.seed = 1});
  const Tensor targets = random::normal({64, 1}, {.seed = 2});
  const Tensors both({{"a", targets}, {"b", targets}});
  std::atomic<bool> done = false;
  std::thread trainer([&] {
    model.fit(inputs, both, {.batch_size = 4, .epochs = 10, .verbose = 0});
    done = true;
  });
  int compared = 0;
  do {
    const Tensors outputs = model.predict_on_batch(inputs);
    REQUIRE(same_bits(outputs.at("a"), outputs.at("b")));
    const Logs logs = model.evaluate(inputs, both, {.batch_size = 64, .verbose = 0});
    REQUIRE(logs.at("loss") > 0);
    ++compared;
  } while (!done);
  trainer.join();
  CHECK(compared > 0);
}

TEST_CASE("a map on a thread reads variables as they are between two steps") {
  const Variable w(ops::zeros({1 << 16}));
  const Function step = function([w] { w.assign(w + 1); });
  step();
  std::atomic<bool> done = false;
  std::thread trainer([&] {
    for (int i = 0; i < 2000 && !done; ++i) step();
    done = true;
  });
  const auto read = data::Dataset::range(200)
                        .map([w](const Tensor&) {
                          return ops::stack({ops::min(w), ops::max(w)});
                        })
                        .prefetch(4);
  std::vector<float> seen;
  for (const data::Element& element : read) {
    const auto ends = element.tensor(0).to_vector<float>();
    REQUIRE(ends[0] == ends[1]);
    seen.push_back(ends[0]);
  }
  done = true;
  trainer.join();
  CHECK(std::is_sorted(seen.begin(), seen.end()));
}

TEST_CASE("named targets in another order are the same targets") {
  const Tensor x = Input({.shape = {1}});
  Model model(x, Tensors({{"a", layers::Dense({.units = 1, .name = "a"})(x)},
                          {"b", layers::Dense({.units = 1, .name = "b"})(x)}}));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor in = ops::ones({4, 1});
  const Tensor ya = ops::zeros({4, 1});
  const Tensor yb = ops::ones({4, 1}) * 100;
  const double loss = model.evaluate(in, {{"a", ya}, {"b", yb}}, {.verbose = 0})["loss"];
  CHECK(model.evaluate(in, {{"b", yb}, {"a", ya}}, {.verbose = 0})["loss"] == loss);
  CHECK(model.evaluate(in, {{"a", yb}, {"b", ya}}, {.verbose = 0})["loss"] != loss);
  auto weighted = [&](const Tensors& weights) {
    return model.evaluate(in, {{"a", ya}, {"b", yb}},
                          {.verbose = 0, .sample_weight = weights})["loss"];
  };
  const Tensor none = ops::zeros({4});
  const Tensor all = ops::ones({4});
  const double of_a = weighted({{"a", all}, {"b", none}});
  CHECK(weighted({{"b", none}, {"a", all}}) == of_a);
  CHECK(weighted({{"b", all}, {"a", none}}) != of_a);

  const Tensor p = Input({.shape = {1}, .name = "p"});
  const Tensor q = Input({.shape = {1}, .name = "q"});
  Model difference(Tensors({p, q}), p - q);
  const Tensor one = ops::ones({1, 1});
  CHECK(difference.predict_on_batch({{"p", one * 3}, {"q", one}}).single().item<float>() == 2);
  CHECK(difference.predict_on_batch({{"q", one}, {"p", one * 3}}).single().item<float>() == 2);
}

TEST_CASE("what is compiled for some compute threads runs with others") {
  // Both need separate memory for each thread.
  const Tensor filters = random::normal({3, 3, 32, 64}, {.seed = 1});
  const Tensor kernel = random::normal({1000, 64}, {.seed = 2});
  struct Case {
    const char* name;
    Tensor input;
    std::function<Tensor(const Tensor&)> body;
  };
  const Case cases[] = {
      {"conv", random::normal({16, 32, 32, 32}, {.seed = 3}),
       [&](const Tensor& x) { return ops::relu(ops::conv(x, filters, {.padding = "same"})); }},
      {"transposed matmul", random::normal({1000, 64}, {.seed = 4}),
       [&](const Tensor& x) { return ops::matmul(x, ops::transpose(kernel)); }}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Tensor expected;
    for (const int compiled_with : {1, 2, 8}) {
      const Function f = function(c.body);
      for (const int run_with : {compiled_with, 1, 2, 8, 1}) {
        CAPTURE(compiled_with);
        CAPTURE(run_with);
        const ComputeThreadsScope threads(run_with);
        const Tensor result = f(c.input).single();
        const Tensor eager = c.body(c.input);
        if (!expected.defined()) expected = result;
        CHECK(ops::max(ops::abs(result - expected)).item<float>() < 1e-3);
        CHECK(ops::max(ops::abs(eager - expected)).item<float>() < 1e-3);
      }
    }
  }
}

TEST_CASE("the memory that programs run in is that of the largest, for any compute threads") {
  const Tensor kernel = random::normal({1000, 64}, {.seed = 1});
  const Tensor x = random::normal({1000, 64}, {.seed = 2});
  const Function f =
      function([&](const Tensor& rows) { return ops::matmul(rows, ops::transpose(kernel)); });
  const auto compiled = f.compiled({x});
  size_t most = 0;
  for (const int threads : {1, 8, 1}) {
    const ComputeThreadsScope scope(threads);
    f(x);
    CHECK(compiled->executable->workspace_bytes() >= most);
    most = compiled->executable->workspace_bytes();
    CHECK(cpu::workspace_bytes_held() >= most);
  }
}

TEST_CASE("a map compiled on the caller's thread runs on a prefetching one") {
  const Tensor kernel = random::normal({1000, 64}, {.seed = 1});
  const Tensor rows = random::normal({3, 1000, 64}, {.seed = 2});
  auto multiply = [&](const Tensor& x) { return ops::matmul(x, ops::transpose(kernel)); };
  const data::Dataset mapped = data::Dataset::from_tensor_slices(rows).map(multiply);
  for (const data::Dataset& dataset : {mapped.prefetch(1), mapped}) {
    int64_t i = 0;
    for (const data::Element& element : dataset) {
      const Tensor expected = multiply(rows(i++));
      CHECK(ops::max(ops::abs(element.tensor(0) - expected)).item<float>() < 1e-3);
    }
  }
}

namespace {

// Its function is traced when it is first called.
struct Doubling : Layer {
  std::function<void()> before_call;
  Function twice = function([](const Tensor& x) { return x * 2; });
  Tensor call(const Tensor& x, const CallArgs&) override {
    if (before_call) before_call();
    return twice(x);
  }
};

struct Around : Model {
  explicit Around(const LayerHandle& layer) : layer(track("layer", layer)) {}
  LayerHandle layer;
  Tensor call(const Tensor& x, const CallArgs&) override { return layer(x); }
};

// A custom step that uses more layers than the call.
struct Chain : Model {
  std::vector<LayerHandle> layers;
  Chain() {
    for (int i = 0; i < 40; ++i) layers.push_back(layers::Dense({.units = 2}));
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return layers[0](x); }
  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensor h = data.x.single();
    for (const LayerHandle& layer : layers) h = layer(h);
    const Tensor loss = ops::mean(ops::square(h));
    optimizer().apply_gradients(tape.gradient(loss, trainable_variables()), trainable_variables());
    return {{"loss", loss}};
  }
};

}  // namespace

TEST_CASE("one thread's first call comes by a trace, another's trace by that layer's first call") {
  const Tensor x = ops::ones({2, 2});
  const auto layer = make_layer<Doubling>();
  std::atomic<bool> called = false;
  layer->before_call = [&] {
    called = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  Around model(layer);
  on_threads(2, [&](int thread) {
    if (thread == 0) {
      layer(x);
    } else {
      while (!called) std::this_thread::yield();
      model.predict(x, {.verbose = 0});
    }
  });
  CHECK(ops::max(model(x).single()).item<float>() == 2);
}

TEST_CASE("calls by several threads while a first training step finds sub-layers") {
  const Tensor x = ops::ones({2, 2});
  Chain model;
  model.compile({.optimizer = "sgd"});
  model(x);
  std::atomic<bool> done = false;
  on_threads(3, [&](int thread) {
    if (thread > 0) {
      while (!done) model(x);
      return;
    }
    model.train_on_batch(x, Tensors());
    done = true;
  });
  CHECK(model.weights().size() == 2 * model.layers.size());
  CHECK(model.tracked().size() == model.layers.size());
}
