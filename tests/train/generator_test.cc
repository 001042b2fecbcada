// SPDX-License-Identifier: Apache-2.0
// How fit, evaluate and predict use generators.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "framework/train/generator_source.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;
using Pair = std::pair<Tensor, Tensor>;
using Numbers = std::vector<float>;

namespace {

// Batch `index` has index + 1 rows, which are numbered consecutively.
Tensor rows(int64_t index) {
  Tensor x = Tensor::empty({index + 1, 1}, DType::Float32);
  const int64_t first = index * (index + 1) / 2;
  for (int64_t i = 0; i <= index; ++i) x.mutable_data<float>()[i] = static_cast<float>(first + i);
  return x;
}

// `count` batches (x, 2x), or infinitely many if -1.
auto pairs(int64_t count) {
  return [count, i = int64_t{0}]() mutable -> std::optional<Pair> {
    if (i == count) return std::nullopt;
    const Tensor x = rows(i++);
    return Pair{x, x * 2.0F};
  };
}

Numbers numbers(const std::shared_ptr<BatchSource>& source) {
  Numbers all;
  const auto iterator = source->iterate();
  for (Batch batch; iterator->next(batch);) {
    for (const float value : batch.x.single().to_vector<float>()) all.push_back(value);
    all.push_back(-1);  // the end of a batch
  }
  return all;
}

Sequential linear() {
  Sequential model({layers::Dense({.units = 1, .kernel_initializer = "ones"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.001}), .loss = "mse"});
  return model;
}

// Records the steps of each epoch: the number reported to callbacks, and the number taken.
class Steps : public Callback {
 public:
  void on_epoch_begin(int64_t, const Logs&) override {
    told.push_back(params().steps.value_or(-1));
    taken.push_back(0);
  }
  void on_train_batch_end(int64_t, const Logs&) override { ++taken.back(); }
  std::vector<int64_t> told;
  std::vector<int64_t> taken;
};

}  // namespace

TEST_CASE("a generator trains as arrays of the same batches do") {
  const auto trained = [](const auto& data, const FitOptions& options) {
    Sequential model = linear();
    const History history = model.fit(data, options);
    return std::pair(history.at("loss"), model.get_weights()[0].to_vector<float>());
  };
  const auto dataset = data::Dataset::from_generator(
      [] {
        return [i = int64_t{0}]() mutable -> std::optional<data::Element> {
          if (i == 4) return std::nullopt;
          const Tensor x = rows(i++);
          return data::Element{x, x * 2.0F};
        };
      },
      {.output_signature = data::ElementSpec{
           {{DType::Float32, Shape{kUnknown, 1}}, {DType::Float32, Shape{kUnknown, 1}}}, {}}});
  const FitOptions options = {.epochs = 3, .verbose = 0};
  CHECK(trained(pairs(4), options) == trained(dataset, options));
  const auto of_passes = [] { return pairs(4); };
  CHECK(trained(of_passes, options) == trained(dataset, options));
  const FitOptions stepwise = {.epochs = 3, .verbose = 0, .steps_per_epoch = 3};
  CHECK(trained(pairs(-1), stepwise) == trained(pairs(9), stepwise));
}

TEST_CASE("what a generator may give") {
  const Tensor x = rows(2);
  const auto once = [](auto parts) {
    return [parts, given = false]() mutable {
      return std::exchange(given, true) ? std::nullopt : std::optional(parts);
    };
  };
  const auto only = [](const auto& generator) {
    Batch batch;
    const auto iterator = generator_source(generator)->iterate();
    REQUIRE(iterator->next(batch));
    CHECK_FALSE(iterator->next(batch));
    CHECK_FALSE(iterator->next(batch));
    return std::tuple(batch.x.size(), batch.y.size(), batch.sample_weight.size());
  };
  using Sizes = std::tuple<size_t, size_t, size_t>;
  CHECK(only(once(x)) == Sizes{1, 0, 0});
  CHECK(only(once(Tensors{x, x})) == Sizes{2, 0, 0});
  CHECK(only(once(std::vector<Tensor>{x, x})) == Sizes{2, 0, 0});
  CHECK(only(once(Pair{x, x})) == Sizes{1, 1, 0});
  CHECK(only(once(std::pair(Tensors{{"a", x}, {"b", x}}, x))) == Sizes{2, 1, 0});
  CHECK(only(once(std::tuple(x, x, x))) == Sizes{1, 1, 1});
  CHECK(only(once(Batch{x, {}, x})) == Sizes{1, 0, 1});
  CHECK(only(once(data::Element{x, x})) == Sizes{1, 1, 0});
  CHECK(only(once(data::Element{{{"a", x}, {"b", x}}, x, x})) == Sizes{2, 1, 1});
  CHECK(message_of<InvalidArgument>([&] {
          only(once(data::Element{x, x, x, x}));
        }) ==
        "generator, batch 0: generator: training takes x, (x, y) or (x, y, sample_weight), got 4 "
        "components.");
  CHECK(message_of<InvalidArgument>([&] {
          only(once(Batch{{}, x, {}}));
        }) == "generator: expected a batch with data for the model, got batch 0 without x.");
}

