// SPDX-License-Identifier: Apache-2.0
// Guide: the functional API.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

TEST_CASE("functional_mlp") {
  const Golden golden("functional_mlp");
  Tensor inputs = Input({.shape = {784}});
  auto dense = layers::Dense({.units = 64, .activation = "relu"});
  Tensor x = dense(inputs);
  x = layers::Dense({.units = 64, .activation = "relu"})(x);
  Tensor outputs = layers::Dense({.units = 10})(x);
  Model model(inputs, outputs, {.name = "mnist_model"});
  initialize(model, 10);

  model.compile({.optimizer = optimizers::RMSprop(),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  Tensor x_train = values({80, 784}, 11), y_train = labels(80, 10, 12);
  History history = model.fit(
      x_train, y_train,
      {.batch_size = 16, .epochs = 2, .verbose = 0, .validation_split = 0.2, .shuffle = false});
  Logs scores = model.evaluate(x_train, y_train, {.verbose = 0});
  golden.check("history", history);
  golden.check("scores", scores);
  golden.check("summary", summary(model));
  golden.check("predictions", model.predict(x_train(Slice(3)), {.verbose = 0}));

  const auto path = std::filesystem::temp_directory_path() / "functional_mlp.keras";
  model.save(path);
  Model loaded = load_model(path);
  std::filesystem::remove(path);
  golden.check("predictions", loaded.predict(x_train(Slice(3)), {.verbose = 0}));
}

TEST_CASE("functional_autoencoder") {
  const Golden golden("functional_autoencoder");
  Tensor encoder_input = Input({.shape = {28, 28, 1}, .name = "original_img"});
  Tensor x = layers::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"})(encoder_input);
  x = layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"})(x);
  x = layers::MaxPooling2D({.pool_size = 3})(x);
  x = layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"})(x);
  x = layers::Conv2D({.filters = 16, .kernel_size = 3, .activation = "relu"})(x);
  Tensor encoder_output = layers::GlobalMaxPooling2D()(x);
  Model encoder(encoder_input, encoder_output, {.name = "encoder"});

  Tensor decoder_input = Input({.shape = {16}, .name = "encoded_img"});
  x = layers::Reshape({4, 4, 1})(decoder_input);
  x = layers::Conv2DTranspose({.filters = 16, .kernel_size = 3, .activation = "relu"})(x);
  x = layers::Conv2DTranspose({.filters = 32, .kernel_size = 3, .activation = "relu"})(x);
  x = layers::UpSampling2D({.size = 3})(x);
  x = layers::Conv2DTranspose({.filters = 16, .kernel_size = 3, .activation = "relu"})(x);
  Tensor decoder_output =
      layers::Conv2DTranspose({.filters = 1, .kernel_size = 3, .activation = "relu"})(x);
  Model decoder(decoder_input, decoder_output, {.name = "decoder"});

  Tensor autoencoder_input = Input({.shape = {28, 28, 1}, .name = "img"});
  Tensor encoded_img = encoder(autoencoder_input);
  Tensor decoded_img = decoder(encoded_img);
  Model autoencoder(autoencoder_input, decoded_img, {.name = "autoencoder"});
  initialize(autoencoder, 20);

  Tensor images = values({2, 28, 28, 1}, 21);
  golden.check("encoder", summary(encoder));
  golden.check("decoder", summary(decoder));
  golden.check("autoencoder", summary(autoencoder));
  golden.check("encoded", encoder.predict(images, {.verbose = 0}));
  Tensor decoded = autoencoder.predict(images, {.verbose = 0});
  golden.check("center", decoded(Slice(), Slice(12, 16), Slice(12, 16), 0));
}

TEST_CASE("functional_ensemble") {
  const Golden golden("functional_ensemble");
  auto get_model = [] {
    Tensor inputs = Input({.shape = {128}});
    Tensor outputs = layers::Dense({.units = 1})(inputs);
    return Model(inputs, outputs);
  };
  Model model1 = get_model();
  Model model2 = get_model();
  Model model3 = get_model();

  Tensor inputs = Input({.shape = {128}});
  Tensor y1 = model1(inputs);
  Tensor y2 = model2(inputs);
  Tensor y3 = model3(inputs);
  Tensor outputs = layers::average({y1, y2, y3});
  Model ensemble_model(inputs, outputs);
  initialize(ensemble_model, 30);
  golden.check("y", ensemble_model(values({4, 128}, 31)));
  golden.check("summary", summary(ensemble_model));
}

TEST_CASE("functional_tickets") {
  const Golden golden("functional_tickets");
  const int num_tags = 12;        // number of unique issue tags
  const int num_words = 100;      // size of vocabulary obtained when preprocessing text data
  const int num_departments = 4;  // number of departments for predictions

  Tensor title_input = Input({.shape = {kUnknown}, .name = "title"});
  Tensor body_input = Input({.shape = {kUnknown}, .name = "body"});
  Tensor tags_input = Input({.shape = {num_tags}, .name = "tags"});
  Tensor title_features = layers::Embedding({.input_dim = num_words, .output_dim = 8})(title_input);
  Tensor body_features = layers::Embedding({.input_dim = num_words, .output_dim = 8})(body_input);
  title_features = layers::GlobalAveragePooling1D()(title_features);
  body_features = layers::GlobalAveragePooling1D()(body_features);
  Tensor x = layers::concatenate({title_features, body_features, tags_input});
  Tensor priority_pred = layers::Dense({.units = 1, .name = "priority"})(x);
  Tensor department_pred = layers::Dense({.units = num_departments, .name = "department"})(x);
  Model model({title_input, body_input, tags_input},
              {{"priority", priority_pred}, {"department", department_pred}});
  initialize(model, 40);

  model.compile({
      .optimizer = optimizers::RMSprop({.learning_rate = 1e-3}),
      .loss = {{"priority", losses::BinaryCrossentropy({.from_logits = true})},
               {"department", losses::CategoricalCrossentropy({.from_logits = true})}},
      .loss_weights = {{"priority", 1.0}, {"department", 0.2}},
  });
  Tensors inputs = {{"title", ops::reshape(labels(40 * 10, 100, 41), {40, 10})},
                    {"body", ops::reshape(labels(40 * 20, 100, 42), {40, 20})},
                    {"tags", ops::cast(ops::reshape(labels(40 * 12, 2, 43), {40, 12}), "float32")}};
  Tensors targets = {{"priority", values({40, 1}, 44)},
                     {"department", ops::one_hot(labels(40, 4, 45), 4)}};
  History history =
      model.fit(inputs, targets, {.batch_size = 16, .epochs = 2, .verbose = 0, .shuffle = false});
  golden.check("history", history);
  Tensors predictions = model.predict(inputs, {.verbose = 0});
  golden.check("priority", predictions["priority"](Slice(4)));
  golden.check("department", predictions["department"](Slice(4)));
}

TEST_CASE("functional_shared") {
  const Golden golden("functional_shared");
  auto shared_embedding = layers::Embedding({.input_dim = 1000, .output_dim = 128});
  Tensor text_input_a = Input({.shape = {kUnknown}, .dtype = "int32"});
  Tensor text_input_b = Input({.shape = {kUnknown}, .dtype = "int32"});
  Tensor encoded_input_a = shared_embedding(text_input_a);
  Tensor encoded_input_b = shared_embedding(text_input_b);
  Model model({text_input_a, text_input_b}, {encoded_input_a, encoded_input_b});
  golden.check("weights", paths_of(model.weights()));
  golden.check("params", model.count_params());
}

TEST_CASE("functional_toy_resnet") {
  const Golden golden("functional_toy_resnet");
  Tensor inputs = Input({.shape = {32, 32, 3}, .name = "img"});
  Tensor x = layers::Conv2D({.filters = 32, .kernel_size = 3, .activation = "relu"})(inputs);
  x = layers::Conv2D({.filters = 64, .kernel_size = 3, .activation = "relu"})(x);
  Tensor block_1_output = layers::MaxPooling2D({.pool_size = 3})(x);

  const layers::Conv2DOptions same = {
      .filters = 64, .kernel_size = 3, .padding = "same", .activation = "relu"};
  x = layers::Conv2D(same)(block_1_output);
  x = layers::Conv2D(same)(x);
  Tensor block_2_output = layers::add({x, block_1_output});

  x = layers::Conv2D(same)(block_2_output);
  x = layers::Conv2D(same)(x);
  Tensor block_3_output = layers::add({x, block_2_output});

  x = layers::Conv2D({.filters = 64, .kernel_size = 3, .activation = "relu"})(block_3_output);
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Dense({.units = 256, .activation = "relu"})(x);
  Tensor outputs = layers::Dense({.units = 10})(x);
  Model model(inputs, outputs, {.name = "toy_resnet"});
  initialize(model, 50);

  model.compile({
      .optimizer = optimizers::SGD({.learning_rate = 1e-2}),
      .loss = losses::CategoricalCrossentropy({.from_logits = true}),
      .metrics = {"acc"},
  });
  Tensor x_train = values({16, 32, 32, 3}, 51);
  Tensor y_train = ops::one_hot(labels(16, 10, 52), 10);
  History history = model.fit(
      x_train, y_train,
      {.batch_size = 4, .epochs = 2, .verbose = 0, .validation_split = 0.25, .shuffle = false});
  golden.check("history", history);
  golden.check("summary", summary(model));
}

namespace {

class CustomDense : public Layer {
 public:
  explicit CustomDense(int64_t units = 32, const LayerOptions& options = {})
      : Layer(options), units_(units) {}

  void build(const Shape& input_shape) override {
    w_ = add_weight({.shape = {input_shape.back(), units_}, .initializer = "random_normal"});
    b_ = add_weight({.shape = {units_}, .initializer = "random_normal"});
  }
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    return ops::matmul(inputs, w_) + b_;
  }

  std::string class_name() const override { return "guides>CustomDense"; }
  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("units", units_);
    return config;
  }

 private:
  int64_t units_;
  Variable w_, b_;
};

class CustomRNN : public Layer {
 public:
  CustomRNN(int64_t units, int64_t timesteps)
      : units_(units),
        timesteps_(timesteps),
        projection_1_({.units = units, .activation = "tanh"}),
        projection_2_({.units = units, .activation = "tanh"}),
        classifier_(make_classifier(units)) {}

  Tensor call(const Tensor& inputs, const CallArgs& args) override {
    std::vector<Tensor> outputs;
    Tensor state = ops::zeros({inputs.dim(0), units_});
    for (int64_t t = 0; t < timesteps_; ++t) {
      Tensor x = inputs(Slice(), t);
      Tensor h = projection_1_(x, args);
      Tensor y = h + projection_2_(state, args);
      state = y;
      outputs.push_back(y);
    }
    Tensor features = ops::stack(outputs, 1);  // (batch, timesteps, units)
    return classifier_(ops::mean(features, 1), args);
  }

 private:
  static Model make_classifier(int64_t units) {
    Tensor pooled = Input({.shape = {units}});
    return Model(pooled, layers::Dense({.units = 1, .activation = "sigmoid"})(pooled));
  }

  int64_t units_, timesteps_;
  layers::Dense projection_1_, projection_2_;
  Model classifier_;
};

}  // namespace

