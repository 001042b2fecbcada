// SPDX-License-Identifier: Apache-2.0
#include "applications/mobilenet_v2.h"

#include <doctest/doctest.h>

#include "framework/core/random.h"
#include "framework/io/atomic_file.h"
#include "framework/ops/ops.h"
#include "framework/saving/hdf5_file.h"
#include "layers/layers.h"
#include "tests/golden/golden_cases.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using applications::MobileNetV2;
using applications::MobileNetV2Options;
using test::error_of;

namespace {

MobileNetV2Options options_from(const Json& arguments) {
  MobileNetV2Options options = {.weights = nullptr};
  if (const Json* shape = arguments.find("input_shape")) options.input_shape = shape->as_shape();
  if (const Json* alpha = arguments.find("alpha")) options.alpha = alpha->as_double();
  if (const Json* top = arguments.find("include_top")) options.include_top = top->as_bool();
  if (const Json* pooling = arguments.find("pooling")) options.pooling = pooling->as_string();
  if (const Json* classes = arguments.find("classes")) options.classes = classes->as_int();
  if (arguments.find("classifier_activation")) options.classifier_activation = {};
  if (const Json* name = arguments.find("name")) options.name = name->as_string();
  return options;
}

// Small and fast to build.
const MobileNetV2Options kSmall = {
    .input_shape = {32, 32, 3}, .alpha = 0.1, .include_top = false, .weights = {}};

std::string option_error(const MobileNetV2Options& options) {
  return error_of([&] { MobileNetV2(options); });
}

}  // namespace

TEST_CASE("MobileNetV2 is Keras's: names, shapes, parameters") {
  for (const Json& item : test::golden_cases("applications").as_array()) {
    CAPTURE(item.at("name").as_string());
    clear_session();
    const Model model = MobileNetV2(options_from(item.at("arguments")));
    CHECK(model.name() == item.at("model").as_string());
    CHECK(model.input_shape() == item.at("input_shape").as_shape());
    CHECK(model.output_shape() == item.at("output_shape").as_shape());
    CHECK(model.count_params() == item.at("parameters").as_int());
    const Json& layers = item.at("layers");
    const std::vector<LayerHandle> made = model.layers();
    REQUIRE(made.size() == layers.size());
    for (size_t i = 0; i < layers.size(); ++i) {
      CHECK(made[i].get().class_name() == layers[i][0].as_string());
      CHECK(made[i].name() == layers[i][1].as_string());
    }
    const Json& weights = item.at("weights");
    const std::vector<Variable> variables = model.weights();
    REQUIRE(variables.size() == weights.size());
    for (size_t i = 0; i < weights.size(); ++i) {
      const Variable& weight = variables[i];
      CHECK(weight.path() == weights[i][0].as_string());
      CHECK(weight.shape() == weights[i][1].as_shape());
      CHECK(weight.trainable() == weights[i][2].as_bool());
    }
  }
}

TEST_CASE("MobileNetV2 on a placeholder, and its shares in other models") {
  const Tensor pictures = Input({.shape = {48, 32, 3}, .name = "pictures"});
  const Tensor scaled = applications::mobilenet_v2::preprocess_input(pictures);
  MobileNetV2Options options = kSmall;
  options.input_shape = {};
  options.input_tensor = scaled;
  Model model = MobileNetV2(options);
  CHECK(model.name() == "mobilenetv2_0.10_None");
  CHECK(model.inputs().size() == 1);
  CHECK(model.input_shape() == Shape{kUnknown, 48, 32, 3});
  CHECK(model.output_shape() == Shape{kUnknown, 2, 1, 1280});
  const Tensor x = test::some_values({2, 48, 32, 3}) * 100 + 100;
  const Tensor y = model.predict(x, {.verbose = 0});
  options = kSmall;
  options.input_shape = {48, 32, 3};
  Model base = MobileNetV2(options);
  base.set_weights(model.get_weights());
  const Tensor again = base(applications::mobilenet_v2::preprocess_input(x));
  CHECK(test::distance(y, again) < 1e-4);
}

TEST_CASE("pixels become -1 to 1") {
  using applications::mobilenet_v2::preprocess_input;
  const Tensor bytes = preprocess_input(Tensor::from<uint8_t>({0, 51, 255}));
  CHECK(bytes.dtype() == DType::Float32);
  CHECK(bytes.to_vector<float>() == std::vector<float>{-1, 51 / 127.5f - 1, 1});
  CHECK(preprocess_input(Tensor::from<double>({127.5})).dtype() == DType::Float64);
  CHECK(is_placeholder(preprocess_input(Input({.shape = {4, 4, 3}}))));
}

