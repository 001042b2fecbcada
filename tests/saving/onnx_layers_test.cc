// SPDX-License-Identifier: Apache-2.0
// Every layer case of the golden files, exported as an ONNX model with that layer.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "tests/golden/layer_case.h"
#include "tests/saving/onnx_cases.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

namespace cornu::test {
namespace {

// The outcome: exported cases by class, and rejections with their messages.
struct Report {
  std::set<std::string> classes;
  std::map<std::string, std::string> refused;  // by case
};

struct LayerCall {
  LayerHandle layer;
  std::vector<Tensor> inputs;
  std::vector<Tensor> masks = {};  // undefined for inputs without a mask; may be fewer than inputs
  std::vector<std::string> names = {};
  std::optional<Json> settings = {};
};

// The inputs of the model, including masks.
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

// The layer of a golden case with its weights, and how to call it.
LayerCall call_of(const Json& item) {
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
  return call;
}

// Registers the lambdas of golden files.
void register_lambdas() {
  const auto add = [](const char* name, const auto& function) {
    if (!layers::lambda_registry().find(name)) layers::lambda_registry().add(name, function);
  };
  add("golden>scaled", [](const Tensors& x, const CallArgs&, const Json& arguments) {
    const Json* factor = arguments.find("factor");
    return x.single() * (factor ? factor->as_double() : 2.0);
  });
  add("golden>difference",
      [](const Tensors& x, const CallArgs&, const Json&) { return x[0] - x[1]; });
}

void print(const std::string& what, const OnnxCases& cases, const Report& report) {
  MESSAGE(what << ": " << cases.count() << " cases of " << report.classes.size()
               << " classes exported, " << report.refused.size() << " refused");
  for (const auto& [name, text] : report.refused) MESSAGE(name << ": " << text);
}

TEST_CASE("layers of the golden files in onnxruntime") {
  register_lambdas();
  OnnxCases cases;
  Report report;
  for (const Json& item : golden_cases("layers").as_array()) {
    CAPTURE(item.at("name").as_string());
    export_case(item.at("name").as_string(), call_of(item), cases, report, 1e-5);
  }
  print("layers", cases, report);
  CHECK(cases.count() > 600);
  CHECK(report.classes.size() == 93);
  // Stateful layers need a known batch size, which this test's Input doesn't have.
  REQUIRE(report.refused.size() == 5);
  for (const auto& [name, text] : report.refused)
    CHECK(name.find("_stateful") != std::string::npos);
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
    // Colors range up to 255.
    export_case(item.at("name").as_string(), call, cases, report, 2e-5);
  }
  print("layers of pictures", cases, report);
  CHECK(cases.count() > 100);
  CHECK(report.refused.empty());
  CHECK(cases.check());
}

TEST_CASE("layers of numbers and categories in onnxruntime") {
  const Tensor values = ops::reshape(ops::arange(-6.0, 6.0, 0.5), {8, 3});
  const Tensor ids = ops::reshape(ops::arange(16), {8, 2});
  const layers::Normalization normalization;
  normalization.adapt(values);
  const layers::Discretization bins({.num_bins = 4});
  bins.adapt(values);
  const layers::Discretization many_hot({.bin_boundaries = {-1, 0, 2}, .output_mode = "multi_hot"});
  const Tensor whole_numbers = Tensor::from<int64_t>(
      {0, -1, 7, 42, -99, 12345, 10000000, -123456789, 99999999999, -9876543210987654, 1000, 16,
       123456789012345678, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
       -1000000000000000000},
      {8, 2});
  const std::vector<std::pair<LayerHandle, Tensor>> calls = {
      {layers::Hashing({.num_bins = 11}), whole_numbers},
      {layers::Hashing({.num_bins = 11, .mask_value = 7, .salt = 133}), whole_numbers},
      {layers::Hashing({.num_bins = 5, .output_mode = "multi_hot"}), whole_numbers},
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

// ---- all layers ----

// The layers that have no golden cases.
std::map<std::string, LayerCall> other_calls() {
  const Tensor ids = ops::reshape(ops::arange(8), {4, 2});
  const Tensor column = ops::reshape(ops::arange(4), {4, 1});
  const Tensor row = ops::reshape(ops::arange(-1.0, 1.0, 0.25), {2, 4});
  const Tensor state = ops::reshape(ops::arange(-0.5, 0.5, 0.25), {2, 2});
  const Tensor words = Tensor::from<std::string>({"a", "b"}, {2, 1});
  const Tensor picture = ops::reshape(ops::arange(96.0), {2, 4, 4, 3});
  const layers::Discretization bins({.bin_boundaries = {1, 3}});
  const std::vector<LayerHandle> stack = {layers::GRUCell({.units = 2}),
                                          layers::LSTMCell({.units = 2})};
  return {
      {"CategoryEncoding", {layers::CategoryEncoding({.num_tokens = 8}), {ids}}},
      {"Discretization", {bins, {row}}},
      {"GRUCell", {layers::GRUCell({.units = 2}), {row, state}}},
      {"HashedCrossing", {layers::HashedCrossing({.num_bins = 5}), {column, column + 3}}},
      {"Hashing", {layers::Hashing({.num_bins = 5}), {ids}}},
      {"IntegerLookup", {layers::IntegerLookup({.vocabulary = {4, 6}}), {ids}}},
      {"LSTMCell", {layers::LSTMCell({.units = 2}), {row, state, state}}},
      {"MaxNumBoundingBoxes",
       {.layer = layers::MaxNumBoundingBoxes({.max_number = 3}),
        .inputs = {ops::reshape(ops::arange(16.0), {2, 2, 4}), ids(Slice(0, 2))},
        .names = {"bounding_boxes/boxes", "bounding_boxes/labels"}}},
      {"MelSpectrogram",
       {layers::MelSpectrogram({.fft_length = 16, .sequence_stride = 4, .num_mel_bins = 4}),
        {ops::reshape(ops::sin(ops::arange(128.0)), {2, 64})}}},
      {"RandomHue", {layers::RandomHue({.factor = 0.5}), {picture}}},
      {"SimpleRNNCell", {layers::SimpleRNNCell({.units = 2}), {row, state}}},
      {"StackedRNNCells", {layers::StackedRNNCells(stack), {row, state, state, state}}},
      {"StringLookup", {layers::StringLookup({.vocabulary = {"a"}}), {words}}},
      {"TextVectorization", {layers::TextVectorization({.vocabulary = {"a"}}), {words}}},
  };
}

// By class: its first golden case, or another call.
std::map<std::string, LayerCall> all_calls() {
  std::map<std::string, LayerCall> calls = other_calls();
  for (const Json& item : golden_cases("layers").as_array()) {
    const std::string& name = item.at("object").at("class_name").as_string();
    if (!calls.contains(name)) calls.emplace(name, call_of(item));
  }
  for (const Json& item : golden_cases("image_layers").as_array()) {
    const std::string& name = item.at("object").at("class_name").as_string();
    const Tensor x = golden_tensor(item.at("input"));
    if (x.rank() != 4 || calls.contains(name)) continue;
    calls.emplace(name, LayerCall{.layer = layer_from_json(item.at("object")), .inputs = {x}});
  }
  return calls;
}

// The classes of keras.layers without duplicates, by the name of the class there if it has one.
std::set<std::string> keras_layers() {
  std::set<std::string> names;
  for (const Json& module : golden_cases("surface").as_array()) {
    if (module.at("name").as_string() != "keras.layers") continue;
    std::set<std::string> exported;
    for (const Json& name : module.at("names").as_array()) exported.insert(name.as_string());
    for (size_t i = 0; i < module.at("names").size(); ++i) {
      const std::string& real = module.at("classes")[i].as_string();
      names.insert(exported.contains(real) ? real : module.at("names")[i].as_string());
    }
  }
  return names;
}

TEST_CASE("every layer of Keras's in onnxruntime, or why not") {
  // For other backends, or base classes.
  const std::set<std::string> no_layers = {"FlaxLayer",          "InputLayer", "InputSpec",
                                           "JaxLayer",           "Layer",      "TFSMLayer",
                                           "TorchModuleWrapper", "Wrapper"};
  const std::set<std::string> of_texts = {"StringLookup", "TextVectorization"};
  register_lambdas();
  const Scratch scratch;
  OnnxCases cases;
  Report report;
  const std::map<std::string, LayerCall> calls = all_calls();
  for (const std::string& name : keras_layers()) {
    if (no_layers.contains(name)) continue;
    CAPTURE(name);
    REQUIRE(calls.contains(name));
    if (of_texts.contains(name)) {
      Model model = model_of(calls.at(name));
      CHECK(contains(
          message_of<Unimplemented>([&] { model.export_(scratch.path("m.onnx")); }),
          "its input 'x0' is of strings, which Cornu's ops don't take. Export the part of the "
          "model behind the layers that make numbers of them."));
    } else {
      export_case(name, calls.at(name), cases, report, 1e-5);
    }
  }
  print("every layer", cases, report);
  CHECK(report.refused.empty());
  CHECK(cases.count() == 134);
  CHECK(cases.check());
}

}  // namespace
}  // namespace cornu::test
