// SPDX-License-Identifier: Apache-2.0
// The families of keras.applications, and the behavior that they share.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>

#include "applications/applications.h"
#include "framework/core/random.h"
#include "framework/model/functional.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/golden/golden_cases.h"
#include "tests/support/files.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::applications;
using test::error_of;

namespace {

using Maker = std::function<Model(const ApplicationOptions&)>;

// For a family that has more options.
template <class Options>
Maker with_options_of(Model (*make)(const Options&)) {
  return [make](const ApplicationOptions& given) {
    Options options;
    options.include_top = given.include_top;
    options.weights = given.weights;
    options.input_shape = given.input_shape;
    options.pooling = given.pooling;
    options.classes = given.classes;
    options.classifier_activation = given.classifier_activation;
    options.name = given.name;
    return make(options);
  };
}

const std::map<std::string, Maker> kMakers = {
    {"ResNet50", ResNet50},
    {"ResNet101", ResNet101},
    {"ResNet152", ResNet152},
    {"ResNet50V2", ResNet50V2},
    {"ResNet101V2", ResNet101V2},
    {"ResNet152V2", ResNet152V2},
    {"VGG16", VGG16},
    {"VGG19", VGG19},
    {"DenseNet121", DenseNet121},
    {"DenseNet169", DenseNet169},
    {"DenseNet201", DenseNet201},
    {"Xception", Xception},
    {"InceptionV3", InceptionV3},
    {"EfficientNetB0", EfficientNetB0},
    {"EfficientNetB1", EfficientNetB1},
    {"EfficientNetB2", EfficientNetB2},
    {"EfficientNetB3", EfficientNetB3},
    {"EfficientNetB4", EfficientNetB4},
    {"EfficientNetB5", EfficientNetB5},
    {"EfficientNetB6", EfficientNetB6},
    {"EfficientNetB7", EfficientNetB7},
    {"ConvNeXtTiny", with_options_of(ConvNeXtTiny)},
    {"ConvNeXtSmall", with_options_of(ConvNeXtSmall)},
    {"ConvNeXtBase", with_options_of(ConvNeXtBase)},
    {"ConvNeXtLarge", with_options_of(ConvNeXtLarge)},
    {"ConvNeXtXLarge", with_options_of(ConvNeXtXLarge)},
    {"InceptionResNetV2", InceptionResNetV2},
    {"NASNetMobile", with_options_of(NASNetMobile)},
    {"NASNetLarge", with_options_of(NASNetLarge)},
    {"MobileNet", with_options_of(MobileNet)},
    {"MobileNetV3Small", with_options_of(MobileNetV3Small)},
    {"MobileNetV3Large", with_options_of(MobileNetV3Large)},
    {"EfficientNetV2B0", with_options_of(EfficientNetV2B0)},
    {"EfficientNetV2B1", with_options_of(EfficientNetV2B1)},
    {"EfficientNetV2B2", with_options_of(EfficientNetV2B2)},
    {"EfficientNetV2B3", with_options_of(EfficientNetV2B3)},
    {"EfficientNetV2S", with_options_of(EfficientNetV2S)},
    {"EfficientNetV2M", with_options_of(EfficientNetV2M)},
    {"EfficientNetV2L", with_options_of(EfficientNetV2L)}};

ApplicationOptions family_options(const Json& arguments) {
  ApplicationOptions options = {.weights = nullptr};
  if (const Json* shape = arguments.find("input_shape")) options.input_shape = shape->as_shape();
  if (const Json* top = arguments.find("include_top")) options.include_top = top->as_bool();
  if (const Json* pooling = arguments.find("pooling")) options.pooling = pooling->as_string();
  if (const Json* classes = arguments.find("classes")) options.classes = classes->as_int();
  if (arguments.find("classifier_activation")) options.classifier_activation = {};
  if (const Json* name = arguments.find("name")) options.name = name->as_string();
  return options;
}

// The same checksum as zlib's.
int64_t crc32(const std::string& text) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0xEDB88320U : 0U);
  }
  return static_cast<int64_t>(~crc);
}

