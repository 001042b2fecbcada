// SPDX-License-Identifier: Apache-2.0
// Guide: making new layers and models via subclassing.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <set>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class Linear : public Layer {
 public:
  explicit Linear(int64_t units = 32, const LayerOptions& options = {})
      : Layer(options), units_(units) {}

  void build(const Shape& input_shape) override {
    w_ = add_weight({.shape = {input_shape.back(), units_}, .initializer = "random_normal"});
    b_ = add_weight({.shape = {units_}, .initializer = "random_normal"});
  }

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    return ops::matmul(inputs, w_) + b_;
  }

  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("units", units_);
    return config;
  }

 private:
  int64_t units_;
  Variable w_, b_;
};

class ComputeSum : public Layer {
 public:
  explicit ComputeSum(int64_t input_dim)
      : total_(add_weight({.shape = {input_dim}, .initializer = "zeros", .trainable = false})) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    total_.assign_add(ops::sum(inputs, 0));
    return total_;
  }

 private:
  Variable total_;
};

class MLPBlock : public Layer {
 public:
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensor x = linear_1_(inputs);
    x = ops::relu(x);
    x = linear_2_(x);
    x = ops::relu(x);
    return linear_3_(x);
  }

 private:
  Linear linear_1_{32};
  Linear linear_2_{32};
  Linear linear_3_{1};
};

class ActivityRegularizationLayer : public Layer {
 public:
  explicit ActivityRegularizationLayer(double rate = 1e-2) : rate_(rate) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    add_loss(rate_ * ops::mean(inputs));
    return inputs;
  }

 private:
  double rate_;
};

class OuterLayer : public Layer {
 public:
  Tensor call(const Tensor& inputs, const CallArgs&) override { return activity_reg_(inputs); }

 private:
  ActivityRegularizationLayer activity_reg_{1e-2};
};

class OuterLayerWithKernelRegularizer : public Layer {
 public:
  OuterLayerWithKernelRegularizer()
      : dense_(track(layers::Dense({.units = 32, .kernel_regularizer = regularizers::L2(1e-3)}))) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override { return dense_(inputs); }

 private:
  layers::Dense dense_;
};

}  // namespace

TEST_CASE("layers_linear") {
  const Golden golden("layers_linear");
  Tensor x = ops::ones({2, 2});
  auto linear_layer = make_layer<Linear>(4);
  linear_layer(x);
  initialize(linear_layer, 100);
  golden.check("y", linear_layer(x));
  golden.check("weights", linear_layer.weights().size());
  Json keys = Json::array();
  const Json config = linear_layer.get_config();
  for (const auto& [key, value] : config.as_object()) keys.push_back(key);
  golden.check("config", keys);
}

TEST_CASE("layers_sum") {
  const Golden golden("layers_sum");
  ComputeSum my_sum(2);
  Tensor x = ops::ones({2, 2});
  golden.check("first", my_sum(x));
  golden.check("second", my_sum(x));
  CHECK(my_sum.weights().size() == 1);
  CHECK(my_sum.non_trainable_weights().size() == 1);
  CHECK(my_sum.trainable_weights().empty());
}

TEST_CASE("layers_block") {
  const Golden golden("layers_block");
  MLPBlock mlp;
  mlp(ops::ones({3, 64}));
  initialize(mlp, 110);
  CHECK(mlp.weights().size() == 6);
  CHECK(mlp.trainable_weights().size() == 6);
  golden.check("y", mlp(values({3, 64}, 111)));
}

TEST_CASE("layers_losses") {
  const Golden golden("layers_losses");
  OuterLayer layer;
  CHECK(layer.losses().empty());  // no losses yet since the layer has never been called
  layer(values({1, 4}, 120));
  CHECK(layer.losses().size() == 1);  // we created one loss value
  layer(values({1, 4}, 121));         // only the losses of the last call
  CHECK(layer.losses().size() == 1);
  golden.check("activity", layer.losses()[0].item<double>());

  OuterLayerWithKernelRegularizer regularized;
  regularized(ops::zeros({1, 8}));
  initialize(regularized, 122);
  golden.check("kernel", regularized.losses()[0].item<double>());

  auto make_model = [] {
    Tensor inputs = Input({.shape = {3}});
    Tensor outputs = make_layer<ActivityRegularizationLayer>()(inputs);
    return Model(inputs, outputs);
  };
  Tensor x = positive({2, 3}, 123), y = positive({2, 3}, 124);
  // If there is a loss passed in compile, the regularization losses get added to it
  Model model = make_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  golden.check("both", model.fit(x, y, {.verbose = 0}));
  // It's also possible not to pass any loss in compile, since the model already has a loss to
  // minimize, via the add_loss call during the forward pass!
  Model alone = make_model();
  alone.compile({.optimizer = "adam"});
  golden.check("alone", alone.fit(x, y, {.verbose = 0}));
}

namespace {

class CustomDropout : public Layer {
 public:
  explicit CustomDropout(double rate) : rate_(rate) {}