TEST_CASE("functional_custom_rnn") {
  const Golden golden("functional_custom_rnn");
  auto rnn = make_layer<CustomRNN>(8, 5);
  Tensor inputs = Input({.batch_shape = {2, 5, 3}});
  Tensor x = layers::Conv1D({.filters = 8, .kernel_size = 3, .padding = "same"})(inputs);
  Tensor outputs = rnn(x);
  Model model(inputs, outputs);
  initialize(model, 70);
  golden.check("y", model(values({2, 5, 3}, 71)));
  Json shapes = Json::array();
  for (const Variable& weight : model.weights()) shapes.push_back(weight.shape());
  golden.check("shapes", shapes);
}

TEST_CASE("functional_custom_layer") {
  const Golden golden("functional_custom_layer");
  layer_registry().add("guides>CustomDense", [](const Json& config) -> LayerHandle {
    return make_layer<CustomDense>(config["units"].as_int(),
                                   LayerOptions{.name = config["name"].as_string()});
  });
  Tensor inputs = Input({.shape = {4}});
  Tensor outputs = make_layer<CustomDense>(10)(inputs);
  Model model(inputs, outputs);
  Model new_model = Model::from_config(model.get_config());
  initialize(new_model, 60);
  golden.check("y", new_model(values({2, 4}, 61)));
}
