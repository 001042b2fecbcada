// SPDX-License-Identifier: Apache-2.0
// Attention compared with its formula.
#include <doctest/doctest.h>

#include "framework/model/input.h"
#include "framework/ops/attention_dropout.h"
#include "framework/ops/ops.h"
#include "tests/ops/op_harness.h"
#include "tests/support/plain_attention.h"

namespace cornu::testing {
namespace {

using Inputs = std::vector<Tensor>;
using test::PlainAttention;

constexpr int64_t kSeed = 7;

void check_attention(PlainAttention plain) {
  INFO("query " << plain.query_shape().to_string() << ", key " << plain.key_shape().to_string());
  Inputs inputs = {random_tensor(plain.query_shape(), -2, 2, 1),
                   random_tensor(plain.key_shape(), -2, 2, 2),
                   random_tensor(plain.value_shape(), -2, 2, 3)};
  plain.q = to_doubles(inputs[0]);
  plain.k = to_doubles(inputs[1]);
  plain.v = to_doubles(inputs[2]);
  Tensor mask;
  if (plain.mask_shape.rank() == 4) {
    mask = ops::not_equal(random_ints(plain.mask_shape, 0, 3, DType::Int32, 4), 0);
    plain.mask = to_doubles(mask);
  }
  if (plain.dropout > 0) {
    const Tensor u = ops::random_uniform(Seed(kSeed).key(), plain.scores_shape());
    plain.kept = to_doubles(ops::greater_equal(u, plain.dropout));
  }
  const bool biased = plain.bias_shape.rank() == 4;
  if (biased) {
    inputs.push_back(random_tensor(plain.bias_shape, -1, 1, 5));
    plain.bias = to_doubles(inputs[3]);
  }
  plain.compute();
  check_op(
      [&](const Inputs& in) {
        return ops::dot_product_attention(in[0], in[1], in[2],
                                          {.bias = biased ? in[3] : Tensor(),
                                           .mask = mask,
                                           .scale = plain.scale,
                                           .is_causal = plain.causal},
                                          {.rate = plain.dropout, .seed = kSeed});
      },
      inputs, plain.output_shape(), plain.y);
}

TEST_CASE("dot_product_attention: value, gradient, second-order gradient") {
  check_attention({.batch = 2,
                   .rows = 2,
                   .columns = 3,
                   .heads = 2,
                   .keys = 2,
                   .size = 2,
                   .width = 2,
                   .scale = 0.7});
  check_attention({.rows = 3,
                   .columns = 3,
                   .heads = 4,
                   .keys = 2,
                   .size = 1,
                   .width = 2,
                   .scale = 0.5,
                   .causal = true});
  check_attention({.rows = 2,
                   .columns = 4,
                   .heads = 2,
                   .keys = 1,
                   .size = 2,
                   .scale = 0.5,
                   .bias_shape = {1, 2, 2, 4},
                   .mask_shape = {1, 1, 2, 4}});
  check_attention({.batch = 2,
                   .rows = 2,
                   .columns = 3,
                   .heads = 2,
                   .keys = 2,
                   .size = 1,
                   .causal = true,
                   .bias_shape = {1, 1, 1, 3},
                   .mask_shape = {2, 1, 1, 1}});
}

TEST_CASE("dot_product_attention with dropout: value, gradient, second-order gradient") {
  check_attention({.batch = 2,
                   .rows = 3,
                   .columns = 4,
                   .heads = 2,
                   .keys = 2,
                   .size = 2,
                   .width = 2,
                   .scale = 0.7,
                   .dropout = 0.4});
  check_attention({.rows = 3,
                   .columns = 3,
                   .heads = 4,
                   .keys = 2,
                   .size = 1,
                   .width = 2,
                   .scale = 0.5,
                   .causal = true,
                   .dropout = 0.3});
  check_attention({.rows = 2,
                   .columns = 4,
                   .heads = 2,
                   .keys = 1,
                   .size = 2,
                   .scale = 0.5,
                   .bias_shape = {1, 2, 2, 4},
                   .mask_shape = {1, 1, 2, 4},
                   .dropout = 0.25});
  check_attention({.rows = 2, .columns = 3, .size = 2, .width = 2, .dropout = 1});
}

TEST_CASE("dot_product_attention drops what random::dropout drops of the scores") {
  const Tensor q = random_tensor({2, 5, 2, 4}), k = random_tensor({2, 7, 2, 4}, -2, 2, 2);
  const Tensor v = random_tensor({2, 7, 2, 3}, -2, 2, 3);
  const Tensor scores = ops::einsum("bthd,bshd->bhts", {q, k}) * 0.5;
  const Tensor p = random::dropout(ops::softmax(scores), 0.4, {.seed = 3});
  const Tensor y = ops::dot_product_attention(q, k, v, {}, {.rate = 0.4, .seed = 3});
  check_same(y, ops::einsum("bhts,bshd->bthd", {p, v}), 1e-12);
  // Without a seed, each call draws different numbers.
  const auto drawn = [&] { return ops::dot_product_attention(q, k, v, {}, {.rate = 0.4}); };
  CHECK(to_doubles(drawn()) != to_doubles(drawn()));
}

TEST_CASE("dot_product_attention: the scale, dtypes, biases and masks of fewer axes") {
  const Tensor q = random_tensor({1, 2, 2, 4}), k = random_tensor({1, 3, 2, 4}, -2, 2, 2);
  const Tensor v = random_tensor({1, 3, 2, 4}, -2, 2, 3);
  const Tensor y = ops::dot_product_attention(q, k, v);
  check_same(ops::dot_product_attention(q, k, v, {.scale = 0.5}), y);
  check_same(ops::dot_product_attention(q, k, v, {.bias = Tensor(3.0)}), y, 1e-12);
  check_same(ops::dot_product_attention(q, k, v, {.mask = ops::ones({3}, DType::Int32)}), y);
  const Tensor half = ops::cast(q, DType::Float16);
  const Tensor mixed = ops::dot_product_attention(half, ops::cast(k, DType::Float32), v);
  CHECK(mixed.dtype() == DType::Float64);
  CHECK(ops::dot_product_attention(half, half, half).dtype() == DType::Float16);
}

TEST_CASE("dot_product_attention: what doesn't fit") {
  const Tensor q = ops::zeros({2, 3, 4, 5}), k = ops::zeros({2, 6, 4, 5});
  const auto error = [&](const Tensor& query, const Tensor& key, const Tensor& value,
                         const ops::DotProductAttentionOptions& options = {}) {
    return message_of([&] { ops::dot_product_attention(query, key, value, options); });
  };
  CHECK(error(ops::zeros({2, 3, 4}), k, k) ==
        "dot_product_attention: expected query, key and value of shape (batch, length, heads, "
        "size), got (2, 3, 4), (2, 6, 4, 5) and (2, 6, 4, 5).");
  CHECK(error(q, ops::zeros({2, 6, 4, 7}), k) ==
        "dot_product_attention: expected query (batch, T, heads, size), key (batch, S, key heads, "
        "size) and value (batch, S, key heads, width), got (2, 3, 4, 5), (2, 6, 4, 7) and (2, 6, "
        "4, 5).");
  const Tensor three = ops::zeros({2, 6, 3, 5});
  CHECK(error(q, three, three) ==
        "dot_product_attention: expected a multiple of 3 heads, those of the key, got query (2, 3, "
        "4, 5).");
  CHECK(error(q, k, k, {.bias = ops::zeros({4, 3, 5})}) ==
        "dot_product_attention: expected a bias that broadcasts to (batch, heads, T, S) = (2, 4, "
        "3, 6), got (1, 4, 3, 5).");
  CHECK(error(q, k, k, {.mask = ops::zeros({1, 1, 1, 1, 6})}) ==
        "dot_product_attention: expected a mask of 4 axes or fewer, got (1, 1, 1, 1, 6).");
  CHECK(message_of([&] { ops::dot_product_attention(q, k, k, {}, {.rate = 1.5}); }) ==
        "dot_product_attention: expected a dropout in [0, 1], got 1.5.");
  const Tensor x = Input({.shape = {3, 4, 5}});
  CHECK(message_of<FailedPrecondition>(
            [&] { ops::dot_product_attention(x, x, x, {}, {.rate = 0.5}); }) ==
        "dot_product_attention: placeholders have no dropout. Call it within a layer's call.");
}

}  // namespace
}  // namespace cornu::testing
