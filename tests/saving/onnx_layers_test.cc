// SPDX-License-Identifier: Apache-2.0
// Every layer case of the golden files as an ONNX model of that layer.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"
#include "tests/saving/onnx_cases.h"

namespace cornu::test {
namespace {

// What came out: exported cases by class, and refusals with their texts.
struct Report {
  std::set<std::string> classes;
  std::map<std::string, std::string> refused;  // by case
};

struct LayerCall {
  LayerHandle layer;
  std::vector<Tensor> inputs;
  std::vector<Tensor> masks = {};  // undefined where an input has none; fewer than inputs
  std::vector<std::string> names = {};
  std::optional<Json> settings = {};
};

// What a model is given, masks too.
std::vector<Tensor> operands_of(const LayerCall& call) {
  std::vector<Tensor> all = call.inputs;
  for (const Tensor& mask : call.masks) {
    if (mask.defined()) all.push_back(mask);
  }
  return all;
}

Model model_of(const LayerCall& call) {
  std::vector<Tensor> inputs;
  for (const Tensor& x : operands_of(call)) {
    inputs.push_back(Input({.shape = x.shape().slice(1),
                            .dtype = x.dtype(),
                            .name = fmt::format("x{}", inputs.size())}));
  }
  const auto end = inputs.begin() + static_cast<int64_t>(call.inputs.size());
  CallOptions options;
  if (!call.masks.empty()) {
    std::vector<Tensor> masks(call.inputs.size());
    auto next = end;
    for (size_t i = 0; i < call.masks.size(); ++i) {
      if (call.masks[i].defined()) masks[i] = *next++;
    }
    options.mask = masks;
  }
  if (call.settings) options.settings = *call.settings;
  std::vector<Tensors::Named> named;
  for (size_t i = 0; i < call.names.size(); ++i) named.emplace_back(call.names[i], inputs[i]);
  const Tensors given = named.empty() ? Tensors(std::vector<Tensor>(inputs.begin(), end))
                                      : Tensors::named(std::move(named));
  return Model(inputs, call.layer(given, options));
}

void export_case(const std::string& name, const LayerCall& call, OnnxCases& cases, Report& report,
                 double tolerance) {
  try {
    Model model = model_of(call);
    cases.add({.name = name, .tolerance = tolerance}, model, batches_of(operands_of(call)));
    report.classes.insert(call.layer.get().class_name());
  } catch (const Error& error) {
    report.refused[name] = error.what();
  }
}

void export_layer(const Json& item, OnnxCases& cases, Report& report) {
  LayerCall call{.layer = layer_from_json(item.at("object")),
                 .inputs = golden_tensors(item.at("inputs"))};
  build_layer(call.layer, item, call.inputs);
  call.layer.set_weights(golden_tensors(item.at("weights")));
  const Json& arguments = item.at("call_arguments");
  if (const Json* names = arguments.find("names")) {
    for (const Json& name : names->as_array()) call.names.push_back(name.as_string());
  }
  if (const Json* settings = arguments.find("settings")) call.settings = *settings;
  if (const Json* masks = arguments.find("masks")) {
    call.masks = golden_tensors(*masks);
  }
  export_case(item.at("name").as_string(), call, cases, report, 1e-5);
}

void print(const std::string& what, const OnnxCases& cases, const Report& report) {
  MESSAGE(what << ": " << cases.count() << " cases of " << report.classes.size()
               << " classes exported, " << report.refused.size() << " refused");
  for (const auto& [name, text] : report.refused) MESSAGE(name << ": " << text);
}

TEST_CASE("layers of the golden files in onnxruntime") {
  layers::lambda_registry().add("golden>scaled",
                                [](const Tensors& x, const CallArgs&, const Json& arguments) {
                                  const Json* factor = arguments.find("factor");
                                  return x.single() * (factor ? factor->as_double() : 2.0);
                                });
  layers::lambda_registry().add("golden>difference", [](const Tensors& x, const CallArgs&,
                                                        const Json&) { return x[0] - x[1]; });
  OnnxCases cases;
  Report report;
  for (const Json& item : golden_cases("layers").as_array()) {
    CAPTURE(item.at("name").as_string());
    export_layer(item, cases, report);
  }
  print("layers", cases, report);
  CHECK(cases.count() > 600);
  CHECK(report.classes.size() == 93);
  // Layers that keep states know their batch, which the Input of this test doesn't.
  REQUIRE(report.refused.size() == 3);
  for (const auto& [name, text] : report.refused) CHECK(name.ends_with("_stateful"));
  CHECK(cases.check());
}

TEST_CASE("layers of pictures in onnxruntime") {
  OnnxCases cases;
  Report report;
  for (const Json& item : golden_cases("image_layers").as_array()) {
    CAPTURE(item.at("name").as_string());
    const Tensor x = golden_tensor(item.at("input"));
    if (x.rank() != 4 || item.at("drawn").as_bool()) continue;
    const LayerCall call{.layer = layer_from_json(item.at("object")), .inputs = {x}};
    // Colors go up to 255.
    export_case(item.at("name").as_string(), call, cases, report, 2e-5);
  }
  print("layers of pictures", cases, report);
  CHECK(cases.count() > 100);
  CHECK(report.refused.empty());
  CHECK(cases.check());
}

// Without Hashing, whose uint64 onnxruntime has no Where for.
TEST_CASE("layers of numbers and categories in onnxruntime") {
  const Tensor values = ops::reshape(ops::arange(-6.0, 6.0, 0.5), {8, 3});
  const Tensor ids = ops::reshape(ops::arange(16), {8, 2});
  const layers::Normalization normalization;
  normalization.adapt(values);
  const layers::Discretization bins({.num_bins = 4});
  bins.adapt(values);
  const layers::Discretization many_hot({.bin_boundaries = {-1, 0, 2}, .output_mode = "multi_hot"});
  const std::vector<std::pair<LayerHandle, Tensor>> calls = {
      {normalization, values},
      {bins, values},
      {many_hot, values},
      {layers::IntegerLookup({.vocabulary = {4, 9}}), ids},
      {layers::IntegerLookup({.vocabulary = {4, 9}, .output_mode = "count"}), ids},
      {layers::CategoryEncoding({.num_tokens = 16}), ids},
      {layers::CategoryEncoding({.num_tokens = 16, .output_mode = "count"}), ids},
      {layers::CategoryEncoding({.num_tokens = 16, .output_mode = "one_hot"}), ids(Slice(), 0)},
      {layers::Rescaling({.scale = 0.5, .offset = 1}), values},
      {layers::MelSpectrogram({.fft_length = 16, .sequence_stride = 4, .num_mel_bins = 4}),
       ops::reshape(ops::sin(ops::arange(128.0)), {2, 64})},
  };
  OnnxCases cases;
  Report report;
  for (const auto& [layer, x] : calls) {
    export_case(layer.get().name(), {.layer = layer, .inputs = {x}}, cases, report, 2e-5);
  }
  print("layers of numbers and categories", cases, report);
  CHECK(report.refused.empty());
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
