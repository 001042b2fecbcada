// SPDX-License-Identifier: Apache-2.0
// Examples: knowledge distillation, Reptile, and Keras's introduction for researchers.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

struct DistillationOptions {
  Optimizer optimizer;
  MetricsArgument metrics;
  Loss student_loss_fn;
  Loss distillation_loss_fn;
  double alpha = 0.1;
  double temperature = 3;
};

class Distiller : public Model {
 public:
  Distiller(const Model& student, const Model& teacher)
      : teacher_(track("teacher", teacher)), student_(track("student", student)) {}

  void compile_distiller(const DistillationOptions& options) {
    compile({.optimizer = options.optimizer, .metrics = options.metrics});
    options_ = options;
  }

  Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                      const Tensors&) override {
    Tensor teacher_pred = teacher_(x, {.training = false});
    Tensor student_loss = options_->student_loss_fn(y, y_pred);
    const double temperature = options_->temperature;
    Tensor distillation_loss =
        options_->distillation_loss_fn(ops::softmax(teacher_pred / temperature, 1),
                                       ops::softmax(y_pred / temperature, 1)) *
        (temperature * temperature);
    return options_->alpha * student_loss + (1 - options_->alpha) * distillation_loss;
  }

  Tensor call(const Tensor& x, const CallArgs& args) override { return student_(x, args); }

 private:
  Model teacher_, student_;
  std::optional<DistillationOptions> options_;
};

Sequential make_classifier(int64_t filters, const std::string& name) {
  return Sequential(
      {
          Input({.shape = {28, 28, 1}}),
          layers::Conv2D(
              {.filters = filters, .kernel_size = {3, 3}, .strides = {2, 2}, .padding = "same"}),
          layers::LeakyReLU({.negative_slope = 0.2}),
          layers::MaxPooling2D({.pool_size = {2, 2}, .strides = {1, 1}, .padding = "same"}),
          layers::Conv2D({.filters = 2 * filters,
                          .kernel_size = {3, 3},
                          .strides = {2, 2},
                          .padding = "same"}),
          layers::Flatten(),
          layers::Dense({.units = 10}),
      },
      {.name = name});
}

}  // namespace

TEST_CASE("distillation") {
  const Golden golden("distillation");
  Sequential teacher = make_classifier(16, "teacher");
  Sequential student = make_classifier(4, "student");
  initialize(teacher, 1100);
  initialize(student, 1110);
  Distiller distiller(student, teacher);
  distiller.compile_distiller({
      .optimizer = optimizers::SGD({.learning_rate = 0.01}),
      .metrics = {metrics::SparseCategoricalAccuracy()},
      .student_loss_fn = losses::SparseCategoricalCrossentropy({.from_logits = true}),
      .distillation_loss_fn = losses::KLDivergence(),
      .alpha = 0.1,
      .temperature = 10,
  });
  Tensor x = positive({32, 28, 28, 1}, 1120), y = labels(32, 10, 1121);
  // Distill teacher to student
  golden.check("history",
               distiller.fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false}));
  // Evaluate student on test dataset
  golden.check("results", distiller.evaluate(x, y, {.verbose = 0}));
}

TEST_CASE("reptile") {
  const Golden golden("reptile");
  Tensor inputs = Input({.shape = {8, 8, 1}});
  Tensor x = inputs;
  for (int i = 0; i < 2; ++i) {
    x = layers::Conv2D({.filters = 8, .kernel_size = 3, .strides = 2, .padding = "same"})(x);
    x = layers::BatchNormalization()(x);
    x = layers::ReLU()(x);
  }
  x = layers::Flatten()(x);
  Tensor outputs = layers::Dense({.units = 5, .activation = "softmax"})(x);
  Model model(inputs, outputs);
  initialize(model, 1130);
  model.compile({});
  optimizers::SGD optimizer({.learning_rate = 0.003});

  const int meta_iters = 4;
  const double meta_step_size = 0.25;
  std::vector<double> losses;
  for (int meta_iter = 0; meta_iter < meta_iters; ++meta_iter) {
    const double frac_done = static_cast<double>(meta_iter) / meta_iters;
    const double cur_meta_step_size = (1 - frac_done) * meta_step_size;
    // Temporarily save the weights from the model.
    auto old_vars = model.get_weights();
    // Get a sample from the full dataset.
    for (int inner_iter = 0; inner_iter < 2; ++inner_iter) {
      const auto seed = static_cast<uint32_t>(1140 + 10 * meta_iter + inner_iter);
      Tensor images = positive({10, 8, 8, 1}, seed), classes = labels(10, 5, seed);
      GradientTape tape;
      Tensor preds = model(images);
      Tensor loss = ops::mean(ops::sparse_categorical_crossentropy(classes, preds));
      auto grads = tape.gradient(loss, model.trainable_weights());
      optimizer.apply(grads, model.trainable_weights());
      losses.push_back(double(loss));
    }
    auto new_vars = model.get_weights();
    // Perform SGD for the meta step.
    for (size_t var = 0; var < new_vars.size(); ++var) {
      new_vars[var] = old_vars[var] + (new_vars[var] - old_vars[var]) * cur_meta_step_size;
    }
    // After the meta-learning step, reload the newly-trained weights into the model.
    model.set_weights(new_vars);
  }
  golden.check("losses", losses);
  golden.check("predictions", model.predict(positive({3, 8, 8, 1}, 1190), {.verbose = 0}));
}

