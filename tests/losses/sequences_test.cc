// SPDX-License-Identifier: Apache-2.0
// CTC and Circle compared with plain computations in float64; tests/golden has Keras's values.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "framework/autodiff/gradient_tape.h"
#include "framework/graph/function.h"
#include "framework/losses/losses.h"
#include "framework/ops/ops.h"
#include "tests/support/parts.h"

using namespace cornu;
using test::floats;
using test::ints;
using test::message_of;

namespace {

// The labels of a path: equal neighbors are merged, then blanks are removed.
std::vector<int> said(const std::vector<int>& path) {
  std::vector<int> labels;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != 0 && (i == 0 || path[i] != path[i - 1])) labels.push_back(path[i]);
  }
  return labels;
}

// -log of the total probability of all paths of `steps` classes that have these labels.
double loss_of_all_paths(const std::vector<int>& labels, const std::vector<double>& logits,
                         int steps, int classes) {
  std::vector<double> probabilities = logits;
  for (int t = 0; t < steps; ++t) {
    double sum = 0;
    for (int k = 0; k < classes; ++k) sum += std::exp(logits[t * classes + k]);
    for (int k = 0; k < classes; ++k) {
      probabilities[t * classes + k] = std::exp(logits[t * classes + k]) / sum;
    }
  }
  double total = 0;
  for (int number = 0; number < std::pow(classes, steps); ++number) {
    std::vector<int> path;
    double probability = 1;
    for (int t = 0, rest = number; t < steps; ++t, rest /= classes) {
      path.push_back(rest % classes);
      probability *= probabilities[t * classes + path.back()];
    }
    if (said(path) == labels) total += probability;
  }
  return -std::log(total);
}

Tensor values(const Shape& shape, int64_t seed) {
  return random::normal(shape, {.dtype = DType::Float64, .seed = seed});
}

// The largest difference between the gradient of `f` at `x` and finite differences.
template <class F>
double error_of_gradient(const F& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  const std::vector<double> gradient =
      tape.gradient(ops::sum(f(x)), x).template to_vector<double>();
  const std::vector<double> at = x.to_vector<double>();
  double worst = 0;
  for (size_t i = 0; i < at.size(); ++i) {
    auto value = [&](double step) {
      std::vector<double> moved = at;
      moved[i] += step;
      return ops::sum(f(Tensor::from(moved, x.shape()))).template item<double>();
    };
    worst = std::max(worst, std::abs(gradient[i] - (value(1e-5) - value(-1e-5)) / 2e-5));
  }
  return worst;
}

}  // namespace

TEST_CASE("CTC sums over every path that says the labels") {
  constexpr int kSteps = 5;
  constexpr int kClasses = 4;
  const std::vector<std::vector<int>> sequences = {{},        {1},       {2, 2},
                                                   {1, 2, 3}, {3, 3, 3}, {1, 2, 1}};
  const auto count = static_cast<int64_t>(sequences.size());
  const Tensor logits = values({count, kSteps, kClasses}, 4);
  std::vector<int32_t> labels;
  for (std::vector<int> sequence : sequences) {
    sequence.resize(3);
    labels.insert(labels.end(), sequence.begin(), sequence.end());
  }
  const Tensor y_true = Tensor::from(labels, {count, 3});
  const std::vector<double> losses = losses::ctc(y_true, logits).to_vector<double>();
  for (int64_t i = 0; i < count; ++i) {
    CAPTURE(i);
    const std::vector<double> own = logits(i).to_vector<double>();
    CHECK(
        losses[static_cast<size_t>(i)] ==
        doctest::Approx(loss_of_all_paths(sequences[static_cast<size_t>(i)], own, kSteps, kClasses))
            .epsilon(1e-12));
  }
  CHECK(error_of_gradient([&](const Tensor& x) { return losses::ctc(y_true, x); }, logits) < 1e-8);
}

