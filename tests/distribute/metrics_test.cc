// SPDX-License-Identifier: Apache-2.0
// Every metric of the library in compile and fit: under a strategy of several replicas, with uneven
// or empty parts of a batch, its value is that of one device.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "tests/distribute/models.h"

using namespace cornu;
using namespace cornu::metrics;
using test::strategy_kinds;
using test::StrategyKind;

namespace {

// Metrics of scores for three classes; created again for each training run.
std::vector<Metric> metrics_of_one_hot() {
  return {
      OneHotIoU({.num_classes = 3, .target_class_ids = {0, 2}}),
      OneHotMeanIoU({.num_classes = 3, .dtype = "int32"}),
      OneHotMeanIoU({.num_classes = 3, .name = "iou_float32", .dtype = "float32"}),
      IoU({.num_classes = 3,
           .target_class_ids = {1},
           .dtype = "float64",
           .ignore_class = 0,
           .sparse_y_true = false,
           .sparse_y_pred = false}),
      BinaryIoU({.threshold = 0.4}),
      F1Score({.average = "macro"}),
      FBetaScore({.average = "weighted", .beta = 2.0, .threshold = 0.3}),
      FBetaScore({.average = "micro", .name = "f_micro"}),
      R2Score(),
      R2Score({.class_aggregation = "variance_weighted_average", .num_regressors = 2, .name = "r"}),
      PearsonCorrelation(),
      ConcordanceCorrelation(),
      PrecisionAtRecall({.recall = 0.5}),
      RecallAtPrecision({.precision = 0.4}),
      SensitivityAtSpecificity({.specificity = 0.5, .num_thresholds = 3}),
      SpecificityAtSensitivity({.sensitivity = 0.5, .class_id = 1}),
      AUC(),
      Precision({.top_k = 2}),
      CategoricalAccuracy(),
      CategoricalAccuracy({.name = "accuracy_float16", .dtype = "float16"}),
      F1Score({.average = "macro", .name = "f1_float64", .dtype = "float64"}),
      metrics::MeanSquaredError({.name = "mse_float64", .dtype = "float64"}),
  };
}

struct Outcome {
  History history;
  Logs evaluated;
};

Outcome train(bool weighted) {
  clear_session();
  set_random_seed(3);
  const Tensor input = Input({.shape = {4}});
  Model model(input, layers::Dense({.units = 3, .activation = "softmax"})(input));
  int64_t seed = 1;
  for (const Variable& weight : model.weights()) {
    weight.assign(random::normal(weight.shape(), {.seed = seed++}));
  }
  const std::vector<Metric> metrics = metrics_of_one_hot();
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.1}),
       .loss = "categorical_crossentropy",
       .metrics = metrics,
       .weighted_metrics = {
           F1Score({.average = "macro", .name = "weighted_f1"}), R2Score({.name = "weighted_r2"}),
           OneHotMeanIoU({.num_classes = 3, .name = "weighted_iou", .dtype = "float32"}),
           RecallAtPrecision({.precision = 0.5, .name = "recall"})}});
  constexpr int64_t kRows = 13;  // batches of 6, 6 and 1: the last one leaves a replica empty
  const Tensor x = random::normal({kRows, 4}, {.seed = 5});
  const Tensor classes = ops::argmax(random::normal({kRows, 3}, {.seed = 6}), 1);
  const Tensor y = ops::one_hot(classes, 3);
  Tensors weight;
  if (weighted) weight = ops::abs(random::normal({kRows}, {.seed = 7}));
  Outcome outcome;
  outcome.history = model.fit(
      x, y,
      {.batch_size = 6, .epochs = 2, .verbose = 0, .shuffle = false, .sample_weight = weight});
  outcome.evaluated =
      model.evaluate(x, y, {.batch_size = 6, .verbose = 0, .sample_weight = weight});
  return outcome;
}

