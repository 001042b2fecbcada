// SPDX-License-Identifier: Apache-2.0
// Guide: customizing what happens in fit().
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

// Creates a subclass from (inputs, outputs), like all models of this guide.
template <class M>
std::unique_ptr<M> make(uint32_t seed = 300) {
  Tensor inputs = Input({.shape = {32}});
  Tensor outputs = layers::Dense({.units = 1})(inputs);
  auto model = std::make_unique<M>(inputs, outputs);
  initialize(*model, seed);
  return model;
}

struct TrainingData {
  Tensor x = values({64, 32}, 301);
  Tensor y = positive({64, 1}, 302);
};

class CustomModel : public Model {
 public:
  using Model::Model;

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensor y_pred = (*this)(data.x, {.training = true});  // Forward pass
    Tensor loss = compute_loss(data.x, data.y, y_pred, {});

    auto trainable_vars = trainable_variables();
    auto gradients = tape.gradient(loss, trainable_vars);
    optimizer().apply(gradients, trainable_vars);

    // Update metrics (includes the metric that tracks the loss)
    for (const Metric& metric : metrics()) {
      if (metric.name() == "loss") {
        metric.update_state(loss);
      } else {
        metric.update_state(data.y, y_pred);
      }
    }
    return get_metrics_result();
  }
};

class WeightedModel : public Model {
 public:
  using Model::Model;

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensor y_pred = (*this)(data.x, {.training = true});  // Forward pass
    Tensor loss = compute_loss(data.x, data.y, y_pred, data.sample_weight);

    auto trainable_vars = trainable_variables();
    auto gradients = tape.gradient(loss, trainable_vars);
    optimizer().apply(gradients, trainable_vars);

    for (const Metric& metric : metrics()) {
      if (metric.name() == "loss") metric.update_state(loss);
    }
    // Passes the weights only to compiled weighted_metrics, as Keras does.
    return compute_metrics(data.x, data.y, y_pred, data.sample_weight);
  }
};

class EvaluatedModel : public Model {
 public:
  using Model::Model;

  NamedValues<Tensor> test_step(const Batch& data) override {
    Tensor y_pred = (*this)(data.x, {.training = false});
    Tensor loss = compute_loss(data.x, data.y, y_pred, {});
    for (const Metric& metric : metrics()) {
      if (metric.name() == "loss") {
        metric.update_state(loss);
      } else {
        metric.update_state(data.y, y_pred);
      }
    }
    return get_metrics_result();
  }
};

class LowLevelModel : public Model {
 public:
  using Model::Model;

  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    Tensor y_pred = (*this)(data.x, {.training = true});  // Forward pass
    Tensor loss = loss_fn_(data.y, y_pred);

    auto trainable_vars = trainable_variables();
    auto gradients = tape.gradient(loss, trainable_vars);
    optimizer().apply(gradients, trainable_vars);

    loss_tracker_.update_state(loss);
    mae_metric_.update_state(data.y, y_pred);
    return {{"loss", loss_tracker_.result()}, {"mae", mae_metric_.result()}};
  }

  std::vector<Metric> metrics() const override {
    // reset_state() is called on these at the start of each epoch.
    return {loss_tracker_, mae_metric_};
  }

 private:
  metrics::Mean loss_tracker_{{.name = "loss"}};
  metrics::MeanAbsoluteError mae_metric_{{.name = "mae"}};
  losses::MeanSquaredError loss_fn_;
};

}  // namespace

TEST_CASE("train_step_first") {
  const Golden golden("train_step_first");
  auto model = make<CustomModel>();
  model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  auto [x, y] = TrainingData();
  golden.check("history",
               model->fit(x, y, {.batch_size = 16, .epochs = 3, .verbose = 0, .shuffle = false}));
}

TEST_CASE("train_step_weighted") {
  const Golden golden("train_step_weighted");
  auto model = make<WeightedModel>();
  model->compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  auto [x, y] = TrainingData();
  golden.check("history", model->fit(x, y,
                                     {.batch_size = 16,
                                      .epochs = 3,
                                      .verbose = 0,
                                      .shuffle = false,
                                      .sample_weight = positive({64, 1}, 303)}));
}

TEST_CASE("test_step") {
  const Golden golden("test_step");
  auto model = make<EvaluatedModel>();
  model->compile({.loss = "mse", .metrics = {"mae"}});
  auto [x, y] = TrainingData();
  golden.check("results", model->evaluate(x, y, {.verbose = 0}));
}