TEST_CASE("weights that aren't there, and options that don't go together") {
  const char* none = std::getenv("CORNU_NO_SUCH_VARIABLE");
  MobileNetV2Options quick = kSmall;
  quick.weights = none;
  CHECK(option_error(quick) == "");
  CHECK(option_error({}) ==
        "NotFound: MobileNetV2: the weights of ImageNet aren't downloaded by themselves. Give the "
        "path of their file as .weights (Keras has it at https://storage.googleapis.com/tensorflow/"
        "keras-applications/mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_224"
        ".h5), or .weights = nullptr for random ones.");
  const std::string small = option_error(
      {.input_shape = {160, 160, 3}, .alpha = 0.35, .include_top = false, .weights = "imagenet"});
  CHECK(small.find("tf_kernels_0.35_160_no_top.h5") != std::string::npos);
  CHECK(option_error({.weights = "/nowhere/w.h5"}) ==
        "NotFound: MobileNetV2: expected weights to be the path of a file, \"imagenet\" or none "
        "(random ones), but there is no file '/nowhere/w.h5'.");
  const std::vector<std::pair<MobileNetV2Options, const char*>> cases = {
      {{.classes = 5},
       "expected 1000 classes with include_top and the weights of ImageNet, got 5."},
      {{.alpha = 0.6},
       "expected alpha to be one of 0.35, 0.5, 0.75, 1, 1.3, 1.4, as there are "
       "weights of ImageNet for, got 0.6."},
      {{.alpha = 0, .weights = {}}, "expected alpha > 0, got 0."},
      {{.input_shape = {100, 100, 3}},
       "expected input_shape (224, 224, 3) with include_top and the weights of ImageNet, got (100, "
       "100, 3)."},
      {{.input_shape = {64, 64, 1}, .include_top = false},
       "expected 3 channels with the weights of ImageNet, got input_shape (64, 64, 1)."},
      {{.input_shape = {31, 64, 3}, .weights = {}},
       "expected an input of at least 32 x 32 pixels, got input_shape (31, 64, 3)."},
      {{.input_shape = {64, 64}, .weights = {}},
       "expected input_shape (height, width, channels), got (64, 64)."},
      {{.input_shape = {kUnknown, 64, 3}, .weights = {}},
       "expected a static input_shape with include_top, got (None, 64, 3)."},
      {{.include_top = false, .weights = {}, .pooling = "mean"},
       "expected pooling 'avg', 'max' or none, got 'mean'."},
      {{.input_shape = {64, 64, 3}, .weights = {}, .input_tensor = Input({.shape = {64, 96, 3}})},
       "expected input_tensor (None, 64, 96, 3) to be as wide as input_shape (64, 64, 3)."},
      {{.weights = {}, .input_tensor = ops::zeros({1, 32, 32, 3})},
       "expected input_tensor to be a placeholder, of Input or of layers called on one, got a "
       "tensor of shape (1, 32, 32, 3)."},
  };
  for (const auto& [options, text] : cases) {
    CHECK(option_error(options) == std::string("InvalidArgument: MobileNetV2: ") + text);
  }
}

TEST_CASE("weights go through files, and a file of another model is refused") {
  const test::Scratch scratch;
  Model model = MobileNetV2(kSmall);
  model.save_weights(scratch.path("w.weights.h5"));
  model.save(scratch.path("m.keras"));
  const Tensor x = test::some_values({2, 32, 32, 3});
  const Tensor expected = model(x);
  for (const char* file : {"w.weights.h5", "m.keras"}) {
    MobileNetV2Options options = kSmall;
    options.weights = scratch.path(file);
    CHECK(test::distance(MobileNetV2(options)(x), expected) == 0);
    options.alpha = 0.35;
    CHECK(option_error(options).find("expected shape") != std::string::npos);
    options.include_top = true;
    options.classifier_activation = "sigmoid";
    CHECK(option_error(options) ==
          "InvalidArgument: MobileNetV2: expected classifier_activation 'softmax' or none with "
          "trained weights, got 'sigmoid'.");
  }
}