// A model with a custom step, whose loss is that of a loss object.
class Tracked : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
  std::vector<Metric> metrics() const override { return {tracker_}; }
  NamedValues<Tensor> train_step(const Batch& data) override {
    GradientTape tape;
    const Tensor loss = loss_(data.y, dense_(data.x, {.training = true}));
    const auto variables = dense_.trainable_variables();
    optimizer().apply(tape.gradient(loss, variables), variables);
    return track(loss);
  }
  NamedValues<Tensor> test_step(const Batch& data) override {
    return track(loss_(data.y, dense_(data.x)));
  }

 private:
  NamedValues<Tensor> track(const Tensor& loss) {
    tracker_.update_state(distribute::unscale_loss_for_distribution(loss));
    return {{"tracked", tracker_.result()}};
  }

  layers::Dense dense_{{.units = 1, .kernel_initializer = "ones"}};
  losses::MeanSquaredError loss_;
  metrics::Mean tracker_{{.name = "tracked"}};
};

// A model whose steps report numbers of their own besides metrics.
class Reporting : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
  NamedValues<Tensor> train_step(const Batch& data) override {
    NamedValues<Tensor> results = Model::train_step(data);
    for (const auto& [name, value] : numbers(data)) results.set(name, value);
    return results;
  }
  NamedValues<Tensor> test_step(const Batch& data) override { return numbers(data); }

 private:
  NamedValues<Tensor> numbers(const Batch& data) {
    const Tensor id = distribute::get_replica_context().replica_id_in_sync_group();
    const int64_t rows = data.x.shape()[0];  // which a trace has as a constant
    return {{"id", id},
            {"shared", ops::sum(dense_.weights()[0])},
            {"mean", ops::mean(data.x)},
            {"rows", Tensor::scalar(static_cast<float>(rows))},
            {"if_several", rows > 1 ? ops::sum(data.x) * 0 + 1 : Tensor::scalar(0.0f)}};
  }

  layers::Dense dense_{{.units = 1, .kernel_initializer = "ones"}};
};

// A model with a custom loss in Model's steps, of loss objects alone or in addition to the compiled
// loss.
class OwnLoss : public Model {
 public:
  explicit OwnLoss(bool with_compiled) : with_compiled_(with_compiled) {}
  Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
  Tensor compute_loss(const Tensors& x, const Tensors& y, const Tensors& y_pred,
                      const Tensors& sample_weight) override {
    const Tensor own = 0.5 * absolute_(y, y_pred) + 2 * huber_(y, 2 * Tensor(y_pred));
    return with_compiled_ ? own + Model::compute_loss(x, y, y_pred, sample_weight) : own;
  }

 private:
  bool with_compiled_;
  layers::Dense dense_{{.units = 1, .kernel_initializer = "ones"}};
  losses::MeanAbsoluteError absolute_;
  losses::Huber huber_;
};

// The losses that training and evaluating a model report, and the final kernel.
std::vector<double> losses_of(const std::function<std::unique_ptr<Model>()>& make, int64_t rows) {
  clear_session();
  const auto model = make();
  model->compile({.optimizer = optimizers::SGD({.learning_rate = 0.01}), .loss = "mse"});
  const Tensor x = random::normal({rows, 3}, {.seed = 1});
  const Tensor y = random::normal({rows, 1}, {.seed = 2});
  const History history =
      model->fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
  std::vector<double> found = history["loss"];
  found.push_back(model->evaluate(x, y, {.batch_size = 8, .verbose = 0})["loss"]);
  for (const float weight : model->weights()[0].stored().to_vector<float>())
    found.push_back(weight);
  return found;
}

