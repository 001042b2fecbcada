// SPDX-License-Identifier: Apache-2.0
#include "tests/saving/onnx_cases.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include "framework/core/random.h"
#include "framework/io/atomic_file.h"
#include "framework/ops/ops.h"
#include "tests/support/python.h"

namespace cornu::test {
namespace {

Json list_of(const std::vector<std::string>& texts) {
  return Json::Array(texts.begin(), texts.end());
}

Json list_or_null(const std::optional<std::vector<std::string>>& texts) {
  return texts ? list_of(*texts) : Json();
}

// Describes the tensors and appends their bytes.
Json stored(const Tensors& tensors, std::string& bytes) {
  Json::Array list;
  for (const Tensor& given : tensors) {
    const bool narrow = given.dtype() == DType::BFloat16;  // stored as float32
    const Tensor x = narrow ? ops::cast(given, DType::Float32) : given;
    list.push_back(Json::object({{"dtype", to_string(x.dtype())}, {"shape", x.shape()}}));
    bytes.append(reinterpret_cast<const char*>(x.raw()), x.bytes());
  }
  return list;
}

}  // namespace

void OnnxCases::add(const OnnxCase& what, Model& model, const std::vector<Tensors>& inputs,
                    const ExportOptions& options) {
  std::vector<Tensors> expected;
  for (const Tensors& x : inputs) expected.push_back(model.predict_on_batch(x));
  add_expecting(what, model, inputs, expected, options);
}

void OnnxCases::add_expecting(const OnnxCase& what, Model& model,
                              const std::vector<Tensors>& inputs,
                              const std::vector<Tensors>& expected, const ExportOptions& options) {
  const std::string stem = scratch_.path(fmt::format("{}", cases_.size()));
  model.export_(stem + ".onnx", options);
  std::string bytes;
  Json::Array runs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Json in = stored(inputs[i], bytes);
    runs.push_back(Json::object({{"inputs", in}, {"outputs", stored(expected[i], bytes)}}));
  }
  write_file_atomically(stem + ".bin", std::string_view(bytes));
  cases_.push_back(Json::object({{"name", what.name},
                                 {"stem", stem},
                                 {"tolerance", what.tolerance},
                                 {"weights", list_of(what.weights)},
                                 {"operators", list_of(what.operators)},
                                 {"loops", list_or_null(what.loops)},
                                 {"external", list_or_null(what.external)},
                                 {"open_batch", what.open_batch},
                                 {"opset", options.opset_version},
                                 {"runs", std::move(runs)}}));
  read_again(what, stem + ".onnx", inputs, expected);
}

void OnnxCases::read_again(const OnnxCase& what, const std::string& path,
                           const std::vector<Tensors>& inputs,
                           const std::vector<Tensors>& expected) {
  CAPTURE(what.name);
  std::optional<Model> model;
  try {
    model = load_model(path);
  } catch (const Error& error) {
    const std::string text = error.what();
    bool known = false;
    for (const char* what : {"(Scan): this operator isn't read", "(Loop): this operator isn't read",
                             "it depends on the size of an axis that isn't known",
                             "it takes as many elements of an axis as another one has"}) {
      if (!contains(text, what)) continue;
      ++unread_[what];
      known = true;
    }
    CAPTURE(text);
    CHECK(known);
    return;
  }
  ++read_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensor> given;
    for (const Tensor& x : inputs[i]) {
      given.push_back(x.dtype() == DType::BFloat16 ? ops::cast(x, DType::Float32) : x);
    }
    const Tensors found = model->predict_on_batch(given);
    REQUIRE(found.size() == expected[i].size());
    for (size_t output = 0; output < found.size(); ++output) {
      CHECK(difference(found[output], expected[i][output]) <= std::max(what.tolerance, 2e-5));
    }
  }
}

bool OnnxCases::check() const {
  const std::string path = scratch_.path("cases.json");
  write_file_atomically(path, std::string_view(Json(cases_).dump()));
  std::printf("%d of %zu models are read again", read_, cases_.size());
  for (const auto& [op, count] : unread_) std::printf("; %d not: %s", count, op.c_str());
  std::printf("\n");
  std::fflush(stdout);
  return run_python(CORNU_ONNX_SCRIPT, path) == 0;
}

double difference(const Tensor& found, const Tensor& wanted) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (found.shape() != wanted.shape()) return kInfinite;
  const Tensor a = ops::cast(found, DType::Float64), b = ops::cast(wanted, DType::Float64);
  double greatest = 0;
  for (size_t i = 0; i < a.data<double>().size(); ++i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double off = std::abs(x - y) / std::max(1.0, std::abs(y));
    greatest = std::isnan(off) ? kInfinite : std::max(greatest, off);
  }
  return greatest;
}

Tensor numbers(const Shape& shape, int64_t seed) { return random::normal(shape, {.seed = seed}); }

std::vector<Tensors> batches_of(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> one, more;
  for (const Tensor& x : inputs) {
    one.push_back(x.rows(0, 1));
    more.push_back(ops::concatenate({x, x.rows(0, 1)}, 0));
  }
  return {Tensors(one), Tensors(more)};
}

}  // namespace cornu::test
