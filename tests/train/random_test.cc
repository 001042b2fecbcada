// SPDX-License-Identifier: Apache-2.0
// Random ops without a seed draw different numbers at each call of traced code, reproducibly after
// set_random_seed; generators continue from call to call.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <set>

#include "framework/core/random.h"
#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

using Values = std::vector<float>;

Values values(const Tensor& x) { return x.to_vector<float>(); }
Values values(const Tensors& x) { return values(x.single()); }

size_t different(const Values& x) { return std::set<float>(x.begin(), x.end()).size(); }

// The sampling layer of a variational autoencoder.
class Noise : public Layer {
 public:
  std::string class_name() const override { return "Noise"; }
  Tensor call(const Tensor& x, const CallArgs&) override { return x + random::normal(x.shape()); }
};

// Counts the steps whose noise differs from that of the previous step.
class NoisySteps : public Model {
 public:
  NoisySteps() {
    last_ = add_weight({.shape = {}, .initializer = "zeros", .trainable = false, .name = "last"});
    changes_ =
        add_weight({.shape = {}, .initializer = "zeros", .trainable = false, .name = "changes"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return x; }
  NamedValues<Tensor> train_step(const Batch&) override {
    const Tensor noise = random::uniform({});
    changes_.assign(changes_ + ops::cast(ops::not_equal(noise, last_.value()), DType::Float32));
    last_.assign(noise);
    return {{"loss", noise}};
  }
  float changes() const { return changes_.value().item<float>(); }

 private:
  Variable last_;
  Variable changes_;
};

}  // namespace

TEST_CASE("a function draws anew at each call, and again the same after set_random_seed") {
  const Function f = function([](const Tensor& x) {
    return std::pair(x + random::uniform({3}), x + random::uniform({3}));
  });
  auto draw = [&] { return f.call({0.0f}); };
  set_random_seed(7);
  const auto first = draw();
  const auto second = draw();
  CHECK(different(values(first[0])) == 3);
  CHECK(values(first[0]) != values(first[1]));  // two ops
  CHECK(values(first[0]) != values(second[0]));
  set_random_seed(7);
  CHECK(values(draw()[0]) == values(first[0]));
  CHECK(values(draw()[1]) == values(second[1]));
  set_random_seed(8);
  CHECK(values(draw()[0]) != values(first[0]));
  CHECK(f.trace_count() == 1);
}

TEST_CASE("every random function draws anew in traced code") {
  const Tensor x = ops::reshape(ops::arange(40, DType::Float32), {40});
  const Tensor logits = ops::zeros({1, 1000});
  const std::vector<std::function<Tensor()>> bodies = {
      [] { return random::normal({4}); },
      [] { return random::truncated_normal({4}); },
      [] { return ops::cast(random::randint({4}, 0, 1 << 20), DType::Float32); },
      [] { return ops::cast(random::permutation(40), DType::Float32); },
      [&] { return random::shuffle(x); },
      [&] { return ops::cast(random::categorical(logits, 8), DType::Float32); },
      [&] { return random::dropout(x, 0.5); },
  };
  for (const auto& body : bodies) {
    const Function f = function([&] { return body(); });
    CHECK(values(f()) != values(f()));
  }
}

TEST_CASE("a seed that is given stays: the same numbers at each call") {
  const Function f = function([] { return random::normal({4}, {.seed = 3}); });
  CHECK(values(f()) == values(f()));
  CHECK(values(f()) == values(random::normal({4}, {.seed = 3})));
  const SeedSequence before = seed_sequence();
  f();
  CHECK(seed_sequence().drawn == before.drawn);
}

TEST_CASE("draws in branches and loops") {
  const Function branch = function([](const Tensor& predicate) {
    return ops::cond(
        predicate, [] { return random::uniform({2}); }, [] { return random::uniform({2}) + 10; });
  });
  const Values yes = values(branch(true));
  CHECK(yes[0] < 1);
  CHECK(values(branch(true)) != yes);
  const Values no = values(branch(false));
  CHECK(no[0] >= 10);
  CHECK(no[0] - 10 != doctest::Approx(yes[0]));

  // Row i of the result is drawn in iteration i; rows of the inner loop in its own iterations.
  auto rows = [](int64_t count, const std::function<Tensor()>& draw) {
    return ops::while_loop([=](const std::vector<Tensor>& v) { return v[0] < count; },
                           [=](const std::vector<Tensor>& v) {
                             const Tensor at = ops::one_hot(v[0], count);
                             return std::vector<Tensor>{v[0] + 1, v[1] + at * draw()};
                           },
                           {Tensor::scalar(int32_t{0}), ops::zeros({count})})[1];
  };
  const Function loops = function([&] {
    const Tensor nested =
        rows(4, [&] { return ops::sum(rows(3, [] { return random::uniform({}); })); });
    return std::tuple(rows(6, [] { return random::uniform({}); }),
                      rows(6, [] { return random::uniform({}); }), nested);
  });
  const auto first = loops.call({});
  for (const Tensor& drawn : first) CHECK(different(values(drawn)) == values(drawn).size());
  CHECK(values(first[0]) != values(first[1]));
  CHECK(values(loops.call({})[0]) != values(first[0]));

  const Function counted = function([] {
    return ops::while_loop(
        [](const std::vector<Tensor>& v) {
          return ops::logical_and(random::uniform({}) < 2, v[0] < 100);
        },
        [](const std::vector<Tensor>& v) {
          return std::vector<Tensor>{v[0] + random::uniform({})};
        },
        {Tensor::scalar(0.0f)}, 5)[0];
  });
  const float sum = counted().single().item<float>();
  CHECK(sum > 0);
  CHECK(sum < 5);
  CHECK(counted().single().item<float>() != sum);
}

TEST_CASE("a function called within another draws anew too") {
  const Function inner = function([](const Tensor& x) { return x + random::normal({3}); });
  const Function outer =
      function([&](const Tensor& x) { return std::pair(inner(x).single(), inner(x).single()); });
  const auto first = outer.call({1.0f});
  CHECK(values(first[0]) != values(first[1]));
  CHECK(values(outer.call({1.0f})[0]) != values(first[0]));
}

TEST_CASE("tracing and shape inference take nothing from the sequence of seeds") {
  set_random_seed(1);
  const Tensor x = Input({.shape = {3}});
  make_layer<Noise>()(x);
  const Function f = function([](const Tensor& y) { return y + random::normal({3}); });
  f.compiled({Tensor(1.0f)});
  CHECK(seed_sequence().drawn == 0);
  f(1.0f);
  CHECK(seed_sequence().drawn == 1);  // one key for all ops of a call
}

TEST_CASE("predict, evaluate and fit draw anew at each step; the same seed gives the same run") {
  auto run = [](uint64_t seed) {
    set_random_seed(seed);
    const Tensor input = Input({.shape = {3}});
    const Tensor latent = make_layer<Noise>()(layers::Dense({.units = 3})(input));
    Model model(input, layers::Dense({.units = 1})(latent));
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = ops::ones({4, 3});
    const Tensor y = ops::ones({4, 1});
    const Values first = values(model.predict(x, {.verbose = 0}));
    CHECK(different(first) == 4);  // rows differ only in their noise
    CHECK(values(model.predict(x, {.verbose = 0})) != first);
    const double loss = model.evaluate(x, y, {.verbose = 0})["loss"];
    CHECK(model.evaluate(x, y, {.verbose = 0})["loss"] != loss);
    auto history = model.fit(x, y, {.batch_size = 2, .epochs = 3, .verbose = 0, .shuffle = false});
    return std::pair(history["loss"], values(model.predict(x, {.verbose = 0})));
  };
  const auto first = run(5);
  CHECK(run(5) == first);
  CHECK(run(6) != first);
}

TEST_CASE("each step of an execution of several draws anew") {
  for (const int64_t steps : {1, 2, 4}) {
    NoisySteps model;
    model.compile({.optimizer = "sgd", .steps_per_execution = steps});
    model.fit(ops::ones({8, 1}), ops::ones({8, 1}), {.batch_size = 2, .epochs = 2, .verbose = 0});
    CHECK(model.changes() == 8);
  }
}

TEST_CASE("random ops of a functional model draw anew") {
  const Tensor x = Input({.shape = {50}});
  Model dropped(x, random::dropout(x, 0.5));
  const Tensor ones = ops::ones({2, 50});
  const Values first = values(dropped.predict_on_batch(ones));
  CHECK(different(first) == 2);  // 0 and 2
  CHECK(values(dropped.predict_on_batch(ones)) != first);
  CHECK(values(dropped(ones)) != values(dropped(ones)));  // eagerly
  set_random_seed(3);
  const Values again = values(dropped(ones));
  set_random_seed(3);
  CHECK(values(dropped(ones)) == again);
  CHECK(values(dropped.predict_on_batch(ops::ones({5, 50}))).size() == 250);

  Model seeded(x, random::dropout(x, 0.5, {.noise_shape = Shape{1, 50}, .seed = 4}));
  CHECK(values(seeded.predict_on_batch(ones)) == values(seeded.predict_on_batch(ones)));
  Model shuffled(x, random::shuffle(x, {.axis = 1}));
  const Tensor numbers = ops::reshape(ops::arange(50, DType::Float32), {1, 50});
  CHECK(values(shuffled.predict_on_batch(numbers)) != values(shuffled.predict_on_batch(numbers)));
  Model sampled(x, ops::cast(random::categorical(x, 9), DType::Float32));
  CHECK(values(sampled.predict_on_batch(numbers * 0)) !=
        values(sampled.predict_on_batch(numbers * 0)));
}

TEST_CASE("SeedGenerator: a sequence of keys that is state") {
  const random::SeedGenerator generator(1337);
  CHECK(generator.next().to_vector<uint32_t>() == std::vector<uint32_t>{1337, 0});
  CHECK(generator.next().to_vector<uint32_t>() == std::vector<uint32_t>{1337, 1});
  CHECK(generator.state().value().to_vector<uint32_t>() == std::vector<uint32_t>{1337, 2});
  const random::SeedGenerator copy = generator;
  copy.next();
  CHECK(generator.state().value().to_vector<uint32_t>()[1] == 3);

  auto draw = [&] { return values(random::normal({4}, {.seed = generator})); };
  const Tensor state = generator.state().value();
  const Values first = draw();
  CHECK(draw() != first);
  const Function f = function([&] { return random::normal({4}, {.seed = generator}); });
  generator.state().assign(state);
  CHECK(values(f()) == first);  // the same as eagerly
  CHECK(values(f()) != first);
  CHECK(generator.state().value().to_vector<uint32_t>()[1] == 5);

  set_random_seed(2);
  const Values unseeded = values(random::normal({4}, {.seed = random::SeedGenerator()}));
  CHECK(values(random::normal({4}, {.seed = random::SeedGenerator()})) != unseeded);
  set_random_seed(2);
  CHECK(values(random::normal({4}, {.seed = random::SeedGenerator()})) == unseeded);
}

TEST_CASE("a map draws anew for each element of each pass, wherever it is computed") {
  using data::Dataset;
  auto augmented = [](int64_t threads) {
    set_random_seed(11);
    return Dataset::range(12).map(
        [](const Tensor& x) { return ops::cast(x, DType::Float32) * 0 + random::uniform({}); },
        {.num_parallel_calls = threads});
  };
  auto all = [](const Dataset& dataset) {
    Values result;
    for (const auto& element : dataset) {
      const Values part = values(element.tensor(0));
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  };
  const Dataset dataset = augmented(1);
  const Values first = all(dataset);
  const Values second = all(dataset);
  CHECK(different(first) == 12);
  CHECK(first != second);
  CHECK(all(augmented(1)) == first);
  for (const Dataset& other : {augmented(4).prefetch(3), augmented(1).batch(5)}) {
    CHECK(all(other) == first);
  }
  CHECK(different(all(augmented(1).repeat(2))) == 24);

  // A restored position continues with the same numbers, even in a program with other seeds.
  const Dataset run = augmented(1);
  data::Iterator iterator = run.iterator();
  data::Element element;
  for (int i = 0; i < 5; ++i) iterator.next(element);
  const Json position = iterator.save();
  iterator.next(element);
  const Values expected = values(element.tensor(0));
  set_random_seed(99);
  const Dataset restored = Dataset::range(12).map(
      [](const Tensor& x) { return ops::cast(x, DType::Float32) * 0 + random::uniform({}); });
  data::Iterator later = restored.iterator();
  later.restore(position);
  later.next(element);
  CHECK(values(element.tensor(0)) == expected);

  // Also for signatures that are traced during iteration.
  auto batches = [] {
    set_random_seed(12);
    return Dataset::range(5).batch(2).map(
        [](const Tensor& x) { return ops::cast(x, DType::Float32) * 0 + random::uniform({}); });
  };
  const Values ragged = all(batches());
  CHECK(different(ragged) == 3);
  CHECK(all(batches().prefetch(2)) == ragged);
}

TEST_CASE("a generator's draw can't stand for those of all calls of a model") {
  const random::SeedGenerator generator(1);
  const Tensor x = Input({.shape = {4}});
  const std::string expected =
      ": got a SeedGenerator with a placeholder, where its next draw would stand for those of all "
      "calls. Draw within a layer's call, and track the generator there; or omit the seed, for new "
      "draws in each call.";
  CHECK(test::message_of<FailedPrecondition>(
            [&] { random::dropout(x, 0.5, {.seed = generator}); }) == "random_dropout" + expected);
  CHECK(test::message_of<FailedPrecondition>([&] {
          random::shuffle(x, {.axis = 1, .seed = generator});
        }) == "random_shuffle" + expected);
  CHECK(test::message_of<FailedPrecondition>([&] {
          random::categorical(x, 2, {.seed = generator});
        }) == "random_categorical" + expected);
}
