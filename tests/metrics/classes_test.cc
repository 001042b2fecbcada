// SPDX-License-Identifier: Apache-2.0
// Metrics that count classes: IoU, F-scores, threshold-based metrics; and regression metrics.
// tests/golden compares their values with Keras's.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "framework/metrics/metrics.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"
#include "tests/support/log.h"
#include "tests/support/parts.h"

using namespace cornu;
using namespace cornu::metrics;
using test::floats;
using test::ints;
using test::message_of;

TEST_CASE("metrics of classes say what their options must be") {
  CHECK(message_of([] { MeanIoU(); }) ==
        "MeanIoU: expected num_classes > 0, got 0. Say how many classes there are.");
  CHECK(message_of([] { IoU({.num_classes = 3}); }) ==
        "IoU: expected target_class_ids, got none. Say which classes count: .target_class_ids = "
        "{0}.");
  CHECK(message_of([] {
          OneHotIoU({.num_classes = 3, .target_class_ids = {0, 3}});
        }) == "OneHotIoU: expected target_class_ids in [0, 3), got 3.");
  CHECK(message_of([] { BinaryIoU({.target_class_ids = {-1}}); }) ==
        "BinaryIoU: expected target_class_ids in [0, 2), got -1.");
  CHECK(message_of([] { MeanIoU({.num_classes = 2, .dtype = "float16"}); }) ==
        "MeanIoU: expected dtype int32, int64, float32 or float64, got float16.");
  CHECK(message_of([] { F1Score({.average = "mean"}); }) ==
        "F1Score: expected average \"micro\", \"macro\", \"weighted\" or empty, got \"mean\".");
  CHECK(message_of([] { FBetaScore({.beta = 0}); }) == "FBetaScore: expected beta > 0, got 0.");
  CHECK(message_of([] { F1Score({.threshold = 0.0}); }) ==
        "F1Score: expected a threshold in (0, 1], got 0.");
  CHECK(message_of([] { R2Score({.class_aggregation = "mean"}); }) ==
        "R2Score: expected class_aggregation \"uniform_average\", \"variance_weighted_average\" or "
        "empty, got \"mean\".");
  CHECK(message_of([] { R2Score({.num_regressors = -1}); }) ==
        "R2Score: expected num_regressors >= 0, got -1.");
  CHECK(message_of([] { PrecisionAtRecall({}); }) ==
        "PrecisionAtRecall: recall must be given: .recall = 0.5.");
  CHECK(message_of([] { SpecificityAtSensitivity({.sensitivity = 1.5}); }) ==
        "SpecificityAtSensitivity: expected sensitivity in [0, 1], got 1.5.");
  CHECK(message_of([] { RecallAtPrecision({.precision = 0.5, .num_thresholds = 0}); }) ==
        "RecallAtPrecision: expected num_thresholds in [1, 1048576], got 0.");
}

TEST_CASE("metrics of classes say what labels and predictions must be") {
  clear_session();
  CHECK(message_of([] {
          MeanIoU({.num_classes = 3}).update_state(ints({0, 1}), ops::zeros({2, 3}));
        }) ==
        "MeanIoU 'mean_io_u': expected a label for each prediction, got y_true of shape (2,) and "
        "y_pred of shape (2, 3). Set sparse_y_true and sparse_y_pred to whether they are class "
        "indices, or reshape one of them.");
  CHECK(message_of([] {
          F1Score().update_state(ints({0, 1}), ops::zeros({2, 3}));
        }) ==
        "F1Score 'f1_score': expected y_true and y_pred of shape (batch, classes), got (2,) and "
        "(2, 3). Make class indices one-hot vectors with ops::one_hot.");
  CHECK(message_of<FailedPrecondition>([] { FBetaScore().result(); }) ==
        "FBetaScore 'fbeta_score': how many classes there are depends on the predictions. Update "
        "it before its result is asked for.");
  CHECK(message_of([] { R2Score().update_state(ops::zeros({2}), ops::zeros({2})); }) ==
        "R2Score 'r2_score': expected y_true and y_pred of shape (batch, outputs), got (2,) and "
        "(2,). Give a single output an axis of its own: ops::expand_dims(x, -1).");
  CHECK(message_of<FailedPrecondition>([] { R2Score().result(); }) ==
        "R2Score 'r2_score': how many outputs there are depends on the predictions. Update it "
        "before its result is asked for.");
  CHECK(message_of([] {
          PearsonCorrelation().update_state(ops::zeros({2, 3}), ops::zeros({2, 4}));
        }).find("PearsonCorrelation 'pearson_correlation': ") == 0);
  CHECK(message_of([] {
          PrecisionAtRecall({.recall = 0.5, .class_id = 3})
              .update_state(ops::zeros({2, 3}), ops::zeros({2, 3}));
        }) ==
        "PrecisionAtRecall 'precision_at_recall': expected y_pred with a column for class_id 3, "
        "got shape (2, 3).");
}