TEST_CASE("fit learns a generator's length in the first epoch") {
  const auto steps = std::make_shared<Steps>();
  linear().fit(pairs(5), {.epochs = 3, .verbose = 0, .callbacks = {CallbackHandle(steps)}});
  CHECK(steps->told == std::vector<int64_t>{-1, 5, 5});
  CHECK(steps->taken == std::vector<int64_t>{5, 5, 5});
}

TEST_CASE("a generator goes on over epochs of counted steps, and begins anew at its end") {
  const auto steps = std::make_shared<Steps>();
  linear().fit(
      pairs(4),
      {.epochs = 2, .verbose = 0, .callbacks = {CallbackHandle(steps)}, .steps_per_epoch = 2});
  CHECK(steps->taken == std::vector<int64_t>{2, 2});
}

TEST_CASE("a function that begins passes keeps what it changes in itself") {
  const auto source = generator_source([pass = int64_t{0}]() mutable {
    return [number = pass++, given = false]() mutable {
      return std::exchange(given, true) ? std::nullopt : std::optional(rows(number));
    };
  });
  CHECK(numbers(source) == Numbers{0, -1});
  CHECK(numbers(source) == Numbers{1, 2, -1});
  CHECK(numbers(source->shard(1, 0)) == Numbers{3, 4, 5, -1});
}

TEST_CASE("generators validate, evaluate and predict") {
  Sequential model = linear();
  const History history =
      model.fit(pairs(3), {.epochs = 2, .verbose = 0, .validation_data = pairs(2)});
  CHECK(history.at("val_loss").size() == 2);
  CHECK(model.evaluate(pairs(2), {.verbose = 0}).at("loss") ==
        doctest::Approx(history.at("val_loss").back()));
  const auto inputs = [i = int64_t{0}]() mutable -> std::optional<Tensor> {
    return i == 3 ? std::nullopt : std::optional(rows(i++));
  };
  CHECK(model.predict(inputs, {.verbose = 0}).single().shape() == Shape{6, 1});
  CHECK(model.predict(inputs, {.verbose = 0, .steps = 2}).single().shape() == Shape{3, 1});
}

TEST_CASE("errors of a generator leave fit") {
  const auto broken = [i = 0]() mutable -> std::optional<Pair> {
    if (i == 2) raise<NotFound>("no such file");
    ++i;
    return Pair{rows(i), rows(i)};
  };
  CHECK(message_of<NotFound>([&] { linear().fit(broken, {.verbose = 0}); }) ==
        "generator, batch 2: no such file");
  const auto foreign = []() -> std::optional<Pair> { throw std::runtime_error("a plug"); };
  CHECK(message_of<InvalidArgument>([&] { linear().fit(foreign, {.verbose = 0}); }) ==
        "generator, batch 0: a plug");
  const std::function<std::optional<Pair>()> none;
  CHECK(message_of<InvalidArgument>([&] {
          linear().fit(none, {.verbose = 0});
        }).find("generator, batch 0: ") == 0);
  CHECK_THROWS_AS(linear().fit(pairs(0), {.verbose = 0}), InvalidArgument);
}

TEST_CASE("positions in a generator's batches, and workers' parts of them") {
  const auto source = generator_source(pairs(5));
  CHECK(source->cardinality() == std::nullopt);
  for (int64_t stop = 0; stop <= 5; ++stop) {
    const auto iterator = source->iterate();
    Batch batch;
    for (int64_t i = 0; i < stop; ++i) REQUIRE(iterator->next(batch));
    const auto restored = generator_source(pairs(5))->iterate();
    restored->restore(Json::parse(iterator->save().dump()));
    for (Batch other; iterator->next(batch);) {
      REQUIRE(restored->next(other));
      CHECK(other.x.single().to_vector<float>() == batch.x.single().to_vector<float>());
    }
    CHECK_FALSE(restored->next(batch));
  }
  const Json late = [&] {
    const auto iterator = source->iterate();
    Batch batch;
    while (iterator->next(batch)) {
    }
    return iterator->save();
  }();
  CHECK_THROWS_AS(generator_source(pairs(3))->iterate()->restore(late), FailedPrecondition);
  CHECK(numbers(source->shard(2, 0)) == Numbers{0, -1, 3, 4, 5, -1, 10, 11, 12, 13, 14, -1});
  CHECK(numbers(source->shard(2, 1)) == Numbers{1, 2, -1, 6, 7, 8, 9, -1, -1});
  CHECK(numbers(source->divide(2)->shard(2, 1)) == Numbers{-1, 2, -1, 5, -1, 8, 9, -1, 13, 14, -1});
  CHECK(numbers(source->shard(1, 0)) == numbers(source));
  CHECK_THROWS_AS(source->shard(2, 2), InvalidArgument);
  CHECK_THROWS_AS(source->divide(0), InvalidArgument);
}