  Tensor call(const Tensor& inputs, const CallArgs& args) override {
    if (args.training) return random::dropout(inputs, rate_, {.seed = seed_generator_});
    return inputs;
  }

 private:
  double rate_;
  random::SeedGenerator seed_generator_ = track(random::SeedGenerator(1337));
};

}  // namespace

TEST_CASE("layers_dropout") {
  const Golden golden("layers_dropout");
  CustomDropout layer(0.5);
  Tensor x = ops::ones({4, 100});
  Tensor dropped = layer(x, {.training = true});
  Tensor again = layer(x, {.training = true});
  golden.check("inference", ops::all(ops::equal(layer(x), x)).item<bool>());
  golden.check("weights", layer.weights().size());
  golden.check("variables", layer.variables().size());
  std::set<float> found;
  for (const float value : dropped.data<float>()) found.insert(value);
  golden.check("values", std::vector<double>(found.begin(), found.end()));
  golden.check("differ", ops::any(ops::not_equal(dropped, again)).item<bool>());
}

namespace {

// Uses (z_mean, z_log_var) to sample z, the vector encoding a digit.
class Sampling : public Layer {
 public:
  explicit Sampling(double noise = 1.0) : noise_(noise) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    Tensor z_mean = inputs[0], z_log_var = inputs[1];
    Tensor epsilon = random::normal(z_mean.shape(), {.seed = seed_generator_});
    return z_mean + ops::exp(0.5 * z_log_var) * epsilon * noise_;
  }

 private:
  double noise_;
  random::SeedGenerator seed_generator_{1337};
};

// Maps MNIST digits to a triplet (z_mean, z_log_var, z).
class Encoder : public Layer {
 public:
  explicit Encoder(int64_t latent_dim = 32, int64_t intermediate_dim = 64, double noise = 1.0,
                   const LayerOptions& options = {.name = "encoder"})
      : Layer(options),
        dense_proj_({.units = intermediate_dim, .activation = "relu"}),
        dense_mean_({.units = latent_dim}),
        dense_log_var_({.units = latent_dim}),
        sampling_(noise) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    Tensor x = dense_proj_(inputs);
    Tensor z_mean = dense_mean_(x);
    Tensor z_log_var = dense_log_var_(x);
    Tensor z = sampling_({z_mean, z_log_var});
    return {z_mean, z_log_var, z};
  }

 private:
  layers::Dense dense_proj_, dense_mean_, dense_log_var_;
  Sampling sampling_;
};

// Converts z, the encoded digit vector, back into a readable digit.
class Decoder : public Layer {
 public:
  explicit Decoder(int64_t original_dim, int64_t intermediate_dim = 64,
                   const LayerOptions& options = {.name = "decoder"})
      : Layer(options),
        dense_proj_({.units = intermediate_dim, .activation = "relu"}),
        dense_output_({.units = original_dim, .activation = "sigmoid"}) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensor x = dense_proj_(inputs);
    return dense_output_(x);
  }

 private:
  layers::Dense dense_proj_, dense_output_;
};

// Combines the encoder and decoder into an end-to-end model for training.
class VariationalAutoEncoder : public Model {
 public:
  VariationalAutoEncoder(int64_t original_dim, int64_t intermediate_dim = 64,
                         int64_t latent_dim = 32, double noise = 1.0,
                         const ModelOptions& options = {.name = "autoencoder"})
      : Model(options),
        encoder_(latent_dim, intermediate_dim, noise),
        decoder_(original_dim, intermediate_dim) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensors encoded = encoder_(inputs);
    Tensor z_mean = encoded[0], z_log_var = encoded[1], z = encoded[2];
    Tensor reconstructed = decoder_(z);
    // Add KL divergence regularization loss.
    Tensor kl_loss = -0.5 * ops::mean(z_log_var - ops::square(z_mean) - ops::exp(z_log_var) + 1);
    add_loss(kl_loss);
    return reconstructed;
  }

 private:
  Encoder encoder_;
  Decoder decoder_;
};

}  // namespace

TEST_CASE("layers_vae") {
  const Golden golden("layers_vae");
  Tensor x_train = positive({48, 784}, 131);
  VariationalAutoEncoder vae(784, 64, 32, /*noise=*/0.0);
  vae(x_train.rows(0, 1));
  initialize(vae, 130);
  golden.check("paths", paths_of(vae.weights()));
  vae.compile(
      {.optimizer = optimizers::Adam({.learning_rate = 1e-3}), .loss = losses::MeanSquaredError()});
  golden.check("history", vae.fit(x_train, x_train,
                                  {.batch_size = 16, .epochs = 2, .verbose = 0, .shuffle = false}));

  // With noise, each prediction draws different numbers.
  VariationalAutoEncoder noisy(784);
  Tensor first = noisy.predict(x_train, {.verbose = 0});
  Tensor second = noisy.predict(x_train, {.verbose = 0});
  CHECK(ops::any(ops::not_equal(first, second)).item<bool>());
}
