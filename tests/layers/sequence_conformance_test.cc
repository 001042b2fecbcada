// SPDX-License-Identifier: Apache-2.0
// Recurrent and attention layers.
#include <doctest/doctest.h>

#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::check_layer;
using test::make;
using test::some_values;

namespace {

const Tensor kSequences = some_values({3, 8, 4});
const Tensor kImages = some_values({2, 8, 7, 4});
const Tensor kVolumes = some_values({2, 5, 6, 4, 3});

}  // namespace

TEST_CASE("recurrent layers conform") {
  check_layer({.name = "SimpleRNN",
               .make = make<layers::SimpleRNN, layers::SimpleRNNOptions>({.units = 5}),
               .inputs = {kSequences},
               .output_shape = {3, 5},
               .trainable_weights = 3});
  check_layer({.name = "SimpleRNN with dropout",
               .make = make<layers::SimpleRNN, layers::SimpleRNNOptions>(
                   {.units = 5, .dropout = 0.5, .recurrent_dropout = 0.5, .seed = 3}),
               .inputs = {kSequences},
               .output_shape = {3, 5},
               .trainable_weights = 3,
               .differs_in_training = true,
               .random = true});
  check_layer({.name = "LSTM of sequences",
               .make = make<layers::LSTM, layers::LSTMOptions>(
                   {.units = 5, .return_sequences = true, .go_backwards = true}),
               .inputs = {kSequences},
               .output_shape = {3, 8, 5},
               .trainable_weights = 3});
  check_layer({.name = "LSTM with a state",
               .make = make<layers::LSTM, layers::LSTMOptions>({.units = 5, .unroll = true}),
               .inputs = {kSequences, some_values({3, 5}, 2), some_values({3, 5}, 3)},
               .output_shape = {3, 5},
               .trainable_weights = 3});
  check_layer({.name = "LSTM with dropout of each gate",
               .make = make<layers::LSTM, layers::LSTMOptions>(
                   {.units = 5, .dropout = 0.5, .recurrent_dropout = 0.5, .seed = 3}),
               .inputs = {kSequences},
               .output_shape = {3, 5},
               .trainable_weights = 3,
               .differs_in_training = true,
               .random = true});
  check_layer({.name = "GRU",
               .make = make<layers::GRU, layers::GRUOptions>({.units = 5, .dropout = 0.5}),
               .inputs = {kSequences},
               .output_shape = {3, 5},
               .trainable_weights = 3,
               .differs_in_training = true,
               .random = true});
  check_layer(
      {.name = "GRU that resets before",
       .make = make<layers::GRU, layers::GRUOptions>(
           {.units = 5, .recurrent_dropout = 0.5, .return_sequences = true, .reset_after = false}),
       .inputs = {kSequences},
       .output_shape = {3, 8, 5},
       .trainable_weights = 3,
       .differs_in_training = true,
       .random = true});
}

TEST_CASE("convolutional recurrent layers conform") {
  check_layer(
      {.name = "ConvLSTM1D with dropout of each gate",
       .make = make<layers::ConvLSTM1D, layers::ConvLSTM1DOptions>({.filters = 3,
                                                                    .kernel_size = 3,
                                                                    .strides = 2,
                                                                    .padding = "same",
                                                                    .dropout = 0.5,
                                                                    .recurrent_dropout = 0.5,
                                                                    .seed = 3}),
       .inputs = {kImages},
       .output_shape = {2, 4, 3},
       .trainable_weights = 3,
       .differs_in_training = true,
       .random = true});
  check_layer({.name = "ConvLSTM2D of sequences, with states",
               .make = make<layers::ConvLSTM2D, layers::ConvLSTM2DOptions>(
                   {.filters = 2, .kernel_size = {3, 2}, .return_sequences = true}),
               .inputs = {kVolumes, some_values({2, 4, 3, 2}, 2), some_values({2, 4, 3, 2}, 3)},
               .output_shape = {2, 5, 4, 3, 2},
               .trainable_weights = 3});
  check_layer({.name = "ConvLSTM3D",
               .make = make<layers::ConvLSTM3D, layers::ConvLSTM3DOptions>(
                   {.filters = 2, .kernel_size = 2, .use_bias = false, .go_backwards = true}),
               .inputs = {some_values({2, 3, 4, 3, 2, 2})},
               .output_shape = {2, 3, 2, 1, 2},
               .trainable_weights = 2});
}

TEST_CASE("attention layers conform") {
  const Tensor queries = some_values({3, 5, 4}, 2);
  check_layer({.name = "Attention",
               .make = make<layers::Attention, layers::AttentionOptions>(
                   {.use_scale = true, .score_mode = "concat", .dropout = 0.5}),
               .inputs = {queries, kSequences},
               .output_shape = {3, 5, 4},
               .trainable_weights = 2,
               .differs_in_training = true,
               .random = true});
  check_layer({.name = "AdditiveAttention",
               .make = make<layers::AdditiveAttention, layers::AdditiveAttentionOptions>({}),
               .inputs = {queries, kSequences, kSequences},
               .output_shape = {3, 5, 4},
               .trainable_weights = 1});
  check_layer({.name = "MultiHeadAttention",
               .make = make<layers::MultiHeadAttention, layers::MultiHeadAttentionOptions>(
                   {.num_heads = 2, .key_dim = 3}),
               .inputs = {queries, kSequences},
               .output_shape = {3, 5, 4},
               .trainable_weights = 8});
  check_layer(
      {.name = "MultiHeadAttention with dropout and a gate",
       .make = make<layers::MultiHeadAttention, layers::MultiHeadAttentionOptions>(
           {.num_heads = 2, .key_dim = 3, .dropout = 0.5, .output_shape = 7, .use_gate = true}),
       .inputs = {queries, kSequences, kSequences},
       .output_shape = {3, 5, 7},
       .trainable_weights = 10,
       .differs_in_training = true,
       .random = true});
  check_layer({.name = "GroupQueryAttention",
               .make = make<layers::GroupQueryAttention, layers::GroupQueryAttentionOptions>(
                   {.head_dim = 3, .num_query_heads = 4, .num_key_value_heads = 2}),
               .inputs = {queries, kSequences},
               .output_shape = {3, 5, 4},
               .trainable_weights = 8});
}
