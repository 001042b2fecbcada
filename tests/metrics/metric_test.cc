// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "framework/core/strings.h"
#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "framework/metrics/metrics.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"
#include "tests/support/parts.h"

using namespace cornu;
using test::floats;
using test::ints;
using test::message_of;

TEST_CASE("metrics resolve by name, which becomes theirs") {
  CHECK(Metric("mae").impl().class_name() == "MeanAbsoluteError");
  CHECK(Metric("mae").name() == "mae");
  CHECK(Metric("AUC").impl().class_name() == "AUC");
  CHECK(serialize(Metric("mae")) == Json("mae"));
  CHECK(message_of([] {
          Metric("precison");
        }).find("Unknown metric 'precison'. Did you mean 'precision'?") == 0);
}

TEST_CASE("'accuracy' and 'crossentropy' become a family's member when shapes are known") {
  const Metric accuracy = "accuracy";
  CHECK(accuracy.name() == "accuracy");
  CHECK(message_of<FailedPrecondition>([&] { accuracy.result(); }) ==
        "Metric 'accuracy': which metric it is depends on the shapes of labels and predictions. "
        "Update it before its result is asked for.");
  const auto class_after = [](const Metric& metric, const Shape& y_true, const Shape& y_pred) {
    metric.update_state(ops::zeros(y_true), ops::zeros(y_pred));
    CHECK(metric.variables().size() == 2);
    return metric.impl().class_name();
  };
  CHECK(class_after("accuracy", {32, 1}, {32, 1}) == "BinaryAccuracy");
  CHECK(class_after("accuracy", {32}, {32, 10}) == "SparseCategoricalAccuracy");
  CHECK(class_after("accuracy", {32, 1}, {32, 10}) == "SparseCategoricalAccuracy");
  CHECK(class_after("accuracy", {32, 10}, {32, 10}) == "CategoricalAccuracy");
  CHECK(class_after("ce", {32, 1}, {32, 1}) == "BinaryCrossentropy");
  accuracy.update_state(ints({0, 1}), floats({1, 0, 1, 0}, {2, 2}));
  CHECK(accuracy.result().item<float>() == 0.5f);
  accuracy.reset_state();
  CHECK(accuracy.result().item<float>() == 0.0f);
  CHECK(serialize(accuracy) == Json("accuracy"));
}

TEST_CASE("metrics without a name of Keras's own get unique ones") {
  clear_session();
  CHECK(metrics::AUC().name() == "auc");
  CHECK(metrics::AUC().name() == "auc_1");
  CHECK(metrics::Precision().name() == "precision");
  CHECK(metrics::TruePositives().name() == "true_positives");
  CHECK(metrics::Mean().name() == "mean");
  CHECK(metrics::Mean().name() == "mean");
  CHECK(metrics::LogCoshError().name() == "logcosh");
}

TEST_CASE("state is summed over replicas, and handles share it") {
  const metrics::Mean mean({.name = "loss"});
  const Metric same = mean;
  mean.update_state(floats({1, 3}, {2}));
  same.update_state(floats({5}, {1}));
  CHECK(mean.result().item<float>() == 3.0f);
  REQUIRE(mean.variables().size() == 2);
  for (const Variable& variable : mean.variables()) {
    CHECK(variable.aggregation() == VariableAggregation::Sum);
    CHECK(variable.synchronization() == VariableSynchronization::OnRead);
    CHECK_FALSE(variable.trainable());
  }
  CHECK(mean.variables()[0].path() == "loss/total");
  same.reset_state();
  CHECK(mean.result().item<float>() == 0.0f);
}

TEST_CASE("errors name the metric") {
  const metrics::SparseCategoricalAccuracy accuracy;
  CHECK(message_of([&] {
          accuracy.update_state(ops::zeros({4, 3}), ops::zeros({4, 3}));
        }) ==
        "SparseCategoricalAccuracy 'sparse_categorical_accuracy': expected y_true of shape (4,), "
        "the class indices for y_pred of shape (4, 3), got (4, 3). For one-hot labels use the "
        "class without 'Sparse' in its name.");
  CHECK(message_of([&] { accuracy.update_state(floats({1}, {1})); }) ==
        "SparseCategoricalAccuracy 'sparse_categorical_accuracy': expected y_true and y_pred, got "
        "values. Use metrics::Mean for values.");
  const Metric mean = metrics::Mean();
  CHECK(message_of([&] { mean.update_state(ops::zeros({2}), ops::zeros({2})); }) ==
        "Mean 'mean': expected values, got y_true and y_pred. Use metrics::MeanMetricWrapper for a "
        "function of both.");
  CHECK(message_of([] { metrics::AUC({.curve = "RCO"}); }) ==
        "AUC: unknown curve 'RCO'. Did you mean 'ROC'? Known: ROC, PR, PRGAIN.");
  CHECK(message_of([] { metrics::AUC({.num_thresholds = 1}); }) ==
        "AUC: expected num_thresholds in [2, 1048576], got 1.");
  CHECK(message_of([] { metrics::Precision({.thresholds = {1.5}}); }) ==
        "Precision: expected thresholds in [0, 1], got 1.5.");
}

