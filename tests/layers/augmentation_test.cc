// SPDX-License-Identifier: Apache-2.0
// Random layers, within models and within a dataset's map.
#include <doctest/doctest.h>

#include "data/dataset.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using data::Dataset;

namespace {

Tensor pictures(int64_t count) { return test::some_values({count, 6, 6, 2}); }

// All images of a pass.
Tensor all(const Dataset& dataset, int64_t from = 0, const Json* position = nullptr) {
  data::Iterator iterator = dataset.iterator();
  if (position) iterator.restore(*position);
  std::vector<Tensor> list;
  data::Element element;
  while (iterator.next(element)) list.push_back(element.tensor(0));
  return ops::stack(list).rows(from, static_cast<int64_t>(list.size()));
}

Dataset augmented(const Tensor& x, std::optional<int64_t> seed, int64_t calls = 1) {
  const layers::RandomFlip flip({.mode = "horizontal", .seed = seed});
  const layers::RandomRotation turn({.factor = 0.3, .seed = seed});
  const layers::Dropout drop({.rate = 0.2, .seed = seed});
  return Dataset::from_tensor_slices(x).map(
      [=](const Tensor& picture) { return Tensor(drop(turn(flip(picture)), {.training = true})); },
      {.num_parallel_calls = calls});
}

}  // namespace

TEST_CASE("in a map, each element of each pass is drawn for, on any number of threads") {
  const Tensor x = ops::tile(pictures(1), {12, 1, 1, 1});
  for (const std::optional<int64_t>& seed : {std::optional<int64_t>(), std::optional<int64_t>(7)}) {
    CAPTURE(seed.has_value());
    set_random_seed(5);
    const Dataset once = augmented(x, seed);
    const Tensor first = all(once);
    for (int64_t i = 1; i < 12; ++i) {
      CHECK(test::distance(first.rows(0, 1), first.rows(i, i + 1)) > 0);
    }
    const Tensor second = all(once);
    CHECK(test::distance(first, second) > 0);
    for (const int64_t calls : {1, 4}) {
      set_random_seed(5);
      const Dataset again = augmented(x, seed, calls);
      CHECK(test::distance(all(again), first) == 0);
      CHECK(test::distance(all(again), second) == 0);
    }
  }
}

TEST_CASE("in a map, a restored position goes on with the same draws") {
  const Tensor x = pictures(10);
  set_random_seed(5);
  const Dataset dataset = augmented(x, {}).batch(2);
  data::Iterator iterator = dataset.iterator();
  data::Element element;
  for (int i = 0; i < 2; ++i) REQUIRE(iterator.next(element));
  const Json position = iterator.save();
  std::vector<Tensor> rest;
  while (iterator.next(element)) rest.push_back(element.tensor(0));
  set_random_seed(99);  // simulates another run of the program
  const Tensor restored = all(augmented(x, {}).batch(2), 0, &position);
  CHECK(test::distance(restored, ops::stack(rest)) == 0);
}

TEST_CASE("in a map, layers of one seed draw alike, of a picture and its mask for example") {
  const Tensor x = pictures(16);
  const layers::RandomFlip flip({.seed = 3});
  const layers::RandomFlip same({.seed = 3});
  const layers::RandomFlip other({.seed = 4});
  const random::SeedGenerator generator(3);
  set_random_seed(1);
  const Dataset dataset = Dataset::from_tensor_slices(x).map([&](const Tensor& picture) {
    const Tensor number = random::uniform({}, {.seed = generator});
    return std::vector<Tensor>{flip(picture), same(picture), other(picture), number};
  });
  bool differ = false;
  for (const data::Element& element : dataset) {
    CHECK(test::distance(element.tensor(0), element.tensor(1)) == 0);
    differ = differ || test::distance(element.tensor(0), element.tensor(2)) > 0;
  }
  CHECK(differ);
  // Their own states don't change, so that calls elsewhere aren't affected.
  CHECK(flip.get().own_state()[0].stored().to_vector<uint32_t>() == std::vector<uint32_t>{3, 0});
  CHECK(generator.state().stored().to_vector<uint32_t>() == std::vector<uint32_t>{3, 0});
}

TEST_CASE("in a map, batches whose size varies") {
  const layers::RandomFlip flip({.mode = "vertical"});
  const Tensor x = pictures(5);
  int64_t rows = 0;
  for (const data::Element& element : Dataset::from_tensor_slices(x).batch(2).map(
           [&](const Tensor& batch) { return Tensor(flip(batch)); })) {
    rows += element.tensor(0).dim(0);
  }
  CHECK(rows == 5);
}

TEST_CASE("in a model, pictures are augmented in fit alone, and where nobody says") {
  const Tensor x = pictures(4);
  Sequential model({Input({.shape = {6, 6, 2}}), layers::RandomFlip({.seed = 3}),
                    layers::RandomRotation({.factor = 0.3})});
  CHECK(test::distance(model.predict(x, {.verbose = 0}), x) == 0);
  CHECK(test::distance(model(x, {.training = false}), x) == 0);
  CHECK(test::distance(model(x, {.training = true}), x) > 0);
  CHECK(test::distance(model(x), x) > 0);  // as in Keras
  model.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK(model.evaluate(x, x, {.verbose = 0}).at("loss") == 0);
  CHECK(model.fit(x, x, {.verbose = 0})["loss"].at(0) > 0);
}
