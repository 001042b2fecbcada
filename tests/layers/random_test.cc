// SPDX-License-Identifier: Apache-2.0
// Layers that use random numbers in training.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

const CallArgs kTraining = {.training = true};

Tensor ones(const Shape& shape) { return ops::ones(shape); }

double mean_of(const Tensor& x) { return ops::mean(x).item<double>(); }

}  // namespace

TEST_CASE("dropout zeroes its rate and keeps the mean") {
  const layers::Dropout dropout({.rate = 0.25, .seed = 3});
  const Tensor y = dropout(ones({200, 100}), kTraining);
  int64_t zeros = 0;
  for (const float value : y.data<float>()) {
    CHECK((value == 0.0f || value == doctest::Approx(1 / 0.75)));
    zeros += value == 0.0f;
  }
  // Five standard deviations of a binomial count.
  CHECK(std::abs(static_cast<double>(zeros) - 5000) < 5 * std::sqrt(20000 * 0.25 * 0.75));
  CHECK(mean_of(y) == doctest::Approx(1.0).epsilon(0.02));
}

TEST_CASE("the seed generator counts draws, as Keras's does") {
  const layers::Dropout dropout({.rate = 0.5, .seed = 1337});
  const auto& state = dropout.get().own_state();
  REQUIRE(state.size() == 1);
  CHECK(state[0].name() == "seed_generator_state");
  CHECK(state[0].stored().to_vector<uint32_t>() == std::vector<uint32_t>{1337, 0});
  CHECK(dropout.weights().empty());
  CHECK(dropout.get().variables().size() == 1);
  const Tensor x = ones({4, 4});
  dropout(x);  // inference draws nothing
  const Tensor first = dropout(x, kTraining);
  const Tensor second = dropout(x, kTraining);
  CHECK(state[0].stored().to_vector<uint32_t>() == std::vector<uint32_t>{1337, 2});
  CHECK(test::distance(first, second) > 0);
  state[0].store(Tensor::from<uint32_t>({1337, 0}));
  CHECK(test::distance(dropout(x, kTraining), first) == 0);
}

TEST_CASE("stochastic depth drops whole examples, without state or seed") {
  const layers::StochasticDepth depth({.drop_path_rate = 0.25});
  const Tensor x = ops::reshape(ops::arange(1, 4001, 1, DType::Float32), {2000, 2, 1});
  CHECK(test::distance(depth(x), x) == 0);
  CHECK(depth.get().variables().empty());
  const Function compiled =
      function([=](const Tensor& rows) { return Tensor(depth(rows, kTraining)); });
  for (const bool traced : {false, true}) {
    const Tensor y = traced ? compiled(x) : depth(x, kTraining);
    const Tensor part = y / x;
    int64_t dropped = 0;
    for (int64_t row = 0; row < x.dim(0); ++row) {
      const float first = part(row, 0, 0).item<float>();
      CHECK((first == 0.0f || first == doctest::Approx(1 / 0.75)));
      CHECK(part(row, 1, 0).item<float>() == doctest::Approx(first));
      dropped += first == 0.0f;
    }
    CHECK(std::abs(static_cast<double>(dropped) - 500) < 5 * std::sqrt(2000 * 0.25 * 0.75));
    CHECK(test::distance(traced ? compiled(x) : depth(x, kTraining), y) > 0);
  }
}

TEST_CASE("a layer that never draws has no state") {
  CHECK(layers::Dropout({.rate = 0}).get().own_state().empty());
  CHECK(layers::GaussianNoise({.stddev = 0}).get().own_state().empty());
  CHECK(layers::GaussianDropout({.rate = 0}).get().own_state().empty());
  CHECK(layers::SpatialDropout2D({.rate = 0}).get().own_state().empty());
}

TEST_CASE("seeds come from the sequence where none is given") {
  const Tensor x = ones({8, 8});
  auto draw = [&](uint64_t seed) {
    set_random_seed(seed);
    return Tensor(layers::Dropout({.rate = 0.5})(x, kTraining));
  };
  CHECK(test::distance(draw(1), draw(1)) == 0);
  CHECK(test::distance(draw(1), draw(2)) > 0);
}

TEST_CASE("everything is dropped at rate 1") {
  const Tensor y = layers::Dropout({.rate = 1})(test::some_values({3, 5}), kTraining);
  CHECK(test::distance(y, ops::zeros({3, 5})) == 0);
}

TEST_CASE("noise_shape and spatial dropout drop whole axes") {
  const layers::Dropout steps({.rate = 0.5, .noise_shape = {kUnknown, 1}, .seed = 1});
  const Tensor rows = steps(ones({50, 4}), kTraining);
  for (int64_t row = 0; row < 50; ++row) {
    const auto values = rows.rows(row, row + 1).to_vector<float>();
    CHECK(values == std::vector<float>(4, values[0]));
  }
  const layers::SpatialDropout2D channels({.rate = 0.5, .seed = 1});
  const Tensor images = channels(ones({3, 4, 4, 10}), kTraining);
  const Tensor lowest = ops::min(images, {1, 2});
  const Tensor highest = ops::max(images, {1, 2});
  CHECK(test::distance(lowest, highest) == 0);
  CHECK(ops::min(lowest).item<float>() == 0.0f);
  CHECK(ops::max(lowest).item<float>() == 2.0f);
}

TEST_CASE("gaussian layers have the moments they should") {
  const Tensor x = ops::full({200, 100}, 3.0f);
  const Tensor noisy = layers::GaussianNoise({.stddev = 0.5, .seed = 1})(x, kTraining);
  CHECK(mean_of(noisy) == doctest::Approx(3.0).epsilon(0.01));
  CHECK(ops::std(noisy).item<double>() == doctest::Approx(0.5).epsilon(0.02));
  const Tensor scaled = layers::GaussianDropout({.rate = 0.2, .seed = 1})(x, kTraining);
  CHECK(mean_of(scaled) == doctest::Approx(3.0).epsilon(0.02));
  CHECK(ops::std(scaled).item<double>() == doctest::Approx(3.0 * 0.5).epsilon(0.02));
}

TEST_CASE("alpha dropout keeps mean and variance") {
  const Tensor x = random::normal({300, 300}, {.seed = 2});
  for (const double rate : {0.1, 0.5}) {
    const Tensor y = layers::AlphaDropout({.rate = rate, .seed = 1})(x, kTraining);
    CHECK(std::abs(mean_of(y)) < 0.02);
    CHECK(ops::std(y).item<double>() == doctest::Approx(1.0).epsilon(0.02));
    // Dropped elements all have the same value, and their share is the rate.
    const double limit = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717;
    const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * limit * limit));
    const Tensor dropped = ops::abs(y - scale * limit * (1 - rate)) < 1e-5;
    CHECK(mean_of(ops::cast(dropped, DType::Float32)) == doctest::Approx(rate).epsilon(0.05));
  }
}

TEST_CASE("a compiled step draws anew each time") {
  const layers::Dropout dropout({.rate = 0.5, .seed = 5});
  const Function step = function([&](const Tensor& x) { return Tensor(dropout(x, kTraining)); });
  const Tensor x = ones({16, 16});
  const Tensor first = step(x);
  const Tensor second = step(x);
  CHECK(step.trace_count() == 1);
  CHECK(test::distance(first, second) > 0);
}
