// SPDX-License-Identifier: Apache-2.0
#include "tests/layers/picture_cases.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "data/dataset.h"
#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

namespace cornu::test {
namespace {

const CallArgs kInTraining = {.training = true};

void check_conformance(const PictureCase& item) {
  const Tensor images = (some_values({16, 4, 5, 3}) + 1) * (item.largest / 2);
  check_layer({.name = item.name,
               .make = [&] { return item.make({}, ""); },
               .inputs = {images},
               .output_shape = images.shape(),
               .differs_in_training = item.in_training,
               .random = item.random,
               .differentiable = item.differentiable});
}

void check_draws(const PictureCase& item) {
  const Tensor x = ops::tile(colors(1), {16, 1, 1, 1});
  const Tensor y = item.make(3, "")(x, kInTraining);
  CHECK(distance(item.make(3, "")(x, kInTraining), y) == 0);
  CHECK((distance(item.make(4, "")(x, kInTraining), y) > 0) == item.random);
  std::set<std::vector<float>> kinds;
  const Tensor floats = ops::cast(y, DType::Float32);
  for (int64_t i = 0; i < 16; ++i) kinds.insert(floats.rows(i, i + 1).to_vector<float>());
  CHECK(kinds.size() >= item.kinds);
}

void check_inputs(const PictureCase& item) {
  const Tensor y = item.make(5, "")(ops::cast(colors(1), DType::Float32), kInTraining);
  CHECK(y.dtype() == DType::Float32);
  const Tensor bytes = item.make(5, "")(colors(1), kInTraining);
  if (is_floating(bytes.dtype())) CHECK(distance(bytes, y) == 0);
  const Tensor x = ops::cast(colors(1), DType::Float32);
  CHECK(distance(item.make(5, "")(ops::squeeze(x, 0), kInTraining), ops::squeeze(y, 0)) == 0);
  const Tensor first = item.make(5, "channels_first")(ops::transpose(x, {0, 3, 1, 2}), kInTraining);
  CHECK(distance(ops::transpose(first, {0, 2, 3, 1}), y) == 0);
}

void check_map(const PictureCase& item) {
  const auto mapped = [&](int64_t calls) {
    set_random_seed(5);
    const LayerHandle layer = item.make({}, "");
    return data::Dataset::from_tensor_slices(colors(12))
        .map([layer](const Tensor& picture) { return Tensor(layer(picture)); },
             {.num_parallel_calls = calls});
  };
  const data::Dataset one = mapped(1), four = mapped(4);
  for (int pass = 0; pass < 2; ++pass) {
    data::Iterator a = one.iterator(), b = four.iterator();
    data::Element from_one, from_four;
    int64_t count = 0;
    while (a.next(from_one)) {
      REQUIRE(b.next(from_four));
      CHECK(distance(from_one.tensor(0), from_four.tensor(0)) == 0);
      ++count;
    }
    CHECK(count == 12);
  }
}

void check_model(const PictureCase& item) {
  const Tensor x = ops::cast(colors(8), DType::Float32);
  Sequential model({Input({.shape = {4, 5, 3}}), item.make(1, "")});
  CHECK((distance(model.predict(x, {.verbose = 0}), x) == 0) == item.in_training);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK(model.fit(x, x, {.epochs = 3, .verbose = 0})["loss"].at(0) > 0);
}

}  // namespace

Tensor colors(int64_t count) {
  const Tensor numbers = ops::arange(0, count * 60, 1, DType::Int32) * 97;
  return ops::reshape(ops::cast(ops::mod(numbers, 251), DType::UInt8), {count, 4, 5, 3});
}

void check_pictures(const PictureCase& item, bool conforms) {
  CAPTURE(item.name);
  if (conforms) check_conformance(item);
  check_draws(item);
  check_inputs(item);
  check_map(item);
  check_model(item);
}

}  // namespace cornu::test
