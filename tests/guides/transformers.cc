// SPDX-License-Identifier: Apache-2.0
// Examples: a Swin transformer's shifted windows, a miniature GPT that generates text while it
// trains.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Tensor window_partition(const Tensor& picture, int64_t window_size) {
  const int64_t height = picture.dim(1), width = picture.dim(2), channels = picture.dim(3);
  Tensor x = ops::reshape(
      picture, {-1, height / window_size, window_size, width / window_size, window_size, channels});
  x = ops::transpose(x, {0, 1, 3, 2, 4, 5});
  return ops::reshape(x, {-1, window_size, window_size, channels});
}

Tensor window_reverse(const Tensor& windows, int64_t window_size, int64_t height, int64_t width,
                      int64_t channels) {
  Tensor x = ops::reshape(
      windows, {-1, height / window_size, width / window_size, window_size, window_size, channels});
  x = ops::transpose(x, {0, 1, 3, 2, 4, 5});
  return ops::reshape(x, {-1, height, width, channels});
}

class WindowAttention : public Layer {
 public:
  WindowAttention(int64_t dim, int64_t window_size, int64_t num_heads)
      : num_heads_(num_heads),
        scale_(std::pow(static_cast<double>(dim / num_heads), -0.5)),
        qkv_(track("qkv", layers::Dense({.units = dim * 3}))),
        proj_(track("proj", layers::Dense({.units = dim}))) {
    const int64_t offsets = 2 * window_size - 1;
    relative_position_bias_table_ =
        add_weight({.shape = {offsets * offsets, num_heads}, .initializer = "zeros"});
    const Tensor place = ops::arange(window_size);
    const Tensor flat = ops::reshape(ops::stack(ops::meshgrid({place, place}, "ij")), {2, -1});
    const Tensor relative = ops::expand_dims(flat, 2) - ops::expand_dims(flat, 1) + window_size - 1;
    relative_position_index_ = relative[0] * offsets + relative[1];
  }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor& x = inputs[0];
    const int64_t size = x.dim(1), channels = x.dim(2);
    Tensor qkv = ops::reshape(qkv_(x), {-1, size, 3, num_heads_, channels / num_heads_});
    qkv = ops::transpose(qkv, {2, 0, 3, 1, 4});
    const Tensor q = qkv[0], k = qkv[1], v = qkv[2];
    Tensor attn = ops::matmul(q * scale_, ops::transpose(k, {0, 1, 3, 2}));
    const Tensor index = ops::reshape(relative_position_index_, {-1});
    Tensor bias = ops::take(relative_position_bias_table_, index, 0);
    bias = ops::transpose(ops::reshape(bias, {size, size, -1}), {2, 0, 1});
    attn = attn + ops::expand_dims(bias, 0);
    if (inputs.size() > 1) {
      const Tensor& mask = inputs[1];
      attn = ops::reshape(attn, {-1, mask.dim(0), num_heads_, size, size});
      attn = attn + ops::expand_dims(ops::expand_dims(mask, 1), 0);
      attn = ops::reshape(attn, {-1, num_heads_, size, size});
    }
    const Tensor y = ops::matmul(ops::softmax(attn, -1), v);
    return proj_(ops::reshape(ops::transpose(y, {0, 2, 1, 3}), {-1, size, channels}));
  }

 private:
  int64_t num_heads_;
  double scale_;
  layers::Dense qkv_;
  layers::Dense proj_;
  Variable relative_position_bias_table_;
  Tensor relative_position_index_;
};

// The zone index of each pixel in a shifted image, (1, side, side, 1).
Tensor zones(int64_t side, int64_t window_size, int64_t shift_size) {
  const Tensor place = ops::arange(side);
  const Tensor zone = ops::cast(place >= side - window_size, "int32") +
                      ops::cast(place >= side - shift_size, "int32");
  return ops::reshape(ops::expand_dims(zone, 1) * 3 + zone, {1, side, side, 1});
}

