// SPDX-License-Identifier: Apache-2.0
// Attention heads with dropout inside the op, compared with heads that hold all scores and draw the
// same random numbers.
#include <doctest/doctest.h>

#include <functional>

#include "framework/autodiff/gradient_tape.h"
#include "framework/core/random.h"
#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::some_values;

namespace {

const Tensor kQuery = some_values({2, 6, 4}, 1);
const Tensor kValue = some_values({2, 9, 4}, 2);

using Maker = std::function<LayerHandle()>;

LayerHandle multi_head() {
  return layers::MultiHeadAttention(
      {.num_heads = 2, .key_dim = 3, .value_dim = 5, .dropout = 0.3, .seed = 5});
}
LayerHandle windowed() {
  return layers::MultiHeadAttention(
      {.num_heads = 2, .key_dim = 3, .dropout = 0.3, .sliding_window = 3, .seed = 5});
}
LayerHandle grouped() {
  return layers::GroupQueryAttention(
      {.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2, .dropout = 0.3, .seed = 5});
}
LayerHandle dropping_all() {
  return layers::MultiHeadAttention({.num_heads = 2, .key_dim = 3, .dropout = 1, .seed = 5});
}

// The outputs of the first and second calls in training, and the gradients of the second one's
// inputs and weights.
std::vector<Tensor> results(const Maker& make, const std::optional<Tensor>& mask, bool causal,
                            bool scored) {
  set_random_seed(3);
  const LayerHandle heads = make();
  Json settings = Json::object({{"return_attention_scores", scored}, {"use_causal_mask", causal}});
  Tensors inputs = {{"query", kQuery}, {"value", kValue}};
  if (mask) inputs = {{"query", kQuery}, {"value", kValue}, {"attention_mask", *mask}};
  const auto call = [&] { return heads(inputs, {.training = true, .settings = settings}); };
  const Tensor first = call()[0];
  GradientTape tape({.persistent = true});
  tape.watch(kQuery);
  tape.watch(kValue);
  const Tensor y = call()[0];
  CHECK(distance(first, y) >= 0);  // no NaN
  const Tensor loss = ops::sum(ops::square(y + 0.5));
  std::vector<Tensor> found = tape.gradient(loss, {kQuery, kValue});
  for (const Tensor& gradient : tape.gradient(loss, heads.trainable_variables())) {
    if (gradient.defined()) found.push_back(gradient);
  }
  found.push_back(first);
  found.push_back(y);
  return found;
}

void check_like_all_scores(const Maker& make, const std::optional<Tensor>& mask, bool causal) {
  const std::vector<Tensor> expected = results(make, mask, causal, true);
  const std::vector<Tensor> found = results(make, mask, causal, false);
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(distance(found[i], expected[i]) < 2e-5);
  }
}

}  // namespace

TEST_CASE("heads with dropout are those that hold all scores, and so are their gradients") {
  // The second query doesn't attend to anything.
  const Tensor mask = ops::cast(ops::arange(54) % 3 != 0, DType::Float32);
  const Tensor seen = ops::cast(ops::reshape(mask, {1, 6, 9}), DType::Bool) &
                      (ops::reshape(ops::arange(6), {1, 6, 1}) != 1);
  for (const Maker& make : {Maker(multi_head), Maker(grouped), Maker(dropping_all)}) {
    for (const bool causal : {false, true}) {
      CAPTURE(causal);
      check_like_all_scores(make, std::nullopt, causal);
      check_like_all_scores(make, seen, causal);
    }
  }
  check_like_all_scores(windowed, std::nullopt, false);
}

TEST_CASE("heads with dropout drop in training alone, anew with each call, compiled too") {
  const LayerHandle heads = multi_head();
  const auto call = [&](bool training) {
    return Tensor(heads({kQuery, kValue}, {.training = training}));
  };
  const Tensor plain = call(false);
  CHECK(distance(call(false), plain) == 0);
  CHECK(distance(call(true), plain) > 1e-3);
  CHECK(distance(call(true), call(true)) > 1e-3);
  const auto drawn = [](bool compiled) {
    set_random_seed(3);
    const LayerHandle fresh = multi_head();
    fresh({kQuery, kValue});
    const Function traced = function([&](const std::vector<Tensor>& in) {
      return Tensors(fresh({in[0], in[1]}, {.training = true})).list();
    });
    std::vector<Tensor> results;
    for (int i = 0; i < 3; ++i) {
      results.push_back(compiled ? traced.call({kQuery, kValue})[0]
                                 : Tensor(fresh({kQuery, kValue}, {.training = true})));
    }
    return ops::stack(results);
  };
  CHECK(distance(drawn(true), drawn(false)) < 1e-6);
}

TEST_CASE("heads with dropout and scores that are returned draw one key a call") {
  const auto states = [](bool scored) {
    const LayerHandle heads = multi_head();
    const Json settings = Json::object({{"return_attention_scores", scored}});
    for (int i = 0; i < 3; ++i) heads({kQuery, kValue}, {.training = true, .settings = settings});
    return heads.get().non_trainable_variables().back().value().to_vector<uint32_t>();
  };
  CHECK(states(false) == std::vector<uint32_t>{5, 3});
  CHECK(states(true) == states(false));
}