void check_digest(const std::vector<std::string>& lines, const Json& expected) {
  const std::string text = fmt::format("{}", fmt::join(lines, "\n"));
  CAPTURE(text);
  CHECK(static_cast<int64_t>(lines.size()) == expected[0].as_int());
  CHECK(crc32(text) == expected[1].as_int());
}

}  // namespace

TEST_CASE("families of applications are Keras's: names, shapes, parameters of all layers") {
  for (const Json& item : test::golden_cases("application_families").as_array()) {
    const std::string name = item.at("name").as_string();
    CAPTURE(name);
    clear_session();
    const Maker& make = kMakers.at(item.at("function").as_string());
    const Model model = make(family_options(item.at("arguments")));
    CHECK(model.name() == item.at("model").as_string());
    CHECK(model.output_shape() == item.at("output_shape").as_shape());
    CHECK(model.count_params() == item.at("parameters").as_int());
    std::vector<std::string> layers;
    for (const LayerHandle& layer : model.layers()) {
      if (dynamic_cast<const GraphOp*>(layer.shared().get())) continue;  // not a layer in Keras
      layers.push_back(fmt::format("{} {} {} {}", layer.get().class_name(), layer.name(),
                                   layer.output()[0].shape(), layer.count_params()));
    }
    check_digest(layers, item.at("layers"));
    std::vector<std::string> weights;
    for (const Variable& weight : model.weights()) {
      weights.push_back(
          fmt::format("{} {} {}", weight.path(), weight.shape(), weight.trainable() ? 1 : 0));
    }
    check_digest(weights, item.at("weights"));
  }
}

TEST_CASE("a small model of each family trains") {
  const std::vector<std::pair<const char*, int64_t>> cases = {
      {"ResNet50", 32},         {"ResNet50V2", 32},   {"VGG16", 32},
      {"DenseNet121", 32},      {"Xception", 71},     {"InceptionV3", 75},
      {"EfficientNetB0", 32},   {"MobileNet", 32},    {"MobileNetV3Small", 32},
      {"EfficientNetV2B0", 32}, {"ConvNeXtTiny", 32}, {"InceptionResNetV2", 75},
      {"NASNetMobile", 32}};
  for (const auto& item : cases) {
    const std::string name = item.first;
    CAPTURE(name);
    clear_session();
    set_random_seed(3);
    Model base = kMakers.at(name)({.include_top = false,
                                   .weights = nullptr,
                                   .input_shape = {item.second, item.second, 3},
                                   .pooling = "avg"});
    const Tensor y = layers::Dense({.units = 2, .activation = "softmax"})(base.outputs());
    Model model(base.inputs(), y);
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 1e-3}),
                   .loss = "sparse_categorical_crossentropy"});
    const Tensor before = model.trainable_weights()[0].value();
    const Tensor x = test::some_values({2, item.second, item.second, 3});
    const auto logs = model.train_on_batch(x, Tensor::from<int32_t>({0, 1}));
    CHECK(std::isfinite(logs.at("loss")));
    CHECK(test::distance(before, model.trainable_weights()[0].value()) > 0);
  }
}

