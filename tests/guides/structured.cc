// SPDX-License-Identifier: Apache-2.0
// Examples: imbalanced classification, a recommender, anomalies in a time series.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

TEST_CASE("imbalanced_classification") {
  const Golden golden("imbalanced_classification");
  Tensor features = values({200, 30}, 900);
  Tensor targets = ops::cast(ops::equal(labels(200, 10, 901), 0), "uint8")(Slice(), newaxis);
  const int64_t num_val_samples = features.dim(0) / 5;
  const Slice train(-num_val_samples), val(-num_val_samples, {});
  Tensor train_features = features[train], train_targets = targets[train];
  Tensor val_features = features[val], val_targets = targets[val];

  // Analyze class imbalance in the targets
  Tensor counts = ops::bincount(ops::cast(train_targets(Slice(), 0), "int32"));
  const double weight_for_0 = 1.0 / double(counts[0]);
  const double weight_for_1 = 1.0 / double(counts[1]);
  golden.check("counts", std::vector{double(counts[0]), double(counts[1])});

  // Normalize the data using training set statistics
  Tensor mean = ops::mean(train_features, 0);
  train_features -= mean;
  val_features -= mean;
  Tensor std = ops::std(train_features, 0);
  train_features /= std;
  val_features /= std;
  golden.check("features", train_features(Slice(2), Slice(5)));

  Sequential model({
      Input({.shape = {30}}),
      layers::Dense({.units = 256, .activation = "relu"}),
      layers::Dense({.units = 256, .activation = "relu"}),
      layers::Dropout({.rate = 0.0}),
      layers::Dense({.units = 256, .activation = "relu"}),
      layers::Dropout({.rate = 0.0}),
      layers::Dense({.units = 1, .activation = "sigmoid"}),
  });
  initialize(model, 902);
  model.compile({
      .optimizer = optimizers::SGD({.learning_rate = 5.0}),
      .loss = "binary_crossentropy",
      .metrics = {metrics::FalseNegatives({.name = "fn"}), metrics::FalsePositives({.name = "fp"}),
                  metrics::TrueNegatives({.name = "tn"}), metrics::TruePositives({.name = "tp"}),
                  metrics::Precision({.name = "precision"}), metrics::Recall({.name = "recall"})},
  });
  golden.check("history", model.fit(train_features, train_targets,
                                    {.batch_size = 64,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .validation_data = {val_features, val_targets},
                                     .shuffle = false,
                                     .class_weight = {{0, weight_for_0}, {1, weight_for_1}}}));
}

namespace {

class RecommenderNet : public Model {
 public:
  RecommenderNet(int64_t num_users, int64_t num_movies, int64_t embedding_size)
      : user_embedding_(make_embedding(num_users, embedding_size)),
        user_bias_({.input_dim = num_users, .output_dim = 1}),
        movie_embedding_(make_embedding(num_movies, embedding_size)),
        movie_bias_({.input_dim = num_movies, .output_dim = 1}) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensor user = inputs(Slice(), 0), movie = inputs(Slice(), 1);
    Tensor user_vector = user_embedding_(user);
    Tensor user_bias = user_bias_(user);
    Tensor movie_vector = movie_embedding_(movie);
    Tensor movie_bias = movie_bias_(movie);
    Tensor dot_user_movie = ops::sum(user_vector * movie_vector, 1, /*keepdims=*/true);
    // Add all the components (including bias)
    Tensor x = dot_user_movie + user_bias + movie_bias;
    // The sigmoid activation forces the rating to between 0 and 1
    return ops::sigmoid(x);
  }

 private:
  static layers::Embedding make_embedding(int64_t count, int64_t size) {
    return layers::Embedding({.input_dim = count,
                              .output_dim = size,
                              .embeddings_initializer = "he_normal",
                              .embeddings_regularizer = regularizers::L2(1e-6)});
  }

  layers::Embedding user_embedding_, user_bias_, movie_embedding_, movie_bias_;
};

}  // namespace

