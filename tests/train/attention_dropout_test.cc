// SPDX-License-Identifier: Apache-2.0
// Training steps of models with attention dropout: the memory they use, and the random numbers of
// replicas.
#include <doctest/doctest.h>

#include <cornu/cornu.h>

#include <algorithm>

#include "tests/support/layer_conformance.h"

using namespace cornu;

namespace {

constexpr int64_t kBatch = 8, kLength = 64, kHeads = 4;

Model attending(double dropout) {
  clear_session();
  set_random_seed(3);
  const Tensor x = Input({.shape = {kLength, 4}});
  const Tensor y = layers::MultiHeadAttention(
      {.num_heads = kHeads, .key_dim = 2, .dropout = dropout, .seed = 5})({x, x});
  return Model(x, layers::Dense({.units = 1})(y));
}

const Tensor& inputs() {
  static const Tensor x = test::some_values({kBatch, kLength, 4}, 1);
  return x;
}
const Tensor& targets() {
  static const Tensor y = test::some_values({kBatch, kLength, 1}, 2);
  return y;
}

// Returns the trained weights of the attention model.
Tensor trained(size_t replicas, bool shares_evenly) {
  std::vector<std::string> devices;
  for (size_t i = 0; i < replicas; ++i) devices.push_back(fmt::format("CPU:{}", i));
  const distribute::MirroredStrategy strategy({.devices = devices});
  const auto scope = strategy.scope();
  Model model = attending(0.4);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.5}), .loss = "mse"});
  model.fit(inputs(), targets(),
            {.batch_size = shares_evenly ? 4 : 5, .epochs = 3, .verbose = 0, .shuffle = false});
  std::vector<Tensor> all;
  for (const Tensor& weight : model.get_weights()) all.push_back(ops::ravel(weight));
  return ops::concatenate(all, 0);
}

}  // namespace

TEST_CASE("a step of attention that drops makes no scores but those of blocks") {
  Model model = attending(0.4);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Profile profile = model.profile(inputs(), targets(), {.runs = 1});
  const auto has = [&](const char* op) {
    return std::ranges::count(profile.instructions, op, &ProfiledInstruction::op);
  };
  CHECK(has("attention") == 1);
  CHECK(has("attention_grad") == 1);
  CHECK(has("random_mask") == 1);
  constexpr int64_t kScores = kBatch * kHeads * kLength * kLength;
  for (const ProfiledInstruction& instruction : profile.instructions) {
    CAPTURE(instruction.op);
    CHECK(instruction.bytes < 3 * kScores);  // a byte per score, plus operands
  }
}

TEST_CASE("replicas of attention drop what one device drops") {
  for (const bool shares_evenly : {true, false}) {
    const Tensor expected = trained(1, shares_evenly);
    CHECK(test::distance(trained(2, shares_evenly), expected) < 2e-6);
    CHECK(test::distance(trained(3, shares_evenly), expected) < 2e-6);
  }
}