TEST_CASE("train_step_low_level") {
  const Golden golden("train_step_low_level");
  auto model = make<LowLevelModel>();
  model->compile({.optimizer = "adam"});
  History history = model->fit(values({64, 32}, 301), positive({64, 1}, 302),
                               {.batch_size = 16, .epochs = 5, .verbose = 0, .shuffle = false});
  golden.check("history", history);
}

namespace {

class GAN : public Model {
 public:
  GAN(const Model& discriminator, const Model& generator, int64_t latent_dim, double noise)
      : discriminator_(track("discriminator", discriminator)),
        generator_(track("generator", generator)),
        latent_dim_(latent_dim),
        noise_(noise) {}

  void compile_gan(const Optimizer& d_optimizer, const Optimizer& g_optimizer,
                   const Loss& loss_fn) {
    compile({});
    d_optimizer_ = d_optimizer;
    g_optimizer_ = g_optimizer;
    loss_fn_ = loss_fn;
  }

  NamedValues<Tensor> train_step(const Batch& data) override {
    // Sample random points in the latent space
    Tensor real_images = data.x;
    const int64_t batch_size = real_images.dim(0);
    Tensor random_latent_vectors = latent(batch_size);
    // Decode them to fake images
    Tensor generated_images = generator_(random_latent_vectors);
    // Combine them with real images
    Tensor combined_images = ops::concatenate({generated_images, real_images}, 0);
    // Assemble labels discriminating real from fake images
    Tensor labels = ops::concatenate({ops::ones({batch_size, 1}), ops::zeros({batch_size, 1})}, 0);

    // Train the discriminator
    Tensor d_loss;
    {
      GradientTape tape;
      Tensor predictions = discriminator_(combined_images);
      d_loss = loss_fn_(labels, predictions);
      auto weights = discriminator_.trainable_weights();
      d_optimizer_->apply(tape.gradient(d_loss, weights), weights);
    }
    // Assemble labels that say "all real images"
    random_latent_vectors = latent(batch_size);
    Tensor misleading_labels = ops::zeros({batch_size, 1});

    // Train the generator (the weights of the discriminator aren't updated)
    GradientTape tape;
    Tensor predictions = discriminator_(generator_(random_latent_vectors));
    Tensor g_loss = loss_fn_(misleading_labels, predictions);
    auto weights = generator_.trainable_weights();
    g_optimizer_->apply(tape.gradient(g_loss, weights), weights);

    d_loss_tracker_.update_state(d_loss);
    g_loss_tracker_.update_state(g_loss);
    return {{"d_loss", d_loss_tracker_.result()}, {"g_loss", g_loss_tracker_.result()}};
  }

  std::vector<Metric> metrics() const override { return {d_loss_tracker_, g_loss_tracker_}; }

 private:
  Tensor latent(int64_t batch_size) const {
    return noise_ * random::normal({batch_size, latent_dim_}) + 1.0;
  }

  Model discriminator_, generator_;
  int64_t latent_dim_;
  double noise_;
  metrics::Mean d_loss_tracker_{{.name = "d_loss"}};
  metrics::Mean g_loss_tracker_{{.name = "g_loss"}};
  std::optional<Optimizer> d_optimizer_, g_optimizer_;
  Loss loss_fn_;
};

Sequential make_discriminator() {
  Sequential discriminator(
      {
          Input({.shape = {28, 28, 1}}),
          layers::Conv2D(
              {.filters = 16, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Conv2D(
              {.filters = 32, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::GlobalMaxPooling2D(),
          layers::Dense({.units = 1}),
      },
      {.name = "discriminator"});
  initialize(discriminator, 310);
  return discriminator;
}

Sequential make_generator(int64_t latent_dim) {
  Sequential generator(
      {
          Input({.shape = {latent_dim}}),
          layers::Dense({.units = 7 * 7 * 32}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Reshape({7, 7, 32}),
          layers::Conv2DTranspose(
              {.filters = 32, .kernel_size = {4, 4}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Conv2DTranspose(
              {.filters = 32, .kernel_size = {4, 4}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::Conv2D(
              {.filters = 1, .kernel_size = {7, 7}, .padding = "same", .activation = "sigmoid"}),
      },
      {.name = "generator"});
  initialize(generator, 320);
  return generator;
}

}  // namespace

TEST_CASE("train_step_gan") {
  const Golden golden("train_step_gan");
  GAN gan(make_discriminator(), make_generator(32), 32, /*noise=*/0.0);
  gan.compile_gan(optimizers::SGD({.learning_rate = 0.01}),
                  optimizers::SGD({.learning_rate = 0.01}),
                  losses::BinaryCrossentropy({.from_logits = true}));
  History history = gan.fit(positive({16, 28, 28, 1}, 330),
                            {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
  golden.check("history", history);
}
