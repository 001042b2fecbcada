// SPDX-License-Identifier: Apache-2.0
// Random functional models of real Keras (random_models.py), which both sides train: the same
// losses, weights, optimizer state and predictions.
//
// CORNU_RANDOM_MODELS="FIRST COUNT" says which seeds; without it these are 0 to 19.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "framework/ops/indexing.h"
#include "framework/saving/hdf5_file.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/golden/golden.h"
#include "tests/support/python.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

constexpr int64_t kSteps = 5, kBatch = 4;

std::vector<Tensor> read_list(const Hdf5Reader& file, const std::string& group) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; file.is_dataset(fmt::format("{}/{}", group, i)); ++i) {
    const std::string path = fmt::format("{}/{}", group, i);
    const Hdf5Reader::Dataset dataset = file.describe(path);
    tensors.push_back(file.read(path, dataset.shape, dataset.dtype));
  }
  return tensors;
}

Tensors batch(const std::vector<Tensor>& rows, int64_t step) {
  std::vector<Tensor> parts;
  for (const Tensor& x : rows) parts.push_back(x.rows(step * kBatch, (step + 1) * kBatch));
  return parts;
}

// The greatest difference, relative for numbers above 1.
double distance(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return INFINITY;
  const std::vector<double> x = test::numbers_of(a), y = test::numbers_of(b);
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double off = std::abs(x[i] - y[i]) / std::max(1.0, std::abs(y[i]));
    most = std::max(most, std::isnan(off) ? INFINITY : off);
  }
  return most;
}

void check_variables(const std::vector<Variable>& found, const std::vector<Variable>& wanted,
                     double close) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(wanted[i].path());
    CHECK(distance(found[i].value(), wanted[i].value()) <= close);
  }
}

void check_outputs(const Tensors& found, const std::vector<Tensor>& wanted, double close) {
  REQUIRE(found.size() == wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) CHECK(distance(found[i], wanted[i]) <= close);
}

void check_model(const std::string& stem) {
  Model model = load_model(stem + ".keras");
  const Hdf5Reader values = Hdf5Reader::open(stem + ".values.h5");
  const std::vector<Tensor> x = read_list(values, "x");
  const std::vector<Tensor> y = read_list(values, "y");
  const std::vector<Tensor> before = read_list(values, "before");
  const bool exact = before.at(0).dtype() == DType::Float64;
  // Rates, counts and denominators are float32, and the longest steps magnify their errors.
  const double close = exact ? 1e-5 : 1e-3;
  check_outputs(model(batch(x, 0)), before, close);
  const Tensor losses = values.read("losses", {kSteps}, DType::Float64);
  for (int64_t step = 0; step < kSteps; ++step) {
    CAPTURE(step);
    model.reset_metrics();
    const Logs logs = model.train_on_batch(batch(x, step), batch(y, step));
    const double expected = losses(step).item<double>();
    // Keras's loss trackers are float32.
    CHECK(logs.at("loss") == doctest::Approx(expected).epsilon(1e-4));
  }
  check_outputs(model(batch(x, 0)), read_list(values, "after"), close);
  Model trained = load_model(stem + ".trained.keras");
  check_variables(model.weights(), trained.weights(), close);
  check_variables(model.optimizer().variables(), trained.optimizer().variables(), close);
}

TEST_CASE("random models of Keras's train to the same weights") {
  int first = 0, count = 20;
  if (const char* given = std::getenv("CORNU_RANDOM_MODELS")) {
    std::istringstream(given) >> first >> count;
  }
  const test::Scratch scratch;
  REQUIRE(test::run_python(CORNU_RANDOM_MODELS_SCRIPT,
                           fmt::format("'{}' {} {}", scratch.path(), first, count)) == 0);
  int checked = 0;
  for (int seed = first; seed < first + count; ++seed) {
    CAPTURE(seed);
    const std::string stem = scratch.path(std::to_string(seed));
    if (!std::filesystem::exists(stem + ".trained.keras")) continue;  // Keras can't, and said so
    CHECK_NOTHROW(check_model(stem));
    ++checked;
  }
  CHECK(checked >= count - 1 - count / 50);
}

}  // namespace
}  // namespace cornu