TEST_CASE("researchers_tensors") {
  const Golden golden("researchers_tensors");
  Tensor x = {{5, 2}, {1, 3}};
  Variable a(values({2, 2}, 1200));
  Variable b(values({2, 2}, 1201));
  golden.check("dtype", Json(to_string(x.dtype())));
  golden.check("shapes", Json::array({x.shape(), ops::ones({2, 1}).shape()}));
  a.assign_add(ops::ones({2, 2}));
  golden.check("assigned", a.value());

  {
    GradientTape tape;
    Tensor c = ops::sqrt(ops::square(a) + ops::square(b));
    golden.check("dc_da", tape.gradient(c, a));
  }
  GradientTape outer_tape;
  GradientTape tape;
  Tensor c = ops::sqrt(ops::square(a) + ops::square(b));
  Tensor dc_da = tape.gradient(c, a);
  golden.check("d2c_da2", outer_tape.gradient(dc_da, a));
}

namespace {

// y = w.x + b
class Linear : public Layer {
 public:
  explicit Linear(int64_t units = 32) : units_(units) {}

  void build(const Shape& input_shape) override {
    w_ = add_weight({.shape = {input_shape.back(), units_}, .initializer = "random_normal"});
    b_ = add_weight({.shape = {units_}, .initializer = "zeros"});
  }
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    return ops::matmul(inputs, w_) + b_;
  }

 private:
  int64_t units_;
  Variable w_, b_;
};

// Layer that creates an activity sparsity regularization loss.
class ActivityRegularization : public Layer {
 public:
  explicit ActivityRegularization(double rate = 1e-2) : rate_(rate) {}

  Tensor call(const Tensor& inputs, const CallArgs&) override {
    // We use add_loss to create a regularization loss that depends on the inputs.
    add_loss(rate_ * ops::sum(inputs));
    return inputs;
  }

 private:
  double rate_;
};

// Stack of Linear layers with a sparsity regularization loss.
class SparseMLP : public Layer {
 public:
  Tensor call(const Tensor& inputs, const CallArgs&) override {
    Tensor x = linear_1_(inputs);
    x = ops::relu(x);
    x = regularization_(x);
    return linear_3_(x);
  }

 private:
  Linear linear_1_{32};
  ActivityRegularization regularization_{1e-2};
  Linear linear_3_{10};
};

}  // namespace

TEST_CASE("researchers_losses") {
  const Golden golden("researchers_losses");
  {
    SparseMLP mlp;
    mlp(ops::ones({10, 10}));
    CHECK(mlp.losses().size() == 1);
    mlp(values({10, 10}, 1211));
    CHECK(mlp.losses().size() == 1);  // losses don't accumulate across calls
  }
  SparseMLP mlp;
  mlp(ops::ones({1, 784}));
  initialize(mlp, 1212);
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  optimizers::SGD optimizer({.learning_rate = 1e-3});
  std::vector<double> losses;
  for (uint32_t step = 0; step < 4; ++step) {
    Tensor x = values({64, 784}, 1220 + step), y = labels(64, 10, 1230 + step);
    GradientTape tape;
    Tensor logits = mlp(x);
    Tensor loss = loss_fn(y, logits);
    for (const Tensor& extra : mlp.losses()) loss += extra;  // Add extra loss terms
    auto gradients = tape.gradient(loss, mlp.trainable_weights());
    optimizer.apply(gradients, mlp.trainable_weights());
    losses.push_back(double(loss));
  }
  golden.check("losses", losses);
}

TEST_CASE("researchers_hypernetwork") {
  const Golden golden("researchers_hypernetwork");
  const int64_t input_dim = 64, classes = 10;
  // The number of weights of two dense layers, which the hypernetwork generates.
  const int64_t num_weights_to_generate =
      classes * classes + classes + classes * input_dim + classes;
  Sequential outer_model({
      Input({.shape = {input_dim}}),
      layers::Dense({.units = 16, .activation = "relu"}),
      layers::Dense({.units = num_weights_to_generate, .activation = "sigmoid"}),
  });
  initialize(outer_model, 1240);
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  optimizers::SGD optimizer({.learning_rate = 1e-2});

  auto inner = [&](const Tensor& weights, Tensor x) {
    int64_t at = 0;
    auto take = [&](const Shape& shape) {
      const int64_t begin = at;
      at += shape.num_elements();
      return ops::reshape(weights[Slice(begin, at)], shape);
    };
    for (const int64_t rows : {input_dim, classes}) {
      Tensor w = take({rows, classes});
      Tensor b = take({classes});
      x = rows == input_dim ? ops::relu(ops::matmul(x, w - 0.5) + b) : ops::matmul(x, w) + b;
    }
    return x;
  };
  Function train_step = function([&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    // Predict the weights of the inner model, then make predictions with them.
    Tensor weights_pred = outer_model(x);
    Tensor preds = inner(weights_pred[0], x);
    Tensor loss = loss_fn(y, preds);
    // Train only the outer model.
    auto grads = tape.gradient(loss, outer_model.trainable_weights());
    optimizer.apply(grads, outer_model.trainable_weights());
    return loss;
  });
  std::vector<double> losses;
  for (uint32_t i = 0; i < 6; ++i) {
    Tensor loss = train_step(values({1, input_dim}, 1250 + i), labels(1, classes, 1260 + i));
    losses.push_back(double(loss));
  }
  golden.check("losses", losses);
}