// Checks that the figures of a training run on all kinds of replicas are those of one device.
template <class Train>
void check_on_replicas(const Train& train) {
  for (const int64_t rows : {15, 9}) {  // the last batch is uneven, or leaves replicas empty
    const std::vector<double> expected = train(rows);
    for (const StrategyKind& kind : strategy_kinds()) {
      for (const int replicas : test::replica_counts()) {
        CAPTURE(kind.name);
        CAPTURE(replicas);
        const Strategy strategy = kind.make(replicas);
        const auto scope = strategy.scope();
        const std::vector<double> found = train(rows);
        REQUIRE(found.size() == expected.size());
        for (size_t i = 0; i < found.size(); ++i) {
          CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("an overridden compute_loss gives parts, of which the loss is the sum") {
  for (const bool with_compiled : {false, true}) {
    const auto make = [=] { return std::make_unique<OwnLoss>(with_compiled); };
    check_on_replicas([&](int64_t rows) { return losses_of(make, rows); });
  }
}

TEST_CASE("a loss tracked in a train_step of one's own is the whole batch's") {
  check_on_replicas([](int64_t rows) {
    clear_session();
    Tracked model;
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.01})});
    const Tensor x = random::normal({rows, 3}, {.seed = 1});
    const Tensor y = random::normal({rows, 1}, {.seed = 2});
    const History history =
        model.fit(x, y, {.batch_size = 8, .epochs = 2, .verbose = 0, .shuffle = false});
    const Logs logs = model.evaluate(x, y, {.batch_size = 8, .verbose = 0});
    return std::vector<double>{history["tracked"][0], history["tracked"][1], logs["tracked"]};
  });
}

TEST_CASE("other numbers of a step are averaged over the replicas with examples") {
  constexpr int64_t kRows = 9;
  const Tensor x = random::normal({kRows, 3}, {.seed = 1});
  const Tensor y = random::normal({kRows, 1}, {.seed = 2});
  for (const StrategyKind& kind : strategy_kinds()) {
    for (const int replicas : test::replica_counts()) {
      for (const int64_t batch_size : {kRows, kRows - 1}) {  // the last batch has 9 rows, or one
        CAPTURE(kind.name);
        CAPTURE(replicas);
        CAPTURE(batch_size);
        const Strategy strategy = kind.make(replicas);
        const auto scope = strategy.scope();
        clear_session();
        Reporting model;
        model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
        const int64_t rows = batch_size == kRows ? kRows : 1;
        const int64_t parts = std::min<int64_t>(rows, strategy.num_replicas_in_sync());
        double mean = 0, several = 0;
        for (int64_t i = 0, begin = kRows - rows; i < parts; ++i) {
          const int64_t size = rows / parts + (i < rows % parts ? 1 : 0);
          mean += ops::mean(Tensor(x[Slice(begin, begin + size)])).item<float>() /
                  static_cast<double>(parts);
          if (size > 1) several += 1 / static_cast<double>(parts);
          begin += size;
        }
        const auto check = [&](Logs logs) {
          CHECK(logs["mean"] == doctest::Approx(mean).epsilon(1e-5));
          CHECK(logs["id"] == doctest::Approx(static_cast<double>(parts - 1) / 2));
          CHECK(logs["shared"] == 3);
          CHECK(logs["rows"] ==
                doctest::Approx(static_cast<double>(rows) / static_cast<double>(parts)));
          CHECK(logs["if_several"] == doctest::Approx(several));
        };
        const FitOptions options = {.batch_size = batch_size, .verbose = 0, .shuffle = false};
        const History history = model.fit(x, y, options);
        Logs fitted;
        for (const auto& [name, values] : history) fitted.set(name, values[0]);
        check(fitted);
        CHECK(std::isfinite(history["loss"][0]));
        check(model.evaluate(x, y, {.batch_size = batch_size, .verbose = 0}));
      }
    }
  }
}

TEST_CASE("metrics in fit have one device's values under replicas") {
  for (const bool weighted : {false, true}) {
    CAPTURE(weighted);
    const Outcome expected = train(weighted);
    REQUIRE(expected.history.size() == metrics_of_one_hot().size() + 5);
    for (const StrategyKind& kind : strategy_kinds()) {
      CAPTURE(kind.name);
      const Strategy strategy = kind.make(test::replicas_or_all(2));
      const auto scope = strategy.scope();
      const Outcome outcome = train(weighted);
      for (const auto& entry : expected.history) {
        CAPTURE(entry.first);
        for (size_t i = 0; i < entry.second.size(); ++i) {
          CHECK(outcome.history[entry.first][i] == doctest::Approx(entry.second[i]).epsilon(1e-5));
        }
      }
      for (const auto& entry : expected.evaluated) {
        CAPTURE(entry.first);
        CHECK(outcome.evaluated[entry.first] == doctest::Approx(entry.second).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("losses of sequences and embeddings in fit are one device's under replicas") {
  auto train = [](const char* loss) {
    clear_session();
    const bool is_ctc = loss == std::string("ctc");
    const Tensor input = Input({.shape = is_ctc ? Shape{6, 3} : Shape{3}});
    Tensor output = layers::Dense({.units = 4})(input);
    if (!is_ctc) output = layers::UnitNormalization()(output);
    Model model(input, output);
    int64_t seed = 1;
    for (const Variable& weight : model.weights()) {
      weight.assign(random::normal(weight.shape(), {.seed = seed++}));
    }
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.1}), .loss = loss});
    const Shape shape = is_ctc ? Shape{7, 6, 3} : Shape{7, 3};
    const Tensor x = random::normal(shape, {.seed = 5});
    const std::vector<int32_t> labels = {1, 2, 3, 0, 2, 2, 3, 0, 1, 1, 3, 2, 1, 0};
    const std::vector<int32_t> kinds = {0, 1, 0, 1, 0, 1, 1};
    const History history =
        model.fit(x, is_ctc ? Tensor::from(labels, {7, 2}) : Tensor::from(kinds),
                  {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    return std::pair(history["loss"], model.get_weights());
  };
  for (const StrategyKind& kind : strategy_kinds()) {
    CAPTURE(kind.name);
    const auto expected = train("ctc");
    const Strategy strategy = kind.make(test::replicas_or_all(2));
    const auto scope = strategy.scope();
    const auto result = train("ctc");
    CHECK(test::distance(result.second, expected.second) < 1e-5);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(result.first[i] == doctest::Approx(expected.first[i]).epsilon(1e-5));
    }
  }
  CHECK(std::isfinite(train("circle").first.back()));
}

TEST_CASE("a metric's integers are counted exactly under replicas, and read as one value") {
  for (const char* dtype : {"int32", "int64"}) {
    CAPTURE(dtype);
    for (const StrategyKind& kind : strategy_kinds()) {
      CAPTURE(kind.name);
      const Strategy strategy = kind.make(test::replicas_or_all(2));
      const auto scope = strategy.scope();
      const MeanIoU iou({.num_classes = 2, .dtype = dtype});
      const Function step = function([&](const Tensor& rows) {
        const Tensor columns = ops::transpose(rows);
        iou.update_state(columns[0], columns[1], columns[2]);
        return iou.result();
      });
      // A label, a prediction and a weight per row; float32 can't represent one of the weights.
      const std::vector<int32_t> rows = {0, 0, (1 << 24) + 1, 1, 1, 2, 1, 0, 1};
      const auto results = strategy.run(step, Tensors(Tensor::from(rows, {3, 3})));
      // Outside of a step, it is the count of this worker's replicas.
      const auto count = static_cast<int64_t>(results.values().size());
      const std::vector<int64_t> counted =
          ops::cast(iou.variables().front().value(), DType::Int64).to_vector<int64_t>();
      CHECK(counted == std::vector<int64_t>{count * ((1 << 24) + 1), 0, count, 2 * count});
      CHECK(iou.variables().front().value().dtype() == dtype);
      for (const Tensors& own : results.values()) {
        CHECK(own[0].item<float>() == doctest::Approx((1.0 + 4.0 / 6.0) / 2).epsilon(1e-5));
      }
      iou.reset_state();
      CHECK(iou.result().item<float>() == 0.0f);
    }
  }
}
