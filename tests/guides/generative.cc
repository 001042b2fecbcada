// SPDX-License-Identifier: Apache-2.0
// Examples: WGAN-GP and RealNVP.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class WGAN : public Model {
 public:
  WGAN(const Model& discriminator, const Model& generator, int64_t latent_dim,
       int discriminator_extra_steps = 3, double gp_weight = 10.0, double noise = 1.0)
      : discriminator_(track("discriminator", discriminator)),
        generator_(track("generator", generator)),
        latent_dim_(latent_dim),
        d_steps_(discriminator_extra_steps),
        gp_weight_(gp_weight),
        noise_(noise) {}

  struct CompileWGAN {
    Optimizer d_optimizer, g_optimizer;
    std::function<Tensor(const Tensor& real_img, const Tensor& fake_img)> d_loss_fn;
    std::function<Tensor(const Tensor& fake_img)> g_loss_fn;
  };
  void compile_wgan(const CompileWGAN& options) {
    compile({});
    options_ = options;
  }

  NamedValues<Tensor> train_step(const Batch& data) override {
    Tensor real_images = data.x;
    const int64_t batch_size = real_images.dim(0);
    // Train the discriminator first, for d_steps steps.
    Tensor d_loss;
    for (int i = 0; i < d_steps_; ++i) {
      Tensor random_latent_vectors = latent(batch_size);
      GradientTape tape;
      // Generate fake images from the latent vector
      Tensor fake_images = generator_(random_latent_vectors, {.training = true});
      // Get the logits for the fake images
      Tensor fake_logits = discriminator_(fake_images, {.training = true});
      // Get the logits for the real images
      Tensor real_logits = discriminator_(real_images, {.training = true});
      // Calculate the discriminator loss using the fake and real image logits
      Tensor d_cost = options_->d_loss_fn(real_logits, fake_logits);
      // Calculate the gradient penalty
      Tensor gp = gradient_penalty(batch_size, real_images, fake_images);
      // Add the gradient penalty to the original discriminator loss
      d_loss = d_cost + gp * gp_weight_;
      auto weights = discriminator_.trainable_variables();
      options_->d_optimizer.apply(tape.gradient(d_loss, weights), weights);
    }

    // Train the generator
    GradientTape tape;
    Tensor generated_images = generator_(latent(batch_size), {.training = true});
    Tensor gen_img_logits = discriminator_(generated_images, {.training = true});
    Tensor g_loss = options_->g_loss_fn(gen_img_logits);
    auto weights = generator_.trainable_variables();
    options_->g_optimizer.apply(tape.gradient(g_loss, weights), weights);
    return {{"d_loss", d_loss}, {"g_loss", g_loss}};
  }

 private:
  Tensor latent(int64_t batch_size) const {
    return noise_ * random::normal({batch_size, latent_dim_}) + 0.5;
  }

  // Computed on an interpolated image, and added to the discriminator's loss.
  Tensor gradient_penalty(int64_t batch_size, const Tensor& real_images,
                          const Tensor& fake_images) const {
    // Get the interpolated image
    Tensor alpha = noise_ * random::uniform({batch_size, 1, 1, 1}) + 0.25;
    Tensor diff = fake_images - real_images;
    Tensor interpolated = real_images + alpha * diff;

    GradientTape gp_tape;
    gp_tape.watch(interpolated);
    // 1. Get the discriminator output for this interpolated image.
    Tensor pred = discriminator_(interpolated, {.training = true});
    // 2. Calculate the gradients w.r.t to this interpolated image.
    Tensor grads = gp_tape.gradient(pred, interpolated);
    // 3. Calculate the norm of the gradients.
    Tensor norm = ops::sqrt(ops::sum(ops::square(grads), {1, 2, 3}));
    return ops::mean(ops::power(norm - 1.0, 2));
  }

  mutable Model discriminator_, generator_;
  int64_t latent_dim_;
  int d_steps_;
  double gp_weight_, noise_;
  std::optional<CompileWGAN> options_;
};

Tensor discriminator_loss(const Tensor& real_img, const Tensor& fake_img) {
  Tensor real_loss = ops::mean(real_img);
  Tensor fake_loss = ops::mean(fake_img);
  return fake_loss - real_loss;
}

Tensor generator_loss(const Tensor& fake_img) { return -ops::mean(fake_img); }