TEST_CASE("updates of other sizes than the first one's are errors that change nothing") {
  const Tensor two = floats({1, 0, 0, 1, 1, 0}, {3, 2});
  for (const int64_t width : {1, 3}) {
    const F1Score score;
    score.update_state(two, two);
    const std::vector<float> before = score.result().to_vector<float>();
    CHECK(message_of([&] {
            score.update_state(ops::zeros({2, width}), ops::zeros({2, width}));
          }) == fmt::format("F1Score 'f1_score': expected 2 classes, as in the first update, got "
                            "{}.",
                            width));
    CHECK(score.result().to_vector<float>() == before);
    const R2Score r2;
    r2.update_state(two, two);
    CHECK(message_of([&] {
            r2.update_state(ops::zeros({2, width}), ops::zeros({2, width}));
          }) == fmt::format("R2Score 'r2_score': expected 2 outputs, as in the first update, got "
                            "{}.",
                            width));
    CHECK(r2.result().item<float>() == 1.0f);
  }
}

TEST_CASE("an IoU that counts in integers says that it cuts weights, once") {
  const test::Log log;
  const MeanIoU mean_iou({.num_classes = 2, .name = "m"});
  for (int i = 0; i < 2; ++i) {
    mean_iou.update_state(ints({0, 1}), ints({0, 1}), floats({1.9f, 0.5f}, {2}));
  }
  const std::string text = log.text();
  const size_t found = text.find(
      "MeanIoU 'm': weights of dtype float32 are cut to integers, since the metric counts in "
      "int64. Make it with .dtype = \"float32\" to count them as they are.");
  CHECK(found != std::string::npos);
  CHECK(text.find("MeanIoU 'm'", found + 1) == std::string::npos);
  CHECK(mean_iou.variables().front().stored().to_vector<int64_t>() ==
        std::vector<int64_t>{2, 0, 0, 0});
}

TEST_CASE("one weight counts for all classes of an IoU, whatever its rank") {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}, Shape{1, 1, 1}}) {
    const MeanIoU mean_iou({.num_classes = 2});
    mean_iou.update_state(ints({0, 1, 1}), ints({0, 1, 0}), ops::full(shape, 2));
    CHECK(mean_iou.variables().front().stored().to_vector<int64_t>() ==
          std::vector<int64_t>{2, 0, 2, 2});
  }
}

TEST_CASE("an IoU counts beyond what float32 holds") {
  const MeanIoU mean_iou({.num_classes = 2});
  mean_iou.update_state(ints({0, 1}), ints({0, 1}), Tensor::from(std::vector<int64_t>{1 << 24, 3}));
  mean_iou.update_state(ints({0}), ints({0}));
  CHECK(mean_iou.variables().front().stored().to_vector<int64_t>() ==
        std::vector<int64_t>{(1 << 24) + 1, 0, 0, 3});
  CHECK(mean_iou.variables().front().dtype() == DType::Int64);
}

TEST_CASE("predictions that aren't numbers are no class, and break nothing") {
  for (const char* dtype : {"int64", "int32", "float32", "float64"}) {
    CAPTURE(dtype);
    const MeanIoU mean_iou({.num_classes = 2, .dtype = dtype});
    mean_iou.update_state(floats({0, 1, NAN, 1, INFINITY}, {5}), floats({0, NAN, 1, 1, 0}, {5}));
    CHECK(mean_iou.result().item<float>() == doctest::Approx(1.0));
  }
  const PrecisionAtRecall precision({.recall = 0.5});
  precision.update_state(floats({0, 1, 1}, {3}), floats({0.2f, NAN, 0.9f}, {3}));
  CHECK(precision.result().item<float>() == 1.0f);
}

TEST_CASE("a class index beyond int32 is no class") {
  const Tensor labels = Tensor::from<int64_t>({1, (int64_t{1} << 32) + 1});
  const Tensor y_pred = Tensor::from<float>({0.2f, 0.8f, 0.2f, 0.8f}, {2, 2});
  const std::vector<float> expected = {1, 0};
  CHECK(sparse_categorical_accuracy(labels, y_pred).to_vector<float>() == expected);
  const Tensor ids = Tensor::from<float>({1, 0, 1, 0}, {2, 2});
  CHECK(sparse_top_k_categorical_accuracy(labels, ids, 2, true).to_vector<float>() == expected);
}

TEST_CASE("metrics of classes are reset, and named as Keras names them") {
  clear_session();
  CHECK(MeanIoU({.num_classes = 1}).name() == "mean_io_u");
  CHECK(MeanIoU({.num_classes = 1}).name() == "mean_io_u_1");
  CHECK(BinaryIoU().name() == "binary_io_u");
  for (const char* name : {"f1_score", "f_beta_score", "r2_score", "pearson_correlation",
                           "concordance_correlation", "binary_io_u"}) {
    CHECK(Metric(name).name() == name);
  }
  CHECK(SensitivityAtSpecificity({.specificity = 0.5}).name() == "sensitivity_at_specificity");
  for (const char* dtype : {"int32", "float32"}) {
    const BinaryIoU iou({.dtype = dtype});
    iou.update_state(ints({0, 1}), floats({0.1f, 0.9f}, {2}));
    CHECK(iou.result().item<float>() == doctest::Approx(1.0));
    iou.reset_state();
    CHECK(iou.variables().front().dtype() == dtype);
    CHECK(iou.result().item<float>() == 0.0f);
  }
}
