// SPDX-License-Identifier: Apache-2.0
// Sampling from datasets with weights that come from a dataset.
#include <doctest/doctest.h>

#include <algorithm>

#include "data/serialization.h"
#include "framework/ops/ops.h"
#include "tests/data/support.h"

using namespace cornu;
using namespace cornu::testing;
using data::Dataset;
using Numbers = std::vector<int64_t>;

namespace {

// Vectors of two weights, one for each draw.
Dataset weights(const std::vector<float>& pairs) {
  return Dataset::from_tensor_slices(ops::reshape(Tensor::from(pairs), {-1, 2}));
}

std::vector<Dataset> both() { return {Dataset::range(100), Dataset::range(1000, 1100)}; }

Numbers sampled(const std::vector<Dataset>& datasets, const Dataset& by, bool stops = false) {
  return numbers(Dataset::sample_from_datasets(
      datasets, {.weights = by, .seed = 1, .stop_on_empty_dataset = stops}));
}

}  // namespace

TEST_CASE("each draw takes the next weights") {
  CHECK(sampled(both(), weights({1, 0, 0, 1, 0, 3, 0.5, 0})) == Numbers{0, 1000, 1001, 1});
  // Draws from datasets that have ended are skipped, as in tf.data, or end the result.
  const std::vector<Dataset> uneven = {Dataset::range(1), Dataset::range(10, 13)};
  const Dataset some = weights({1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1});
  CHECK(sampled(uneven, some) == Numbers{0, 10, 11, 12});
  CHECK(sampled(uneven, some, true) == Numbers{0, 10});
  const Dataset doubles =
      weights({0, 1, 1, 0}).map([](const Tensor& x) { return ops::cast(x, "float64"); });
  CHECK(sampled(both(), doubles) == Numbers{1000, 0});
}

TEST_CASE("draws follow weights that change") {
  const Dataset first = Dataset::from_tensors(Tensor::from({1.0f, 3.0f})).repeat(2000);
  const Dataset second = Dataset::from_tensors(Tensor::from({1.0f, 1.0f})).repeat(2000);
  const std::vector<Dataset> endless = {Dataset::from_tensors(Tensor::scalar(int64_t{0})).repeat(),
                                        Dataset::from_tensors(Tensor::scalar(int64_t{1})).repeat()};
  const Numbers drawn = sampled(endless, first.concatenate(second));
  REQUIRE(drawn.size() == 4000);
  const auto ones = [&](int64_t begin) {
    return std::count(drawn.begin() + begin, drawn.begin() + begin + 2000, 1);
  };
  CHECK(std::abs(ones(0) - 1500) < 80);
  CHECK(std::abs(ones(2000) - 1000) < 90);
  const auto by = [&](bool anew) {
    return Dataset::sample_from_datasets(
        endless, {.weights = second, .seed = 1, .rerandomize_each_iteration = anew});
  };
  const Dataset same = by(false);
  CHECK(numbers(same) == numbers(same));
  const Dataset other = by(true);
  CHECK(numbers(other) != numbers(other));
}

TEST_CASE("a draw by weights of a dataset is saved, restored and sent") {
  const auto make = [] {
    const Dataset shuffled = weights({1, 2, 2, 1, 5, 1, 1, 1}).repeat(30).shuffle(7, {.seed = 4});
    return Dataset::sample_from_datasets(
        {Dataset::range(20).shuffle(5, {.seed = 2}), Dataset::range(100, 140)},
        {.weights = shuffled, .seed = 6, .rerandomize_each_iteration = true});
  };
  const Dataset dataset = make();
  numbers(dataset);  // the second pass draws other numbers
  for (int64_t taken = 0; taken < 60; taken += 7) {
    CAPTURE(taken);
    auto iterator = dataset.iterator();
    numbers(iterator, taken);
    const Json saved = Json::parse(iterator.save().dump());
    const Numbers rest = numbers(iterator);
    for (const Dataset& other : {make(), data::deserialize(data::SerializedDataset::from_bytes(
                                             data::serialize(dataset).to_bytes()))}) {
      auto restored = other.iterator();
      restored.restore(saved);
      CHECK(numbers(restored) == rest);
    }
  }
}

TEST_CASE("weights of a dataset that can't be are refused") {
  const auto error_of = [](const Dataset& by) {
    return message_of<InvalidArgument>([&] { sampled(both(), by); });
  };
  CHECK(error_of(Dataset::range(3)) ==
        "sample_from_datasets: expected weights of float32 or float64 vectors with a number for "
        "each of 2 datasets, got int64 ().");
  CHECK(error_of(Dataset::from_tensors(Tensor::from({1.0f, 1.0f, 1.0f})))
            .find("for each of 2 datasets, got float32 (3,)") != std::string::npos);
  CHECK(error_of(weights({1, 1, 1, -1})) ==
        "sample_from_datasets: expected weights of at least 0, got -1 in element 1 of the "
        "weights.");
  CHECK(error_of(weights({0, 0})) ==
        "sample_from_datasets: expected a weight above 0 in element 0 of the weights, and a finite "
        "sum, got a sum of 0.");
}

TEST_CASE("a choice among datasets without end ends with what says what is chosen") {
  const Dataset endless = Dataset::counter();
  const Dataset few = Dataset::range(2);
  const auto cardinality = [&](const std::vector<Dataset>& datasets, const Dataset& choices,
                               bool stops) {
    return Dataset::choose_from_datasets(datasets, choices, {.stop_on_empty_dataset = stops})
        .cardinality();
  };
  CHECK(!cardinality({endless, few}, few, false));
  CHECK(!cardinality({endless, few}, few.repeat(), true));
  CHECK(cardinality({endless, few}, few.repeat(), false) == kInfiniteCardinality);
  CHECK(cardinality({endless, endless}, few.repeat(), true) == kInfiniteCardinality);
  CHECK(!Dataset::sample_from_datasets({endless, endless}, {.weights = weights({1, 1})})
             .cardinality());
}