TEST_CASE("CTC says what labels and predictions must be") {
  const losses::CTC ctc;
  CHECK(message_of([&] {
          ctc(ints({1, 2}), ops::zeros({2, 5, 4}));
        }) ==
        "CTC 'ctc': expected y_true of shape (batch, length), class indices with zeros behind "
        "them, got (2,).");
  CHECK(message_of([&] {
          ctc(ops::zeros({2, 3}), ops::zeros({2, 5}));
        }) == "CTC 'ctc': expected y_pred of shape (batch, steps, classes), logits, got (2, 5).");
  CHECK(message_of([&] {
          ctc(ops::zeros({3, 3}), ops::zeros({2, 5, 4}));
        }) == "CTC 'ctc': expected as many sequences in y_true as in y_pred, got 3 and 2.");
  for (const int32_t outside : {-1, 4}) {
    const Tensor y_true = Tensor::from(std::vector<int32_t>{1, outside}, {1, 2});
    for (const bool eager : {true, false}) {
      const Function loss = function([&](const Tensor& y, const Tensor& p) { return ctc(y, p); },
                                     {.run_eagerly = eager});
      CHECK(message_of<OutOfRange>([&] {
              loss(y_true, ops::zeros({1, 5, 4}));
            }).find("is outside of [-4, 4), axis 2 of shape (1, 5, 4)") != std::string::npos);
    }
  }
}

TEST_CASE("CTC of no sequences, no labels and no steps") {
  CHECK(losses::ctc(ops::zeros({0, 3}), ops::zeros({0, 5, 4})).shape() == Shape{0});
  const Tensor none = losses::ctc(ops::zeros({2, 0}), ops::zeros({2, 3, 4}));
  CHECK(none.to_vector<float>()[1] == doctest::Approx(3 * std::log(4.0)));
  CHECK(losses::ctc(ops::zeros({1, 1}), ops::zeros({1, 0, 4})).item<float>() == doctest::Approx(0));
}

TEST_CASE("circle compares embeddings with references") {
  const std::vector<int32_t> labels = {0, 1, 1};
  const std::vector<int32_t> others = {1, 0, 1, 2};
  const Tensor x = ops::normalize(values({3, 2}, 1));
  const Tensor references = ops::normalize(values({4, 2}, 2));
  const double gamma = 3;
  const double margin = 0.3;
  for (const bool remove_diagonal : {true, false}) {
    CAPTURE(remove_diagonal);
    const losses::CircleArguments arguments = {.ref_labels = Tensor::from(others),
                                               .ref_embeddings = references,
                                               .remove_diagonal = remove_diagonal,
                                               .gamma = gamma,
                                               .margin = margin};
    const std::vector<double> result =
        losses::circle(Tensor::from(labels), x, arguments).to_vector<double>();
    for (size_t i = 0; i < labels.size(); ++i) {
      double of_same = 0;
      double of_others = 0;
      for (size_t k = 0; k < others.size(); ++k) {
        const double d = std::max(
            0.0, 1 - ops::sum(x(static_cast<int64_t>(i)) * references(static_cast<int64_t>(k)))
                         .item<double>());
        if (labels[i] != others[k]) {
          of_others += std::exp(gamma * std::max(0.0, 1 + margin - d) * (1 - margin - d));
        } else if (!remove_diagonal || i != k) {
          of_same += std::exp(gamma * (margin + d) * (d - margin));
        }
      }
      CHECK(result[i] == doctest::Approx(std::log1p(of_same * of_others)).epsilon(1e-12));
    }
    auto loss = [&](const Tensor& p) { return losses::circle(Tensor::from(labels), p, arguments); };
    CHECK(error_of_gradient(loss, x) < 1e-7);
  }
}

TEST_CASE("circle says what labels must be, and embeddings without a pair count nothing") {
  const losses::Circle circle({.gamma = 2.0});
  CHECK(message_of([&] {
          circle(ints({0, 1}), ops::zeros({3, 2}));
        }) ==
        "Circle 'circle': expected y_true of shape (batch) or (batch, 1), a label for each "
        "embedding, and embeddings of shape (batch, size), got (2,) and (3, 2).");
  const Tensor x = floats({1, 0, 0, 1, 0.6f, 0.8f}, {3, 2});
  const Tensor alone = losses::circle(ints({0, 0, 1}), x, {.gamma = 2.0});
  CHECK(alone.to_vector<float>()[2] == 0.0f);
  CHECK(alone.mask().to_vector<bool>() == std::vector<bool>{true, true, false});
  const std::vector<float> of_each = alone.to_vector<float>();
  CHECK(circle(ints({0, 0, 1}), x).item<float>() == doctest::Approx((of_each[0] + of_each[1]) / 2));
}