TEST_CASE("options and weights that families refuse") {
  const test::Scratch scratch;
  const testing::EnvironmentScope cache("KERAS_HOME", scratch.path());
  CHECK(
      error_of([] { ResNet50(); }) ==
      "NotFound: ResNet50: the weights of ImageNet aren't downloaded by themselves. Give the path "
      "of their file as .weights (Keras has it at https://storage.googleapis.com/tensorflow/"
      "keras-applications/resnet/resnet50_weights_tf_dim_ordering_tf_kernels.h5), or .weights = "
      "nullptr for random ones.");
  CHECK(error_of([] {
          DenseNet169({.include_top = false});
        }).find("densenet/densenet169_weights_tf_dim_ordering_tf_kernels_notop.h5") !=
        std::string::npos);
  CHECK(error_of([] { VGG19({.weights = "/nowhere/w.h5"}); }) ==
        "NotFound: VGG19: expected weights to be the path of a file, \"imagenet\" or none (random "
        "ones), but there is no file '/nowhere/w.h5'.");
  CHECK(error_of([] { ResNet101V2({.classes = 5}); }) ==
        "InvalidArgument: ResNet101V2: expected 1000 classes with include_top and the weights of "
        "ImageNet, got 5.");
  CHECK(error_of([] {
          Xception({.weights = {}, .input_shape = {70, 80, 3}});
        }) ==
        "InvalidArgument: Xception: expected an input of at least 71 x 71 pixels, got input_shape "
        "(70, 80, 3).");
  CHECK(error_of([] {
          Xception({.input_shape = {224, 224, 3}});
        }) ==
        "InvalidArgument: Xception: expected input_shape (299, 299, 3) with include_top and the "
        "weights of ImageNet, got (224, 224, 3).");
  CHECK(error_of([] { MobileNet({.alpha = 0.3}); }) ==
        "InvalidArgument: MobileNet: expected alpha to be one of 0.25, 0.5, 0.75, 1, as there are "
        "weights of ImageNet for, got 0.3.");
  CHECK(error_of([] { MobileNet({.alpha = 0.5}); }).find("mobilenet/mobilenet_5_0_224_tf.h5") !=
        std::string::npos);
  CHECK(
      error_of([] { MobileNet({.depth_multiplier = 2}); }) ==
      "InvalidArgument: MobileNet: expected a depth_multiplier of 1 with the weights of ImageNet, "
      "got 2.");
  CHECK(error_of([] { MobileNetV3Small({.alpha = 0.75, .minimalistic = true}); }) ==
        "InvalidArgument: MobileNetV3Small: expected an alpha of 1, or 0.75 where it isn't "
        "minimalistic, as there are weights of ImageNet for, got 0.75.");
  CHECK(
      error_of([] {
        MobileNetV3Large({.minimalistic = true, .include_top = false});
      }).find("mobilenet_v3/weights_mobilenet_v3_large_minimalistic_224_1.0_float_no_top_v2.h5") !=
      std::string::npos);
  CHECK(error_of([] {
          EfficientNetV2S({.include_top = false});
        }).find("efficientnet_v2/efficientnetv2-s_notop.h5") != std::string::npos);
  CHECK(error_of([] { VGG16({.include_top = false, .weights = {}, .pooling = "mean"}); }) ==
        "InvalidArgument: VGG16: expected pooling 'avg', 'max' or none, got 'mean'.");
}

TEST_CASE("weights of families go through files, and a file of another model is refused") {
  const test::Scratch scratch;
  ApplicationOptions small = {.include_top = false, .weights = nullptr, .input_shape = {32, 32, 3}};
  Model model = DenseNet121(small);
  const std::string path = scratch.path("d.weights.h5");
  model.save_weights(path);
  small.weights = path;
  const Tensor x = test::some_values({1, 32, 32, 3});
  CHECK(test::distance(DenseNet121(small)(x), model(x)) == 0);
  const std::string error = error_of([&] { VGG16(small); });
  CHECK(error == "InvalidArgument: " + path +
                     ": Conv2D 'block1_conv1' expected 2 weights at 'layers/conv2d/vars', got 1. "
                     "Load it into a model with the layers of the one that was saved, in the same "
                     "order.");
  small.include_top = true;
  small.classifier_activation = "sigmoid";
  CHECK(error_of([&] { VGG16(small); }) ==
        "InvalidArgument: VGG16: expected classifier_activation 'softmax' or none with trained "
        "weights, got 'sigmoid'.");
}