class SwinTransformer : public Layer {
 public:
  struct Options {
    int64_t num_heads = 2, window_size = 2, shift_size = 0, num_mlp = 32;
  };
  SwinTransformer(int64_t dim, int64_t side, const Options& options)
      : side_(side),
        options_(options),
        norm1_(track("norm1", layers::LayerNormalization({.epsilon = 1e-5}))),
        attn_(track("attn",
                    make_layer<WindowAttention>(dim, options.window_size, options.num_heads))),
        norm2_(track("norm2", layers::LayerNormalization({.epsilon = 1e-5}))),
        mlp_(track("mlp",
                   Sequential({layers::Dense({.units = options.num_mlp}),
                               layers::Activation({"gelu"}), layers::Dense({.units = dim})}))) {}

  void build(const Shape&) override {
    if (options_.shift_size == 0) return;
    const int64_t size = options_.window_size;
    Tensor parts = window_partition(zones(side_, size, options_.shift_size), size);
    parts = ops::reshape(parts, {-1, size * size});
    const Tensor apart = ops::expand_dims(parts, 1) - ops::expand_dims(parts, 2);
    attn_mask_ = ops::where(apart != 0, -100.0, 0.0);
  }

  Tensor call(const Tensor& x_skip, const CallArgs&) override {
    const int64_t channels = x_skip.dim(-1);
    const auto [heads, size, shift, units] = options_;
    Tensor x = ops::reshape(norm1_(x_skip), {-1, side_, side_, channels});
    if (shift > 0) x = ops::roll(x, {-shift, -shift}, {1, 2});
    Tensor windows = ops::reshape(window_partition(x, size), {-1, size * size, channels});
    windows = attn_mask_.defined() ? attn_({windows, attn_mask_}) : attn_(windows);
    windows = ops::reshape(windows, {-1, size, size, channels});
    x = window_reverse(windows, size, side_, side_, channels);
    if (shift > 0) x = ops::roll(x, {shift, shift}, {1, 2});
    x = x_skip + ops::reshape(x, {-1, side_ * side_, channels});
    return x + mlp_(norm2_(x));
  }

 private:
  int64_t side_;
  Options options_;
  layers::LayerNormalization norm1_;
  LayerRef<WindowAttention> attn_;
  layers::LayerNormalization norm2_;
  Sequential mlp_;
  Tensor attn_mask_;
};

class PatchMerging : public Layer {
 public:
  PatchMerging(int64_t side, int64_t embed_dim)
      : side_(side),
        linear_trans_(
            track("linear_trans", layers::Dense({.units = 2 * embed_dim, .use_bias = false}))) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    const int64_t channels = inputs.dim(-1), half = side_ / 2;
    Tensor x = ops::reshape(inputs, {-1, side_, side_, channels});
    const Slice even(0, {}, 2), odd(1, {}, 2);
    const Tensor x0 = x(Slice(), even, even);
    const Tensor x1 = x(Slice(), odd, even);
    const Tensor x2 = x(Slice(), even, odd);
    const Tensor x3 = x(Slice(), odd, odd);
    x = ops::concatenate({x0, x1, x2, x3}, -1);
    return linear_trans_(ops::reshape(x, {-1, half * half, 4 * channels}));
  }

 private:
  int64_t side_;
  layers::Dense linear_trans_;
};

}  // namespace

TEST_CASE("swin") {
  const Golden golden("swin");
  Tensor inputs = Input({.shape = {16, 6}});
  Tensor x = layers::Dense({.units = 8})(inputs);
  using Options = SwinTransformer::Options;
  x = make_layer<SwinTransformer>(8, 4, Options{})(x);
  x = make_layer<SwinTransformer>(8, 4, Options{.shift_size = 1})(x);
  x = make_layer<PatchMerging>(4, 8)(x);
  x = layers::GlobalAveragePooling1D()(x);
  Model model(inputs, layers::Dense({.units = 5, .activation = "softmax"})(x));
  initialize(model, 1400);
  model.compile({
      .optimizer = optimizers::AdamW({.learning_rate = 1e-3, .weight_decay = 1e-4}),
      .loss = losses::CategoricalCrossentropy({.label_smoothing = 0.1}),
      .metrics = {metrics::CategoricalAccuracy({.name = "accuracy"}),
                  metrics::TopKCategoricalAccuracy({.k = 3, .name = "top-3-accuracy"})},
  });
  const Tensor y = data::to_categorical(labels(20, 5, 1401), 5);
  golden.check("history",
               model.fit(values({20, 16, 6}, 1402), y,
                         {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false}));
  golden.check("predictions", model.predict(values({3, 16, 6}, 1403), {.verbose = 0}));
}

