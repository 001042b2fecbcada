// SPDX-License-Identifier: Apache-2.0
// Batches divided by replica: their structure, what steps return, and saved positions.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/distribute/models.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using distribute::DistributedIterator;
using distribute::PerReplica;
using test::distance;
using test::error_of;
using test::floats;
using test::mirrored;

namespace {

std::vector<int64_t> ints(const Tensor& tensor) { return tensor.to_vector<int64_t>(); }

}  // namespace

TEST_CASE("a batch keeps the structure that the dataset's elements have") {
  const auto strategy = mirrored(2);
  const Tensor image = random::normal({4, 2}, {.seed = 1});
  const Tensor label = Tensor::from<int64_t>({0, 1, 2, 3});
  const Tensor weight = floats({1, 2, 3, 4});
  // One dictionary.
  const Function of_dictionary = function([](const Tensors& batch) {
    return Tensors{{"twice", batch["image"] * 2}, {"next", batch["label"] + 1}};
  });
  const auto dictionary = strategy.distribute_dataset(
      data::Dataset::from_tensor_slices(Tensors{{"image", image}, {"label", label}}).batch(4));
  for (const PerReplica& batch : dictionary) {
    CHECK(batch[1].names() == std::vector<std::string>{"image", "label"});
    CHECK(ints(batch.at("label")[1].single()) == std::vector<int64_t>{2, 3});
    const PerReplica results = strategy.run(of_dictionary, batch);
    CHECK(ints(results.at("next")[0].single()) == std::vector<int64_t>{1, 2});
    CHECK(ints(strategy.gather(results.at("next"))) == std::vector<int64_t>{1, 2, 3, 4});
    CHECK(distance(strategy.gather(results.at("twice")), image * 2) == 0);
    CHECK(strategy.reduce(ReduceOp::Sum, results.at(1), 0).item<int64_t>() == 10);
  }
  // A tuple of a dictionary and a tensor, and one with weights.
  const Function of_tuple = function([](const Tensors& x, const Tensor& y, const Tensor& w) {
    return std::tuple(ops::sum(x["image"] * x["image"], 1), y, w);
  });
  const auto tuple = strategy.distribute_dataset(
      data::Dataset::from_tensor_slices(
          data::Element{Tensors{{"image", image}, {"label", label}}, label, weight})
          .batch(4));
  for (const PerReplica& batch : tuple) {
    CHECK(batch.arguments(0).size() == 3);
    CHECK(batch.arguments(0)[0].names() == std::vector<std::string>{"image", "label"});
    CHECK(batch[0].size() == 4);  // all tensors of an element
    CHECK(ints(batch.at("label")[0].single()) == std::vector<int64_t>{0, 1});
    const PerReplica results = strategy.run(of_tuple, batch);
    CHECK(distance(strategy.gather(results.at(0)), ops::sum(image * image, 1)) == 0);
    CHECK(ints(strategy.gather(results.at(1))) == ints(label));
    CHECK(strategy.reduce(ReduceOp::Mean, results.at(2), 0).item<float>() == 2.5f);
  }
}

TEST_CASE("what isn't among a replica's tensors") {
  const PerReplica named({Tensors{{"loss", floats({1})}, {"accuracy", floats({2})}}});
  CHECK(named.at("loss")[0].item<float>() == 1);
  CHECK(named.at(1)[0].item<float>() == 2);
  CHECK(error_of([&] { named.at("los"); }) ==
        "NotFound: PerReplica: replica 0 has no tensor 'los'. Did you mean 'loss'? Known: "
        "loss, accuracy.");
  CHECK(error_of([&] { named.at(2); }) ==
        "OutOfRange: PerReplica: expected the place of one of 2 tensors that each replica has, got "
        "2.");
  CHECK(error_of([&] { named[1]; }) ==
        "OutOfRange: PerReplica: expected a replica in [0, 1), got 1.");
  const PerReplica unnamed({Tensors({floats({1}), floats({2})})});
  CHECK(error_of([&] { unnamed.at("loss"); }) ==
        "NotFound: PerReplica: replica 0 has no tensor 'loss'. Its tensors have no names: take "
        "them by their places.");
  const Function two = function([](const Tensors& x, const Tensor&) { return x["a"]; });
  CHECK(error_of([&] { two(floats({1})); }) ==
        "InvalidArgument: function: expected 2 arguments, tensors or structures of them, got 1.");
  const Function plain = function([](const Tensor& x) { return x; });
  CHECK(error_of([&] {
          plain(Tensors{{"a", floats({3})}, {"b", floats({4})}});
        }) ==
        "InvalidArgument: function: expected 1 argument, got 2, by the names a, b. It takes plain "
        "tensors; to take them by name, let its parameter be const Tensors& batch, and read "
        "batch[\"a\"].");
  CHECK(two(Tensors{{"a", floats({3})}, {"b", floats({4})}}, floats({1})).item<float>() == 3);
}