Sequential make_discriminator() {
  Sequential discriminator(
      {
          Input({.shape = {8, 8, 1}}),
          layers::ZeroPadding2D({.padding = {1, 1}}),
          layers::Conv2D(
              {.filters = 8, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Flatten(),
          layers::Dense({.units = 1}),
      },
      {.name = "discriminator"});
  initialize(discriminator, 1000);
  return discriminator;
}

Sequential make_generator() {
  Sequential generator(
      {
          Input({.shape = {16}}),
          layers::Dense({.units = 4 * 4 * 8, .use_bias = false}),
          layers::BatchNormalization(),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Reshape({4, 4, 8}),
          layers::UpSampling2D({.size = {2, 2}}),
          layers::Conv2D(
              {.filters = 1, .kernel_size = {3, 3}, .padding = "same", .use_bias = false}),
          layers::Activation("tanh"),
          layers::ZeroPadding2D({.padding = 1}),
          layers::Cropping2D({.cropping = {1, 1}}),
      },
      {.name = "generator"});
  initialize(generator, 1010);
  return generator;
}

}  // namespace

TEST_CASE("wgan_gp") {
  const Golden golden("wgan_gp");
  WGAN wgan(make_discriminator(), make_generator(), /*latent_dim=*/16,
            /*discriminator_extra_steps=*/3, /*gp_weight=*/10.0, /*noise=*/0.0);
  wgan.compile_wgan({.d_optimizer = optimizers::SGD({.learning_rate = 0.01}),
                     .g_optimizer = optimizers::SGD({.learning_rate = 0.01}),
                     .d_loss_fn = discriminator_loss,
                     .g_loss_fn = generator_loss});
  Tensor images = values({16, 8, 8, 1}, 1020);
  golden.check("history",
               wgan.fit(images, {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false}));
}

namespace {

constexpr int64_t kOutputDim = 16;
constexpr double kReg = 0.01;

Model Coupling(int64_t input_shape) {
  Tensor input = Input({.shape = {input_shape}});
  auto dense = [](int64_t units, const char* activation) {
    return layers::Dense(
        {.units = units, .activation = activation, .kernel_regularizer = regularizers::L2(kReg)});
  };
  Tensor t_layer_1 = dense(kOutputDim, "relu")(input);
  Tensor t_layer_2 = dense(input_shape, "linear")(t_layer_1);

  Tensor s_layer_1 = dense(kOutputDim, "relu")(input);
  Tensor s_layer_2 = dense(input_shape, "tanh")(s_layer_1);
  return Model(input, {s_layer_2, t_layer_2});
}

class RealNVP : public Model {
 public:
  explicit RealNVP(int num_coupling_layers) : num_coupling_layers_(num_coupling_layers) {
    for (int i = 0; i < num_coupling_layers; ++i) {
      masks_.push_back(
          Tensor::from(i % 2 == 0 ? std::vector<float>{0, 1} : std::vector<float>{1, 0}));
      layers_list_.push_back(Coupling(2));
    }
    track("layers_list", layers_list_);
  }

  std::vector<Metric> metrics() const override { return {loss_tracker_}; }

  Tensors call_list(const Tensors& inputs, const CallArgs& args) override {
    return transform(inputs, args.training);
  }

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensor loss = log_loss(data.x);
    auto g = tape.gradient(loss, trainable_variables());
    optimizer().apply(g, trainable_variables());
    loss_tracker_.update_state(loss);
    return {{"loss", loss_tracker_.result()}};
  }

  NamedValues<Tensor> test_step(const Batch& data) override {
    Tensor loss = log_loss(data.x);
    loss_tracker_.update_state(loss);
    return {{"loss", loss_tracker_.result()}};
  }

  // Transforms x to latent space, or back; also returns the log determinant.
  std::vector<Tensor> transform(Tensor x, bool training) {
    Tensor log_det_inv = 0.0;
    const double direction = training ? -1 : 1;
    for (int k = 0; k < num_coupling_layers_; ++k) {
      const auto i = static_cast<size_t>(training ? num_coupling_layers_ - 1 - k : k);
      Tensor x_masked = x * masks_[i];
      Tensor reversed_mask = 1 - masks_[i];
      Tensors coupled = layers_list_[i](x_masked);
      Tensor s = coupled[0] * reversed_mask;
      Tensor t = coupled[1] * reversed_mask;
      const double gate = (direction - 1) / 2;
      x = reversed_mask * (x * ops::exp(direction * s) + direction * t * ops::exp(gate * s)) +
          x_masked;
      log_det_inv += gate * ops::sum(s, 1);
    }
    return {x, log_det_inv};
  }

 private:
  // Log likelihood of the normal distribution plus the log determinant of the jacobian.
  Tensor log_loss(const Tensor& x) {
    auto y = transform(x, true);
    Tensor log_prob = -0.5 * ops::sum(ops::square(y[0]), 1) - std::log(2 * std::numbers::pi);
    return -ops::mean(log_prob + y[1]);
  }

  int num_coupling_layers_;
  std::vector<Tensor> masks_;
  std::vector<Model> layers_list_;
  metrics::Mean loss_tracker_{{.name = "loss"}};
};

}  // namespace

TEST_CASE("real_nvp") {
  const Golden golden("real_nvp");
  RealNVP model(4);
  initialize(model, 1030);
  golden.check("weights", model.weights().size());
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.001})});
  Tensor normalized_data = values({60, 2}, 1031);
  History history = model.fit(
      normalized_data,
      {.batch_size = 16, .epochs = 3, .verbose = 0, .validation_split = 0.2, .shuffle = false});
  golden.check("history", history);
  // From data to latent space, and back.
  Tensor z = model.transform(normalized_data, true)[0];
  Tensor x = model.transform(z, false)[0];
  golden.check("z", z[Slice(4)]);
  golden.check("back", x[Slice(4)]);
}