namespace {

class TransformerBlock : public Layer {
 public:
  TransformerBlock(int64_t embed_dim, int64_t num_heads, int64_t ff_dim)
      : att_(track("att", layers::MultiHeadAttention({num_heads, embed_dim}))),
        ffn_(track("ffn", Sequential({layers::Dense({.units = ff_dim, .activation = "relu"}),
                                      layers::Dense({.units = embed_dim})}))),
        layernorm1_(track("layernorm1", layers::LayerNormalization({.epsilon = 1e-6}))),
        layernorm2_(track("layernorm2", layers::LayerNormalization({.epsilon = 1e-6}))) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    const int64_t length = inputs.dim(1);
    const Tensor causal = ops::expand_dims(ops::arange(length), 1) >= ops::arange(length);
    const Tensor attention = att_(
        {{"query", inputs}, {"value", inputs}, {"attention_mask", ops::expand_dims(causal, 0)}});
    const Tensor out1 = layernorm1_(inputs + attention);
    return layernorm2_(out1 + ffn_(out1));
  }

 private:
  layers::MultiHeadAttention att_;
  Sequential ffn_;
  layers::LayerNormalization layernorm1_, layernorm2_;
};

class TokenAndPositionEmbedding : public Layer {
 public:
  TokenAndPositionEmbedding(int64_t maxlen, int64_t vocab_size, int64_t embed_dim)
      : token_emb_(track("token_emb", layers::Embedding({vocab_size, embed_dim}))),
        pos_emb_(track("pos_emb", layers::Embedding({maxlen, embed_dim}))) {}

  Tensor call(const Tensor& x, const CallArgs&) override {
    const Tensor positions = pos_emb_(ops::arange(x.dim(-1)));
    return token_emb_(x) + positions;
  }

 private:
  layers::Embedding token_emb_, pos_emb_;
};

// Generates the most likely tokens after each epoch.
class TextGenerator : public Callback {
 public:
  TextGenerator(size_t maxlen, int64_t max_tokens, std::vector<int> start_tokens)
      : maxlen_(maxlen), max_tokens_(max_tokens), start_tokens_(std::move(start_tokens)) {}

  void on_epoch_end(int64_t, const Logs&) override {
    std::vector<int> tokens = start_tokens_;
    for (int64_t i = 0; i < max_tokens_; ++i) {
      std::vector<int> x = tokens;
      x.resize(maxlen_);
      const Tensors y = model().predict(Tensor::from(x, {1, std::ssize(x)}), {.verbose = 0});
      const auto [values, indices] = ops::top_k(y[0](0, std::ssize(tokens) - 1), 3);
      tokens.push_back(indices(0).item<int>());
    }
    Json::Array row;
    for (const int token : tokens) row.emplace_back(int64_t{token});
    written.push_back(Json(std::move(row)));
  }

  Json written = Json::array();

 private:
  size_t maxlen_;
  int64_t max_tokens_;
  std::vector<int> start_tokens_;
};

}  // namespace

TEST_CASE("miniature_gpt") {
  const Golden golden("miniature_gpt");
  const int64_t vocab_size = 20, maxlen = 10;
  Tensor inputs = Input({.shape = {maxlen}, .dtype = "int32"});
  Tensor x = make_layer<TokenAndPositionEmbedding>(maxlen, vocab_size, 8)(inputs);
  x = make_layer<TransformerBlock>(8, 2, 8)(x);
  Model model(inputs, {layers::Dense({vocab_size})(x), x});
  // No loss and optimization based on word embeddings from transformer block
  auto loss_fn = losses::SparseCategoricalCrossentropy({.from_logits = true});
  model.compile({.optimizer = "adam", .loss = {loss_fn, nullptr}});
  initialize(model, 1420);
  const Tensor tokens = ops::reshape(labels(24 * 11, vocab_size, 1421), {24, 11});
  auto generator = make_callback<TextGenerator>(maxlen, 5, std::vector{1, 2, 3});
  golden.check("history", model.fit(tokens(Slice(), Slice(0, -1)), tokens(Slice(), Slice(1, {})),
                                    {.batch_size = 8,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .callbacks = {generator},
                                     .shuffle = false}));
  golden.check("written", generator->written);
}
