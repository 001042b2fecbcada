// SPDX-License-Identifier: Apache-2.0
// Examples: translation with attention, a gradient penalty for a recurrent critic, training a
// model's later layers.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class Encoder : public Layer {
 public:
  Encoder(int64_t vocab_size, int64_t units)
      // The embedding layer converts tokens to vectors
      : embedding_({.input_dim = vocab_size, .output_dim = units, .mask_zero = true}),
        // The RNN layer processes those vectors sequentially.
        rnn_(layers::GRU({.units = units, .return_sequences = true}), {.merge_mode = "sum"}) {}

  Tensor call(const Tensor& x, const CallArgs&) override { return rnn_(embedding_(x)); }

 private:
  layers::Embedding embedding_;
  layers::Bidirectional rnn_;
};

class CrossAttention : public Layer {
 public:
  explicit CrossAttention(int64_t units) : mha_({.num_heads = 1, .key_dim = units}) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor &x = inputs[0], &context = inputs[1];
    Tensors attended = mha_({{"query", x}, {"value", context}},
                            {.settings = Json::object({{"return_attention_scores", true}})});
    return layernorm_(add_({x, attended[0]}));
  }

 private:
  layers::MultiHeadAttention mha_;
  layers::Add add_;
  layers::LayerNormalization layernorm_;
};

class Decoder : public Layer {
 public:
  Decoder(int64_t vocab_size, int64_t units)
      : embedding_({.input_dim = vocab_size, .output_dim = units, .mask_zero = true}),
        rnn_({.units = units, .return_sequences = true, .return_state = true}),
        attention_(units),
        output_layer_({.units = vocab_size}) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    const Tensor& context = inputs[0];
    Tensors x = rnn_(embedding_(inputs[1]));
    return output_layer_(attention_({x[0], context}));
  }

 private:
  layers::Embedding embedding_;
  layers::GRU rnn_;
  CrossAttention attention_;
  layers::Dense output_layer_;
};

class Translator : public Model {
 public:
  Translator(int64_t units, int64_t vocab_size)
      : encoder_(vocab_size, units), decoder_(vocab_size, units) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    return decoder_({encoder_(inputs[0]), inputs[1]});
  }

 private:
  Encoder encoder_;
  Decoder decoder_;
};

Tensor masked_loss(const Tensor& y_true, const Tensor& y_pred) {
  // Calculate the loss for each item in the batch.
  Tensor loss = ops::sparse_categorical_crossentropy(y_true, y_pred, {.from_logits = true});
  // Mask off the losses on padding.
  Tensor mask = ops::cast(y_true != 0, loss.dtype());
  loss *= mask;
  // Return the total.
  return ops::sum(loss) / ops::sum(mask);
}

Tensor masked_acc(const Tensor& y_true, const Tensor& y_pred) {
  Tensor classes = ops::cast(ops::argmax(y_pred, -1), y_true.dtype());
  Tensor match = ops::cast(y_true == classes, "float32");
  Tensor mask = ops::cast(y_true != 0, "float32");
  return ops::sum(match) / ops::sum(mask);
}

// Token indices of shape (12, 6), padded with zeros at the end.
Tensor sentences(uint32_t seed) {
  Tensor lengths = labels(12, 5, seed + 1) + 2;
  return (ops::reshape(labels(72, 19, seed), {12, 6}) + 1) *
         ops::cast(ops::arange(6) < lengths(Slice(), newaxis), "int32");
}

}  // namespace

TEST_CASE("translation") {
  const Golden golden("translation");
  Translator model(8, 20);
  Tensor context = sentences(1300), target = sentences(1310);
  Tensor target_in = target(Slice(), Slice({}, -1)), target_out = target(Slice(), Slice(1, {}));
  model({context, target_in});
  initialize(model, 1320);
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.5}),
       .loss = masked_loss,
       .metrics = {Metric("masked_acc", masked_acc), Metric("masked_loss", masked_loss)}});
  golden.check("history",
               model.fit({context, target_in}, target_out,
                         {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false}));
  Tensor logits = model.predict({context, target_in}, {.verbose = 0});
  golden.check("logits", logits[Slice(2)]);
}

TEST_CASE("penalized_critic") {
  const Golden golden("penalized_critic");
  Sequential critic({
      Input({.shape = {5, 4}}),
      layers::LSTM({.units = 6, .return_sequences = true}),
      layers::LSTM({.units = 6}),
      layers::Dense({.units = 1}),
  });
  initialize(critic, 1330);
  optimizers::SGD optimizer({.learning_rate = 0.25});
  auto variables = critic.trainable_variables();
  variables.pop_back();
  // The last step is compiled.
  auto step = [&](const Tensor& series) {
    GradientTape tape;
    Tensor pred, grads;
    {
      GradientTape gp_tape;
      gp_tape.watch(series);
      pred = critic(series, {.training = true});
      grads = gp_tape.gradient(pred, series);
    }
    Tensor norm = ops::sqrt(ops::sum(ops::square(grads), {1, 2}));
    Tensor loss = ops::mean(pred) + 10.0 * ops::mean(ops::square(norm - 1.0));
    auto gradients = tape.gradient(loss, variables);
    optimizer.apply(gradients, variables);
    return loss;
  };
  Function compiled_step = function(step);
  std::vector<double> losses;
  for (uint32_t i = 0; i < 3; ++i) {
    Tensor series = values({8, 5, 4}, 1340 + i);
    losses.push_back(double(i < 2 ? step(series) : Tensor(compiled_step(series))));
  }
  golden.check("losses", losses);
  golden.check("kernel", variables[0].value());
}

TEST_CASE("later_layers") {
  const Golden golden("later_layers");
  Tensor inputs = Input({.shape = {6}, .name = "inputs"});
  Tensor first = layers::Dense({.units = 5, .activation = "relu", .name = "first"})(inputs);
  Tensor x = layers::BatchNormalization({.name = "norm"})(first);
  x = layers::Dense({.units = 5, .activation = "tanh", .name = "second"})(x);
  x = layers::Add({.name = "sum"})({x, first});
  Model model(inputs, layers::Dense({.units = 1, .name = "last"})(x));
  initialize(model, 1350);
  Model base(model.input(), model.get_layer("first").output());
  Model head(model.get_layer("first").output(), model.output());
  // Features are computed once, and the later layers are trained on them.
  Tensor features = base.predict(values({20, 6}, 1360), {.verbose = 0});
  head.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = "mse"});
  History history = head.fit(features, values({20, 1}, 1361),
                             {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false});
  std::vector<std::string> names;
  for (const LayerHandle& layer : head.layers()) names.push_back(layer.name());
  golden.check("layers", std::vector(names.begin() + 1, names.end()));
  golden.check("history", history);
  golden.check("predictions", model.predict(values({4, 6}, 1362), {.verbose = 0}));
}
