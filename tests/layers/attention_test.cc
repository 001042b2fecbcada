// SPDX-License-Identifier: Apache-2.0
// Attention beyond golden values and conformance: masks attached to tensors, errors.
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

const Tensor kQuery = some_values({2, 3, 4}, 1);
const Tensor kValue = some_values({2, 5, 4}, 2);
const Tensor kMask = Tensor::from<int32_t>({1, 1, 0, 1, 0, 1, 0, 0, 0, 1}, {2, 5});

Json setting(const char* name) { return Json::object({{name, true}}); }

}  // namespace

TEST_CASE("a mask that rides on the value is one that is given, compiled too") {
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  const Tensor mask = ops::cast(kMask, DType::Bool);
  const Tensor expected = heads({{"query", kQuery}, {"value", kValue}, {"value_mask", mask}});
  CHECK(distance(heads({kQuery, kValue.with_mask(mask)}), expected) < 1e-6);
  const Function traced = function([&](const std::vector<Tensor>& in) {
    return heads({in[0], in[1].with_mask(ops::cast(in[2], DType::Bool))}).list();
  });
  CHECK(distance(traced.call({kQuery, kValue, kMask})[0], expected) < 1e-6);
  CHECK(distance(heads({kQuery, kValue}), expected) > 1e-4);
}

TEST_CASE("shapes of arguments that are given in order") {
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3, .name = "m"});
  const std::pair<DType, Shape> query = {DType::Float32, {kUnknown, 3, 4}};
  const std::pair<DType, Shape> value = {DType::Float32, {kUnknown, 5, 4}};
  CHECK(error_of([&] {
          heads.compute_output_shape({2, 3, 4});
        }) == "InvalidArgument: MultiHeadAttention 'm': expected a query and a value.");
  CHECK(heads.get().compute_output_types({query, value}) == std::vector{query});
  CHECK(heads.built());
  const layers::LSTM lstm({.units = 6});
  CHECK(lstm.compute_output_shape({2, 5, 4}) == Shape({2, 6}));
}

TEST_CASE("what is hidden changes nothing") {
  const layers::GroupQueryAttention heads(
      {.head_dim = 3, .num_query_heads = 2, .num_key_value_heads = 1});
  const CallOptions causal{.settings = setting("use_causal_mask")};
  const Tensor y = heads({kValue, kValue}, causal);
  const Tensor changed =
      ops::concatenate({kValue(Slice(), Slice(0, 3)), some_values({2, 2, 4}, 9)}, 1);
  const Tensor other = heads({changed, changed}, causal);
  CHECK(distance(y(Slice(), Slice(0, 3)), other(Slice(), Slice(0, 3))) == 0);
  CHECK(distance(y(Slice(), 3), other(Slice(), 3)) > 1e-3);
}

TEST_CASE("scores sum to one where something is seen, to nothing elsewhere") {
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3});
  const Tensor hidden = ops::zeros({1, 3, 5}, DType::Bool);
  const CallOptions scored{.settings = setting("return_attention_scores")};
  const Tensor open = heads({kQuery, kValue}, scored)[1];
  CHECK(open.shape() == Shape({2, 2, 3, 5}));
  CHECK(distance(ops::sum(open, -1), ops::ones({2, 2, 3})) < 1e-6);
  const Tensors dark =
      heads({{"query", kQuery}, {"value", kValue}, {"attention_mask", hidden}}, scored);
  CHECK(distance(dark[1], ops::zeros({2, 2, 3, 5})) == 0);
}

TEST_CASE("the query's mask goes on") {
  const Tensor mask = Tensor::from<int32_t>({1, 1, 0, 1, 0, 0}, {2, 3});
  const Tensor masked = kQuery.with_mask(ops::cast(mask, DType::Bool));
  const layers::MultiHeadAttention heads({.num_heads = 1, .key_dim = 2});
  CHECK(distance(ops::cast(Tensor(heads({masked, kValue})).mask(), DType::Int32), mask) == 0);
  const Tensor y = layers::Attention()({masked, kValue});
  CHECK(distance(ops::cast(y.mask(), DType::Int32), mask) == 0);
  CHECK(distance(y(0, 2), ops::zeros({4})) == 0);
}