TEST_CASE("functions of users are metrics") {
  const metrics::MeanMetricWrapper off(
      [](const Tensor& a, const Tensor& b) { return ops::abs(ops::cast(a, DType::Float32) - b); },
      {.name = "off"});
  off.update_state(ints({1, 2}), floats({2, 5}, {2}));
  CHECK(off.result().item<float>() == 2.0f);
  CHECK(message_of([&] { serialize(off); })
            .find("Metric 'off': a function, or a class without "
                  "class_name(), can't be saved.") == 0);
  const Metric named("off", [](const Tensor& a, const Tensor& b) { return ops::abs(a - b); });
  CHECK(named.name() == "off");
  const Metric unnamed = [](const Tensor& a, const Tensor& b) { return ops::abs(a - b); };
  unnamed.update_state(floats({1, 2}, {2}), floats({2, 5}, {2}));
  CHECK(unnamed.result().item<float>() == 2.0f);
}

TEST_CASE("a custom metric is one class") {
  class Positives : public MetricImpl {
   public:
    explicit Positives(double threshold) : MetricImpl("positives"), threshold_(threshold) {}
    void update_state(const Tensor&, const Tensor& y_pred, const Tensor&) override {
      count_.assign(count_.value() + ops::sum(ops::cast(y_pred > threshold_, DType::Float32)));
    }
    Tensor result() const override { return count_.value(); }
    double threshold() const { return threshold_; }

   private:
    double threshold_;
    Variable count_ = add_variable({}, "count");
  };
  const auto positives = make_metric<Positives>(0.5);
  CHECK(positives->threshold() == 0.5);
  const Metric metric = positives;
  metric.update_state(floats({0, 0, 0}, {3}), floats({0.2f, 0.6f, 0.9f}, {3}));
  CHECK(metric.result().item<float>() == 2.0f);
  metric.reset_state();
  CHECK(metric.result().item<float>() == 0.0f);
}

TEST_CASE("masks and weights of predictions count") {
  const metrics::BinaryAccuracy accuracy;
  const Tensor mask = Tensor::from(std::vector<bool>{true, false, true}, {3});
  const Tensor y_pred = floats({0.9f, 0.9f, 0.1f}, {3, 1}).with_mask(mask);
  accuracy.update_state(floats({1, 0, 1}, {3, 1}), y_pred);
  CHECK(accuracy.result().item<float>() == 0.5f);
}

TEST_CASE("a function that gives one value for a batch has masked what it wants masked") {
  const Metric metric("masked", [](const Tensor& y_true, const Tensor& y_pred) {
    return ops::mean(ops::abs(y_true - y_pred));
  });
  const Tensor mask = Tensor::from({true, false, true, false}, {2, 2});
  metric.update_state(floats({0, 0, 0, 0}, {2, 2}), floats({1, 2, 3, 4}, {2, 2}).with_mask(mask));
  metric.update_state(floats({0, 0}, {1, 2}), floats({1, 0}, {1, 2}));
  CHECK(metric.result().item<float>() == doctest::Approx(1.5));
}

TEST_CASE("RootMeanSquaredError leaves a mask of predictions unheeded, as Keras's does") {
  const metrics::RootMeanSquaredError error;
  const Tensor mask = Tensor::from(std::vector<bool>{true, false}, {2});
  error.update_state(floats({1, 1}, {2, 1}), floats({1, 3}, {2, 1}).with_mask(mask));
  CHECK(error.result().item<float>() == doctest::Approx(std::sqrt(2.0)));
}

TEST_CASE("even thresholds count by bucket as comparing with each does") {
  metrics::ConfusionRule even;
  for (int i = 0; i < 11; ++i) even.thresholds.push_back(i / 10.0);
  even.evenly = metrics::evenly_distributed(even.thresholds);
  REQUIRE(even.evenly);
  metrics::ConfusionRule plain = even;
  plain.evenly = false;
  // Multiples of 1/8: none is so close to a threshold that rounding matters.
  const Tensor y_pred = floats({0, 0.125f, 0.25f, 0.375f, 0.5f, 0.625f, 0.75f, 0.875f, 1.0f}, {9});
  const Tensor y_true = floats({0, 0, 1, 0, 1, 1, 0, 1, 1}, {9});
  const Tensor weights = floats({1, 2, 3, 4, 5, 6, 7, 8, 9}, {9});
  const auto a = metrics::confusion_counts(even, y_true, y_pred, weights);
  const auto b = metrics::confusion_counts(plain, y_true, y_pred, weights);
  CHECK(a.true_positives.to_vector<float>() == b.true_positives.to_vector<float>());
  CHECK(a.false_positives.to_vector<float>() == b.false_positives.to_vector<float>());
  CHECK(a.true_negatives.to_vector<float>() == b.true_negatives.to_vector<float>());
  CHECK(a.false_negatives.to_vector<float>() == b.false_negatives.to_vector<float>());
}

