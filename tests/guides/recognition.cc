// SPDX-License-Identifier: Apache-2.0
// Examples: reading text in images (CTC), classifying videos, attention over a graph.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class CTCLayer : public Layer {
 public:
  using Layer::Layer;

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor &y_true = inputs[0], &y_pred = inputs[1];
    const int64_t batch_len = y_true.dim(0);
    const Tensor input_length = ops::full({batch_len}, y_pred.dim(1), "int32");
    const Tensor label_length = ops::full({batch_len}, y_true.dim(1), "int32");
    const Tensor loss =
        ops::ctc_loss(ops::cast(y_true, "int32"), y_pred, label_length, input_length);
    add_loss(ops::mean(loss));
    // At test time, just return the computed predictions
    return y_pred;
  }
};

}  // namespace

TEST_CASE("captcha_ocr") {
  const Golden golden("captcha_ocr");
  Tensor input_img = Input({.shape = {24, 8, 1}, .name = "image"});
  Tensor label = Input({.shape = {kUnknown}, .dtype = "float32", .name = "label"});
  Tensor x = layers::Conv2D({.filters = 4,
                             .kernel_size = {3, 3},
                             .padding = "same",
                             .activation = "relu",
                             .name = "Conv1"})(input_img);
  x = layers::MaxPooling2D({.pool_size = {2, 2}, .name = "pool1"})(x);
  x = layers::Reshape({.target_shape = {12, 16}, .name = "reshape"})(x);
  x = layers::Dense({.units = 8, .activation = "relu", .name = "dense1"})(x);
  x = layers::Bidirectional(layers::LSTM({.units = 8, .return_sequences = true}))(x);
  x = layers::Bidirectional(layers::LSTM({.units = 4, .return_sequences = true}))(x);
  x = layers::Dense({.units = 6 + 1, .name = "dense2"})(x);
  Tensor output = make_layer<CTCLayer>(LayerOptions{.name = "ctc_loss"})({label, x});
  Model model({input_img, label}, output, {.name = "ocr_model_v1"});
  initialize(model, 1500);
  model.compile({.optimizer = optimizers::Adam()});
  const Tensor images = positive({16, 24, 8, 1}, 1501);
  const Tensor texts = ops::reshape(labels(48, 6, 1502), {16, 3}) + 1;
  const auto dataset =
      data::Dataset::from_tensor_slices({{"image", images}, {"label", texts}}).batch(8);
  golden.check("history",
               model.fit(dataset, {.epochs = 3, .verbose = 0, .validation_data = dataset}));
  Model prediction_model(model.input()[0], model.get_layer("dense2").output());
  const Tensor predictions = prediction_model.predict(images(Slice(4)), {.verbose = 0});
  const auto [decoded, scores] =
      ops::ctc_decode(predictions, ops::full({4}, 12, "int32"), {.strategy = "greedy"});
  golden.check("decoded", decoded[0]);
  golden.check("scores", scores);
}

namespace {

class MinimalRNNCell : public Layer, public layers::RNNCell {
 public:
  explicit MinimalRNNCell(int64_t units) : units_(units) {}

  std::vector<int64_t> state_size() const override { return {units_}; }

  void build(const Shape& input_shape) override {
    kernel_ = add_weight({.shape = {input_shape.back(), units_}, .name = "kernel"});
    recurrent_kernel_ = add_weight({.shape = {units_, units_}, .name = "recurrent_kernel"});
  }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor output =
        ops::matmul(inputs[0], kernel_) + ops::matmul(inputs[1], recurrent_kernel_);
    return {output, output};
  }

 private:
  int64_t units_;
  Variable kernel_, recurrent_kernel_;
};

}  // namespace

