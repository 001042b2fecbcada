// SPDX-License-Identifier: Apache-2.0
// Layers that loop over time, in fit: compiled steps have one node per loop, and compute the same
// as eager ones.
#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"

using namespace cornu;

namespace {

using Inputs = std::vector<Tensor>;
using Lists = std::pair<Inputs, Inputs>;

// (batch, time, features) -> (batch, units): the last output of an LSTM. Counts its iterations.
class Recurrent : public Layer {
 public:
  explicit Recurrent(int64_t units) : units_(units) {}

  void build(const Shape& shape) override {
    w_ = add_weight({.shape = {shape.back(), 4 * units_}, .name = "w"});
    u_ = add_weight({.shape = {units_, 4 * units_}, .name = "u"});
    b_ = add_weight({.shape = {4 * units_}, .initializer = "zeros", .name = "b"});
    turns_ = add_weight({.shape = {}, .initializer = "zeros", .trainable = false, .name = "turns"});
  }

  Tensor call(const Tensor& x, const CallArgs& args) override {
    const Tensor zeros = ops::zeros({x.dim(0), units_});
    const auto turn = [&](const Inputs& carry, const Inputs& row) {
      const Tensor z = ops::matmul(row[0], w_) + ops::matmul(carry[0], u_) + b_;
      const Inputs parts = ops::split(z, 4, -1);
      const Tensor c = ops::sigmoid(parts[1]) * carry[1] + ops::sigmoid(parts[0]) * parts[2];
      if (args.training) turns_.assign(turns_ + 1);
      return Lists{{ops::sigmoid(parts[3]) * ops::tanh(c), c}, {}};
    };
    return ops::scan(turn, Inputs{zeros, zeros}, Inputs{ops::transpose(x, {1, 0, 2})}).first[0];
  }

 private:
  int64_t units_;
  Variable w_, u_, b_, turns_;
};

struct Trained {
  std::vector<double> losses;
  std::vector<Tensor> weights;
};

Trained trained(bool eagerly, int64_t batches) {
  set_random_seed(5);
  Sequential model({make_layer<Recurrent>(4), layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.05}),
                 .loss = "mse",
                 .run_eagerly = eagerly});
  const Tensor x = random::normal({8, 6, 3}, {.seed = 1});
  const Tensor y = ops::sum(x, {1, 2}, true);
  const History history =
      model.fit(x, ops::reshape(y, {8, 1}),
                {.batch_size = 8 / batches, .epochs = 12, .verbose = 0, .shuffle = false});
  return {history.at("loss"), model.get_weights()};
}

}  // namespace

TEST_CASE("a layer that scans, in fit: compiled as eagerly") {
  const Trained compiled = trained(false, 2);
  const Trained eager = trained(true, 2);
  CHECK(compiled.losses.back() < 0.8 * compiled.losses.front());
  for (size_t i = 0; i < compiled.losses.size(); ++i) {
    CHECK(compiled.losses[i] == doctest::Approx(eager.losses[i]).epsilon(1e-4));
  }
  REQUIRE(compiled.weights.size() == eager.weights.size());
  for (size_t w = 0; w < compiled.weights.size(); ++w) {
    CAPTURE(w);
    const Tensor difference = ops::max(ops::abs(compiled.weights[w] - eager.weights[w]));
    CHECK(difference.item<float>() < 1e-3F);
  }
  bool counted = false;
  for (const Tensor& weight : compiled.weights) {
    if (weight.rank() == 0) counted = weight.item<float>() == 12 * 2 * 6;
  }
  CHECK(counted);
}