TEST_CASE("pixels as models want them") {
  const Tensor pixels = Tensor::from<uint8_t>({{10, 20, 30}});
  const Tensor caffe = vgg16::preprocess_input(pixels);
  CHECK(caffe.dtype() == DType::Float32);
  CHECK(caffe.to_vector<float>() == std::vector<float>{30 - 103.939F, 20 - 116.779F, 10 - 123.68F});
  const Tensor torch = densenet::preprocess_input(pixels);
  const Tensor expected =
      Tensor::from<float>({{(10 / 255.F - 0.485F) / 0.229F, (20 / 255.F - 0.456F) / 0.224F,
                            (30 / 255.F - 0.406F) / 0.225F}});
  CHECK(test::distance(torch, expected) < 1e-5);
  for (const auto preprocess : {xception::preprocess_input, inception_v3::preprocess_input,
                                mobilenet::preprocess_input, inception_resnet_v2::preprocess_input,
                                nasnet::preprocess_input, resnet_v2::preprocess_input}) {
    CHECK(preprocess(pixels).to_vector<float>()[0] == 10 / 127.5F - 1);
  }
  CHECK(is_placeholder(resnet::preprocess_input(Input({.shape = {4, 4, 3}}))));
  CHECK(error_of([] {
          resnet::preprocess_input(ops::zeros({2, 2, 1}));
        }) ==
        "InvalidArgument: preprocess_input: expected 3 channels, (…, red green blue), got (2, 2, "
        "1).");
}

TEST_CASE("predictions have names") {
  const test::Scratch scratch;
  const testing::EnvironmentScope cache("KERAS_HOME", scratch.path());
  std::filesystem::create_directory(scratch.path("models"));
  const std::string path = scratch.path("models/imagenet_class_index.json");
  std::vector<float> scores(1000, 0.F);
  scores[7] = 0.25F;
  scores[999] = 0.5F;
  const Tensor preds = ops::reshape(Tensor::from(scores), {1, 1000});
  CHECK(error_of([&] { resnet::decode_predictions(preds, 5); }) ==
        fmt::format("NotFound: decode_predictions: there is no file '{}' with the names of the "
                    "classes. Nothing is downloaded: get it from https://storage.googleapis.com/"
                    "download.tensorflow.org/data/imagenet_class_index.json.",
                    path));
  std::ofstream(path) << "{\"0\": [\"n0\", \"zero\"]}";
  CHECK(error_of([&] { resnet::decode_predictions(preds, 5); }) ==
        fmt::format("DataLoss: decode_predictions: expected '{}' to give class 1 as [id, name]. "
                    "Download the file again.",
                    path));
  std::string json = "{";
  for (int i = 0; i < 1000; ++i) {
    json += fmt::format("{}\"{}\": [\"n{}\", \"class {}\"]", i ? ", " : "", i, i, i);
  }
  std::ofstream(path) << json << "}";
  const auto decoded = mobilenet_v2::decode_predictions(preds, 2);
  REQUIRE(decoded.size() == 1);
  REQUIRE(decoded[0].size() == 2);
  CHECK(decoded[0][0].name == "class 999");
  CHECK(decoded[0][0].class_id == "n999");
  CHECK(decoded[0][0].score == 0.5);
  CHECK(decoded[0][1].name == "class 7");
  scores[500] = NAN;
  const Tensor with_nan = ops::reshape(Tensor::from(scores), {1, 1000});
  const auto after_nan = mobilenet_v2::decode_predictions(with_nan, 3);
  CHECK(after_nan[0][0].name == "class 500");
  CHECK(after_nan[0][1].name == "class 999");
  CHECK(after_nan[0][2].name == "class 7");
  CHECK(error_of([&] { vgg16::decode_predictions(preds, 0); }) ==
        "InvalidArgument: decode_predictions: expected top >= 1, got 0.");
  CHECK(
      error_of([] {
        vgg16::decode_predictions(ops::zeros({1, 10}), 5);
      }) ==
      "InvalidArgument: decode_predictions: expected a batch of predictions, (samples, 1000), got "
      "(1, 10).");
}
