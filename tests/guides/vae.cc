// SPDX-License-Identifier: Apache-2.0
// Example: a convolutional variational autoencoder with a custom training step.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

// Uses (z_mean, z_log_var) to sample z, the vector encoding a digit.
class Sampling : public Layer {
 public:
  explicit Sampling(double noise) : noise_(noise) {}

  Tensors call_list(const Tensors& inputs, const CallArgs&) override {
    Tensor z_mean = inputs[0], z_log_var = inputs[1];
    Tensor epsilon = random::normal(z_mean.shape());
    return z_mean + ops::exp(0.5 * z_log_var) * epsilon * noise_;
  }

 private:
  double noise_;
};

Model make_encoder(int64_t latent_dim, double noise) {
  Tensor encoder_inputs = Input({.shape = {28, 28, 1}});
  Tensor x = layers::Conv2D(
      {.filters = 32, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "relu"})(
      encoder_inputs);
  x = layers::Conv2D(
      {.filters = 64, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "relu"})(x);
  x = layers::Flatten()(x);
  x = layers::Dense({.units = 16, .activation = "relu"})(x);
  Tensor z_mean = layers::Dense({.units = latent_dim, .name = "z_mean"})(x);
  Tensor z_log_var = layers::Dense({.units = latent_dim, .name = "z_log_var"})(x);
  Tensor z = make_layer<Sampling>(noise)({z_mean, z_log_var});
  return Model(encoder_inputs, {z_mean, z_log_var, z}, {.name = "encoder"});
}

Model make_decoder(int64_t latent_dim) {
  Tensor latent_inputs = Input({.shape = {latent_dim}});
  Tensor x = layers::Dense({.units = 7 * 7 * 64, .activation = "relu"})(latent_inputs);
  x = layers::Reshape({7, 7, 64})(x);
  x = layers::Conv2DTranspose(
      {.filters = 64, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "relu"})(x);
  x = layers::Conv2DTranspose(
      {.filters = 32, .kernel_size = 3, .strides = 2, .padding = "same", .activation = "relu"})(x);
  Tensor decoder_outputs = layers::Conv2DTranspose(
      {.filters = 1, .kernel_size = 3, .padding = "same", .activation = "sigmoid"})(x);
  return Model(latent_inputs, decoder_outputs, {.name = "decoder"});
}

class VAE : public Model {
 public:
  VAE(const Model& encoder, const Model& decoder)
      : encoder_(track("encoder", encoder)), decoder_(track("decoder", decoder)) {}

  std::vector<Metric> metrics() const override {
    return {total_loss_tracker_, reconstruction_loss_tracker_, kl_loss_tracker_};
  }

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensors encoded = encoder_(data.x);
    Tensor z_mean = encoded[0], z_log_var = encoded[1], z = encoded[2];
    Tensor reconstruction = decoder_(z);
    losses::BinaryCrossentropy binary_crossentropy({.reduction = Reduction::None});
    Tensor reconstruction_loss =
        ops::mean(ops::sum(binary_crossentropy(data.x, reconstruction), {1, 2}));
    Tensor kl_loss = -0.5 * (1 + z_log_var - ops::square(z_mean) - ops::exp(z_log_var));
    kl_loss = ops::mean(ops::sum(kl_loss, 1));
    Tensor total_loss = reconstruction_loss + kl_loss;
    auto grads = tape.gradient(total_loss, trainable_weights());
    optimizer().apply(grads, trainable_weights());
    total_loss_tracker_.update_state(total_loss);
    reconstruction_loss_tracker_.update_state(reconstruction_loss);
    kl_loss_tracker_.update_state(kl_loss);
    return {{"loss", total_loss_tracker_.result()},
            {"reconstruction_loss", reconstruction_loss_tracker_.result()},
            {"kl_loss", kl_loss_tracker_.result()}};
  }

 private:
  Model encoder_, decoder_;
  metrics::Mean total_loss_tracker_{{.name = "total_loss"}};
  metrics::Mean reconstruction_loss_tracker_{{.name = "reconstruction_loss"}};
  metrics::Mean kl_loss_tracker_{{.name = "kl_loss"}};
};

}  // namespace

TEST_CASE("vae_example") {
  const Golden golden("vae_example");
  Model encoder = make_encoder(2, /*noise=*/0.0), decoder = make_decoder(2);
  golden.check("encoder", summary(encoder));
  golden.check("decoder", summary(decoder));
  VAE vae(encoder, decoder);
  initialize(vae, 140);
  vae.compile({.optimizer = optimizers::SGD({.learning_rate = 1e-5})});
  Tensor digits = positive({24, 28, 28, 1}, 141);
  golden.check("history",
               vae.fit(digits, {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false}));
}