// A loop that is stopped halfway and continues from a checkpoint produces the same bits as an
// uninterrupted one.
TEST_CASE("the position in a distributed dataset is saved and restored") {
  const test::Scratch folder;
  for (const bool divided : {false, true}) {
    CAPTURE(divided);
    const Tensor x = random::normal({22, 3}, {.seed = 1});
    // Trains until `last` batches have been seen in total, saves, and returns the values of the
    // weights.
    auto train = [&](const std::optional<std::string>& from, int last) {
      const auto strategy = mirrored(2);
      const auto scope = strategy.scope();
      auto dataset = [&](int64_t batch) {
        return data::Dataset::from_tensor_slices(x).shuffle(22, {.seed = 5}).batch(batch);
      };
      const auto batches = divided ? strategy.distribute_datasets_from_function(
                                         [&](const distribute::InputContext& context) {
                                           return dataset(context.get_per_replica_batch_size(4));
                                         })
                                   : strategy.distribute_dataset(dataset(4));
      DistributedIterator iterator = batches.iterator();
      const Variable w(ops::ones({3}), {.name = "w"});
      const Variable steps(Tensor::scalar(int64_t{0}), {.name = "steps", .trainable = false});
      const optimizers::Adam optimizer({.learning_rate = 0.1});
      optimizer.build({w});
      const Function step = function([&](const Tensor& rows) {
        GradientTape tape;
        const Tensor noise = random::normal(rows.shape());
        const Tensor loss = distribute::compute_average_loss(
            ops::sum(ops::square(rows * w + noise), 1), {.global_batch_size = 4});
        optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
      });
      const Checkpoint checkpoint(
          {{"w", w}, {"steps", steps}, {"optimizer", optimizer}, {"iterator", iterator}});
      set_random_seed(11);
      checkpoint.restore(from);
      PerReplica batch;
      while (steps.item<int64_t>() < last && iterator.next(batch)) {
        strategy.run(step, batch);
        steps.assign_add(1);
      }
      checkpoint.write(folder.path("state"));
      return w.value();
    };
    const Tensor expected = train({}, 100);
    for (const int killed : {0, 2, 6}) {
      CAPTURE(killed);
      train({}, killed);
      CHECK(distance(train(folder.path("state"), 100), expected) == 0);
    }
  }
  const auto whole = mirrored(2).distribute_dataset(data::Dataset::range(8).batch(4));
  const auto parts = mirrored(2).distribute_datasets_from_function(
      [](const distribute::InputContext&) { return data::Dataset::range(8).batch(2); });
  DistributedIterator other = parts.iterator();
  CHECK(error_of([&] { other.restore(whole.iterator().save()); }) ==
        "FailedPrecondition: DistributedDataset: the position was saved among global batches, but "
        "here it is among batches of 2 replicas. Start from the beginning, or distribute the "
        "dataset as it was.");
  for (const Json& damaged :
       {Json(), Json(3), Json::object(), Json::object({{"replicas", 2}}),
        Json::object({{"source", other.save().at("source")}, {"replicas", "two"}}),
        Json::object({{"source", other.save().at("source")}, {"replicas", -1}}),
        Json::object({{"source", other.save().at("source")}, {"replicas", 2}, {"workers", 0}})}) {
    CAPTURE(damaged.dump());
    CHECK_THROWS_AS(parts.iterator().restore(damaged), DataLoss);
    CHECK_THROWS_AS(whole.iterator().restore(damaged), DataLoss);
  }
  const Json without_place = Json::object({{"source", nullptr}, {"replicas", 2}});
  CHECK_THROWS_AS(parts.iterator().restore(without_place), DataLoss);
  CHECK(error_of([&] {
          whole.iterator().restore(Json::object({{"replicas", 0}}));
        }) ==
        "DataLoss: DistributedDataset: expected a position, which an iterator's save() gives (an "
        "object of source and replicas), got {\"replicas\": 0}.");
  auto cursor = whole.begin();
  while (cursor != whole.end()) ++cursor;
  CHECK(error_of([&] { ++cursor; }) ==
        "OutOfRange: DistributedDataset: an iterator at the end was moved on. Compare it with "
        "end().");
}

namespace {

Sequential small_model() {
  Sequential model({Input({.shape = {3}, .dtype = DType::Float64}),
                    layers::Dense({.units = 1,
                                   .kernel_initializer = initializers::GlorotUniform({.seed = 2}),
                                   .dtype = "float64"})});
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  return model;
}

}  // namespace

TEST_CASE("a model takes a distributed dataset as it takes the dataset") {
  const Tensor x = random::normal({11, 3}, {.dtype = DType::Float64, .seed = 1});
  const Tensor y = ops::sum(x, 1, true);
  const auto dataset = [&](int64_t batch) {
    return data::Dataset::from_tensor_slices({x, y}).batch(batch);
  };
  const auto trained = [&](const auto& batches) {
    Sequential model = small_model();
    const History history =
        model.fit(batches, {.epochs = 2, .verbose = 0, .validation_data = batches});
    std::vector<double> figures = history["loss"];
    figures.push_back(history["val_loss"].back());
    figures.push_back(model.evaluate(batches, {.verbose = 0}).at("loss"));
    for (const double number :
         model.predict(batches, {.verbose = 0}).single().template to_vector<double>()) {
      figures.push_back(number);
    }
    return figures;
  };
  const std::vector<double> expected = trained(dataset(4));
  CHECK(expected.size() == 15);
  for (const int replicas : {1, 2}) {
    const auto strategy = mirrored(replicas);
    const auto scope = strategy.scope();
    const auto parts =
        strategy.distribute_datasets_from_function([&](const distribute::InputContext& context) {
          return dataset(context.get_per_replica_batch_size(4));
        });
    for (const auto& batches : {strategy.distribute_dataset(dataset(4)), parts}) {
      const std::vector<double> got = trained(batches);
      REQUIRE(got.size() == expected.size());
      for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-6);
    }
  }
  const auto foreign = mirrored(2).distribute_dataset(dataset(4));
  CHECK(error_of([&] { small_model().fit(foreign, {.verbose = 0}); })
            .find("DistributedDataset was distributed by strategy 'MirroredStrategy', but the "
                  "model that goes through it is of no strategy. Make and compile the model in "
                  "that strategy's scope, or give it the dataset itself.") != std::string::npos);
}