TEST_CASE("video_classification") {
  const Golden golden("video_classification");
  Tensor frames = Input({.shape = {5, 6, 6, 1}});
  Tensor mask = Input({.shape = {5}, .dtype = "bool"});
  Sequential feature_extractor({
      Input({.shape = {6, 6, 1}}),
      layers::Conv2D({.filters = 4, .kernel_size = 3, .activation = "relu"}),
      layers::GlobalAveragePooling2D(),
  });
  Tensor x = layers::TimeDistributed(feature_extractor)(frames);
  x = layers::GRU({.units = 6, .return_sequences = true})(x, {.mask = mask});
  x = layers::RNN({make_layer<MinimalRNNCell>(5), make_layer<MinimalRNNCell>(4)})(x);
  Model model({frames, mask}, layers::Dense({.units = 3, .activation = "softmax"})(x));
  initialize(model, 1520);
  model.compile(
      {.optimizer = "adam", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  const Tensor lengths = ops::reshape(ops::arange(16), {16, 1}) % 4 + 2;
  golden.check(
      "history",
      model.fit({positive({16, 5, 6, 6, 1}, 1521), ops::arange(5) < lengths}, labels(16, 3, 1522),
                {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false}));
}

namespace {

class GraphAttention : public Layer {
 public:
  explicit GraphAttention(int64_t units) : units_(units) {}

  void build_list(const std::vector<Shape>& input_shapes) override {
    kernel_ = add_weight({.shape = {input_shapes[0].back(), units_},
                          .initializer = "glorot_uniform",
                          .regularizer = "l2",
                          .name = "kernel"});
    kernel_attention_ = add_weight({.shape = {units_ * 2, 1}, .name = "kernel_attention"});
  }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor &node_states = inputs[0], &edges = inputs[1];
    const int64_t nodes = node_states.dim(0);
    const Tensor transformed = ops::matmul(node_states, kernel_);
    const Tensor pairs = ops::reshape(ops::take(transformed, edges, 0), {edges.dim(0), -1});
    Tensor scores = ops::squeeze(ops::leaky_relu(ops::matmul(pairs, kernel_attention_)), -1);
    scores = ops::exp(ops::clip(scores, -2, 2));
    const Tensor targets = edges(Slice(), 0), sources = edges(Slice(), 1);
    const Tensor sums = ops::segment_sum(scores, targets, nodes);
    const Tensor weights = ops::expand_dims(scores / ops::take(sums, targets, 0), 1);
    return ops::segment_sum(ops::take(transformed, sources, 0) * weights, targets, nodes);
  }

 private:
  int64_t units_;
  Variable kernel_, kernel_attention_;
};

class GraphAttentionNetwork : public Model {
 public:
  GraphAttentionNetwork(Tensor node_states, Tensor edges, int64_t hidden_units, int num_heads,
                        int64_t output_dim)
      : node_states_(std::move(node_states)),
        edges_(std::move(edges)),
        output_layer_(layers::Dense({.units = output_dim})) {
    for (int i = 0; i < num_heads; ++i) {
      attention_layers_.push_back(make_layer<GraphAttention>(hidden_units));
    }
    track("attention_layers", attention_layers_);
    track("output_layer", output_layer_);
  }

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    std::vector<Tensor> heads;
    for (const auto& layer : attention_layers_) heads.push_back(layer(inputs));
    return output_layer_(ops::relu(ops::concatenate(heads, -1)));
  }

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    const Tensor outputs = (*this)({node_states_, edges_});
    const Tensor loss = compute_loss(data.x, data.y, ops::take(outputs, data.x, 0), {});
    const auto grads = tape.gradient(loss, trainable_weights());
    optimizer().apply_gradients(grads, trainable_weights());
    return {{"batch_loss", loss}};
  }

  Tensors predict_step(const Batch& data) override {
    const Tensor outputs = (*this)({node_states_, edges_});
    return ops::softmax(ops::take(outputs, data.x, 0));
  }

 private:
  Tensor node_states_, edges_;
  std::vector<LayerRef<GraphAttention>> attention_layers_;
  layers::Dense output_layer_;
};

}  // namespace

TEST_CASE("graph_attention") {
  const Golden golden("graph_attention");
  const Tensor node_states = values({20, 6}, 1540);
  const Tensor edges = ops::stack({labels(60, 20, 1541), labels(60, 20, 1542)}, 1);
  GraphAttentionNetwork model(node_states, edges, 4, 2, 3);
  model({node_states, edges});
  initialize(model, 1543);
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  golden.check("history",
               model.fit(ops::arange(16), labels(16, 3, 1544),
                         {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false}));
  golden.check("predictions", model.predict(ops::arange(16, 20), {.verbose = 0}));
}