TEST_CASE("predictions that aren't numbers don't break an update") {
  const metrics::AUC auc;
  auc.update_state(floats({0, 1, 1}, {3}), floats({0.2f, NAN, 0.9f}, {3}));
  CHECK(std::isfinite(auc.result().item<float>()));
}

TEST_CASE("empty batches change nothing") {
  for (const Metric& metric : {Metric(metrics::AUC()), Metric(metrics::SparseCategoricalAccuracy()),
                               Metric(metrics::Precision())}) {
    const bool sparse = metric.impl().class_name() == "SparseCategoricalAccuracy";
    metric.update_state(ops::zeros({0}), ops::zeros(sparse ? Shape{0, 3} : Shape{0}));
    for (const Variable& variable : metric.variables()) {
      for (float value : variable.stored().data<float>()) CHECK(value == 0.0f);
    }
  }
}

TEST_CASE("a traced accuracy does nothing that isn't needed") {
  const metrics::SparseCategoricalAccuracy accuracy;
  const TracedGraph traced =
      trace({{DType::Int32, {8}}, {DType::Float32, {8, 10}}}, [&](const std::vector<Tensor>& x) {
        accuracy.update_state(x[0], x[1]);
        return std::vector<Tensor>{};
      });
  std::vector<std::string> names;
  for (const Node& node : passes::simplify(traced.graph).nodes) {
    if (!node.is("constant")) names.push_back(node.op->name);
  }
  CHECK(join(names, " ") == "argmax equal cast reduce_sum add add");
}

TEST_CASE("metrics compute in the dtype that they are given") {
  const metrics::Mean precise({.name = "precise", .dtype = "float64"});
  precise.update_state(Tensor::from(std::vector<double>{1e9, 1e9 + 1}));
  CHECK(precise.result().dtype() == DType::Float64);
  CHECK(precise.result().item<double>() == 1e9 + 0.5);
  CHECK(precise.variables()[0].dtype() == DType::Float64);

  const metrics::Sum whole({.dtype = DType::Int64});
  for (int i = 0; i < 3; ++i) whole.update_state(floats({16777216.0f, 1.9f}, {2}));
  CHECK(whole.result().item<int64_t>() == 3 * 16777217);

  // The sum of 100 values of 1000 exceeds float16's range, but their mean doesn't.
  const metrics::MeanAbsoluteError half({.dtype = "mixed_float16"});
  half.update_state(ops::zeros({2, 100}), ops::full({2, 100}, 1000.0));
  CHECK(half.result().dtype() == DType::Float16);
  CHECK(half.result().item<double>() == 1000.0);
  const metrics::BinaryAccuracy brief({.dtype = "bfloat16", .threshold = 0.5});
  brief.update_state(floats({1, 0, 1, 1}, {4}), floats({1, 0, 0, 1}, {4}));
  CHECK(brief.result().dtype() == DType::BFloat16);
  CHECK(brief.result().item<double>() == 0.75);

  // Counts are float32, as in Keras.
  const metrics::Precision counts({.dtype = "float16"});
  CHECK(counts.impl().dtype() == DType::Float16);
  CHECK(counts.variables()[0].dtype() == DType::Float32);
}

TEST_CASE("a metric's dtype is in its config") {
  for (const std::string& name : metric_registry().names()) {
    if (name.find("IoU") != std::string::npos) continue;  // they count integers
    Json config = Json::object({{"name", "m"}, {"dtype", "float64"}});
    for (const char* bound : {"specificity", "sensitivity", "recall", "precision"}) {
      config.set(bound, 0.5);
    }
    CAPTURE(name);
    const Metric metric = metric_registry().at(name)(config);
    CHECK(metric.impl().dtype() == DType::Float64);
    CHECK(serialize(metric).at("config").at("dtype") == Json("float64"));
    config.set("dtype", nullptr);
    CHECK(metric_registry().at(name)(config).impl().dtype() == DType::Float32);
  }
}

TEST_CASE("a metric's dtype must be one of numbers") {
  CHECK(message_of([] { metrics::Mean({.dtype = "bool"}); }) ==
        "Metric 'mean': expected a dtype of numbers, got \"bool\".");
  CHECK(message_of([] { metrics::Mean({.dtype = "string"}); }) ==
        "Metric 'mean': expected a dtype of numbers, got \"string\".");
  CHECK(message_of([] { metrics::Poisson({.dtype = "flaot32"}); }).find("'flaot32'") !=
        std::string::npos);
  CHECK(message_of([] { metrics::F1Score({.dtype = "int32"}); }) ==
        "F1Score 'f1_score': expected a floating-point dtype, got int32: scores lie between 0 and "
        "1.");
  CHECK(message_of([] { metrics::MeanIoU({.num_classes = 2, .dtype = "float16"}); }) ==
        "MeanIoU: expected dtype int32, int64, float32 or float64, got float16.");
}

TEST_CASE("a function that is empty") {
  CHECK(message_of<InvalidArgument>([] { Metric("m", Metric::Function()); }) ==
        "Metric: expected a function, got an empty one.");
}