TEST_CASE("recommender") {
  const Golden golden("recommender");
  Tensor x = ops::stack({labels(96, 20, 911), labels(96, 30, 912)}, 1);
  Tensor y = positive({96}, 913);
  RecommenderNet model(20, 30, 8);
  model(x(Slice(1)));
  initialize(model, 910);
  golden.check("paths", paths_of(model.weights()));
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.5}), .loss = losses::BinaryCrossentropy()});
  golden.check("history", model.fit(x, y,
                                    {.batch_size = 32,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .validation_data = {x(Slice(32)), y(Slice(32))},
                                     .shuffle = false}));
  // Show the top recommendations to a user
  Tensor user_movie_array = ops::stack({ops::full({30}, 3, "int32"), ops::arange(30)}, 1);
  Tensor ratings = ops::ravel(model.predict(user_movie_array, {.verbose = 0}));
  golden.check("ratings", ratings);
  const auto top = ops::top_k(ratings, 5).second.to_vector<int32_t>();
  golden.check("top", std::vector<double>(top.begin(), top.end()));
}

namespace {

constexpr int64_t kTimeSteps = 32;

Tensor create_sequences(const Tensor& series, int64_t time_steps = kTimeSteps) {
  std::vector<Tensor> output;
  for (int64_t i = 0; i < series.dim(0) - time_steps + 1; ++i) {
    output.push_back(series[Slice(i, i + time_steps)]);
  }
  return ops::stack(output);
}

Sequential make_sequence_autoencoder(int64_t steps) {
  return Sequential({
      Input({.shape = {steps, 1}}),
      layers::Conv1D(
          {.filters = 32, .kernel_size = 7, .strides = 2, .padding = "same", .activation = "relu"}),
      layers::Dropout({.rate = 0.0}),
      layers::Conv1D(
          {.filters = 16, .kernel_size = 7, .strides = 2, .padding = "same", .activation = "relu"}),
      layers::Conv1DTranspose(
          {.filters = 16, .kernel_size = 7, .strides = 2, .padding = "same", .activation = "relu"}),
      layers::Dropout({.rate = 0.0}),
      layers::Conv1DTranspose(
          {.filters = 32, .kernel_size = 7, .strides = 2, .padding = "same", .activation = "relu"}),
      layers::Conv1DTranspose({.filters = 1, .kernel_size = 7, .padding = "same"}),
  });
}

}  // namespace

TEST_CASE("timeseries_anomaly") {
  const Golden golden("timeseries_anomaly");
  Tensor step = ops::cast(ops::arange(120), "float32");
  Tensor series = ops::sin(step * 0.25) + values({120}, 920, 0.125);
  Tensor normalized = ops::expand_dims((series - ops::mean(series)) / ops::std(series), -1);
  Tensor x_train = create_sequences(normalized);
  golden.check("shape", x_train.shape());

  Sequential model = make_sequence_autoencoder(x_train.dim(1));
  initialize(model, 921);
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.001}), .loss = "mse"});
  golden.check("history", model.fit(x_train, x_train,
                                    {.batch_size = 32,
                                     .epochs = 3,
                                     .verbose = 0,
                                     .callbacks = {callbacks::EarlyStopping(
                                         {.monitor = "val_loss", .patience = 5, .mode = "min"})},
                                     .validation_split = 0.1,
                                     .shuffle = false}));
  // Get train MAE loss.
  Tensor x_train_pred = model.predict(x_train, {.verbose = 0});
  Tensor train_mae_loss = ops::mean(ops::abs(x_train_pred - x_train), 1);
  // Get reconstruction loss threshold.
  Tensor threshold = ops::max(train_mae_loss);
  golden.check("threshold", double(threshold));

  // A series with a bump: which sequences have a high reconstruction error?
  Tensor place = ops::arange(120);
  Tensor bump = ops::cast((place >= 60) & (place < 66), "float32") * 3;
  Tensor bumped = normalized + ops::expand_dims(bump, -1);
  Tensor x_test = create_sequences(bumped);
  Tensor test_mae_loss = ops::mean(ops::abs(model.predict(x_test, {.verbose = 0}) - x_test), 1);
  const auto anomalies = ops::ravel(test_mae_loss > threshold).to_vector<bool>();
  std::vector<double> found, indices;
  for (size_t i = 0; i < anomalies.size(); ++i) {
    if (anomalies[i]) found.push_back(static_cast<double>(i));
  }
  golden.check("anomalies", found);
  // data i is an anomaly if samples [(i - timesteps + 1) to (i)] are anomalies
  for (int64_t i = kTimeSteps - 1; i < bumped.dim(0) - kTimeSteps + 1; ++i) {
    bool all = true;
    for (int64_t k = i - kTimeSteps + 1; k < i; ++k) all &= anomalies[static_cast<size_t>(k)];
    if (all) indices.push_back(static_cast<double>(i));
  }
  golden.check("indices", indices);
}
