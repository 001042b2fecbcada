// SPDX-License-Identifier: Apache-2.0
#include "tests/saving/onnx_cases.h"

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

// Describes the tensors and adds their bytes.
Json stored(const Tensors& tensors, std::string& bytes) {
  Json::Array list;
  for (const Tensor& given : tensors) {
    const bool narrow = given.dtype() == DType::BFloat16;  // float32 in the file
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
}

bool OnnxCases::check() const {
  const std::string path = scratch_.path("cases.json");
  write_file_atomically(path, std::string_view(Json(cases_).dump()));
  return run_python(CORNU_ONNX_SCRIPT, path) == 0;
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