TEST_CASE("attention without features weighs all alike") {
  const Tensor none = ops::zeros({2, 3, 0});
  const Tensor y = layers::Attention()({none, kValue, ops::zeros({2, 5, 0})});
  CHECK(distance(y, ops::broadcast_to(ops::mean(kValue, 1, true), {2, 3, 4})) < 1e-6);
}

TEST_CASE("what users are told of attention") {
  const layers::MultiHeadAttention heads({.num_heads = 2, .key_dim = 3, .name = "mha"});
  CHECK(error_of([&] { heads(kQuery); }) ==
        "InvalidArgument: MultiHeadAttention 'mha': expected a query and a value.");
  CHECK(error_of([&] {
          heads({kQuery, kValue, some_values({2, 4, 4})});
        })
            .find("expected a value and a key of the same axes but the last one, got (2, 5, 4) and "
                  "(2, 4, 4).") != std::string::npos);
  CHECK(error_of([&] {
          heads({kQuery, some_values({2, 4})});
        }).find("expected a query and a value of 3 axes or more") != std::string::npos);
  CHECK(error_of([&] {
          heads({kQuery, kValue}, {.settings = setting("causal")});
        }).find("its call has no argument 'causal'.") != std::string::npos);
  CHECK(error_of([&] {
          heads({kQuery, kValue}, {.settings = Json::object({{"use_causal_mask", 2}})});
        }) ==
        "InvalidArgument: MultiHeadAttention 'mha': expected use_causal_mask to be true or false, "
        "got 2.");
  CHECK(error_of([] {
          layers::MultiHeadAttention({.num_heads = 2});
        }).find("expected heads of a size > 0, got 0.") != std::string::npos);
  CHECK(error_of([] {
          layers::GroupQueryAttention(
              {.head_dim = 2, .num_query_heads = 3, .num_key_value_heads = 2});
        }).find("expected num_query_heads to be a multiple of num_key_value_heads, got 3 and 2.") !=
        std::string::npos);
  CHECK(error_of([] {
          layers::Attention({.score_mode = "cosine"});
        }).find("expected score_mode \"dot\" or \"concat\", got \"cosine\".") != std::string::npos);
  CHECK(error_of([&] {
          layers::Attention()(kQuery);
        }).find("expected inputs {query, value} or {query, value, key}, got 1 of them.") !=
        std::string::npos);
}

TEST_CASE("scores of a query and a key that don't go together") {
  const Tensor wide = some_values({2, 5, 6});
  CHECK(error_of([&] {
          layers::Attention({.name = "a"})({kQuery, wide});
        }) ==
        "InvalidArgument: Attention 'a': expected a query and a key of as many features, got (2, "
        "3, 4) and (2, 5, 6).");
  CHECK(error_of([&] {
          layers::AdditiveAttention({.name = "b"})({kQuery, kValue, wide});
        }) ==
        "InvalidArgument: AdditiveAttention 'b': expected a query and a key of as many features, "
        "got (2, 3, 4) and (2, 5, 6).");
  CHECK(error_of([&] {
          layers::Attention({.name = "c"})({kQuery, wide, some_values({2, 7, 4})});
        }) ==
        "InvalidArgument: Attention 'c': expected a value and a key of as many time steps, got (2, "
        "5, 6) and (2, 7, 4).");
  const layers::AdditiveAttention built({.name = "d"});
  built({kQuery, kValue});
  CHECK(error_of([&] {
          built({wide, wide});
        }) ==
        "InvalidArgument: AdditiveAttention 'd': expected 4 elements on axis -1, as when the layer "
        "was built, got (2, 5, 6). Another size needs another layer.");
}
