// SPDX-License-Identifier: Apache-2.0
// The messages users get when they use a layer wrongly.
#include <doctest/doctest.h>

#include "framework/graph/function.h"
#include "framework/model/input.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;
using test::distance;
using test::error_of;
using test::some_values;

namespace {

// The message of the error when `layer` is called on inputs of these shapes.
std::string call_error(const LayerHandle& layer, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) inputs.push_back(some_values(shape));
  return error_of([&] { layer(Tensors(inputs)); });
}

}  // namespace

TEST_CASE("a name that no path in a file can have") {
  const char* expected =
      "InvalidArgument: Layer: expected a name without '/' (it separates the components of weight "
      "paths in files), got 'a/b'.";
  CHECK(error_of([] { layers::Dense({.units = 2, .name = "a/b"}); }) == expected);
  CHECK(error_of([] { Input({.shape = {2}, .name = "a/b"}); }) == expected);
}

TEST_CASE("an input of the wrong rank") {
  clear_session();
  layers::Conv2D({.filters = 1, .kernel_size = 1});
  const layers::Conv2D conv({.filters = 4, .kernel_size = 3});
  CHECK(call_error(conv, {{32, 784}}) ==
        "InvalidArgument: Conv2D 'conv2d_1': expected 4-D input (batch, height, width, channels), "
        "got (32, 784). Reshape it first, for example with layers::Reshape({28, 28, 1}).");
  CHECK(call_error(conv, {{32, 28, 28}}) ==
        "InvalidArgument: Conv2D 'conv2d_1': expected 4-D input (batch, height, width, channels), "
        "got (32, 28, 28). Reshape it first, for example with layers::Reshape({28, 28, 1}).");
  CHECK(call_error(conv, {{2, 3072}}) ==
        "InvalidArgument: Conv2D 'conv2d_1': expected 4-D input (batch, height, width, channels), "
        "got (2, 3072). Reshape it first, for example with layers::Reshape({32, 32, 3}).");
  CHECK(call_error(conv, {{2, 5}}) ==
        "InvalidArgument: Conv2D 'conv2d_1': expected 4-D input (batch, height, width, channels), "
        "got (2, 5). Reshape it first, for example with layers::Reshape({height, width, "
        "channels}).");
  // The same on placeholders.
  CHECK(error_of([&] { conv(Input({.shape = {784}})); }) ==
        "InvalidArgument: Conv2D 'conv2d_1': expected 4-D input (batch, height, width, channels), "
        "got (None, 784). Reshape it first, for example with layers::Reshape({28, 28, 1}).");
  CHECK(call_error(layers::MaxPooling1D({.name = "pool"}), {{2, 8}}) ==
        "InvalidArgument: MaxPooling1D 'pool': expected 3-D input (batch, steps, channels), got "
        "(2, 8). Reshape it first, for example with layers::Reshape({8, 1}).");
  CHECK(call_error(layers::GlobalAveragePooling2D({.name = "pool"}), {{2, 8}}) ==
        "InvalidArgument: GlobalAveragePooling2D 'pool': expected 4-D input (batch, height, width, "
        "channels), got (2, 8). Reshape it first, for example with layers::Reshape({height, "
        "width, channels}).");
  CHECK(call_error(layers::Dense({.units = 2, .name = "d"}), {{5}}) ==
        "InvalidArgument: Dense 'd': expected input (batch, …, features) of 2 axes or more, got "
        "(5,). Reshape it first, for example with layers::Reshape({1}).");
  CHECK(call_error(layers::RepeatVector({.n = 2, .name = "r"}), {{2, 3, 4}}) ==
        "InvalidArgument: RepeatVector 'r': expected 2-D input (batch, features), got (2, 3, 4).");
  CHECK(call_error(layers::Permute({.dims = {2, 1}, .name = "p"}), {{2, 3}}) ==
        "InvalidArgument: Permute 'p': expected 3-D input for dims [2, 1], got (2, 3).");
}

TEST_CASE("another input than the layer was built with") {
  const layers::Conv2D conv({.filters = 4, .kernel_size = 3, .name = "c"});
  conv(some_values({1, 5, 5, 3}));
  CHECK(call_error(conv, {{1, 5, 5, 4}}) ==
        "InvalidArgument: Conv2D 'c': expected 3 elements on axis -1, as when the layer was built, "
        "got (1, 5, 5, 4). Another size needs another layer.");
  const layers::Dense dense({.units = 4, .name = "d"});
  dense(some_values({1, 5}));
  CHECK(call_error(dense, {{1, 6}}) ==
        "InvalidArgument: Dense 'd': expected 5 elements on axis -1, as when the layer was built, "
        "got (1, 6). Another size needs another layer.");
  const layers::BatchNormalization batch({.name = "b"});
  batch(some_values({2, 5}));
  CHECK(call_error(batch, {{2, 4}}) ==
        "InvalidArgument: BatchNormalization 'b': expected 5 elements on axis -1, as when the "
        "layer was built, got (2, 4). Another size needs another layer.");
  CHECK(call_error(batch, {{2, 3, 5}}) ==
        "InvalidArgument: BatchNormalization 'b': expected 2-D input, as when the layer was built, "
        "got (2, 3, 5).");
}

TEST_CASE("unknown channels") {
  const layers::Dense dense({.units = 4, .name = "d"});
  CHECK(error_of([&] { dense(Input({.shape = {kUnknown}})); }) ==
        "InvalidArgument: Dense 'd': expected a known axis -1, got (None, None). Give Input its "
        "size.");
}

TEST_CASE("windows, groups and paddings") {
  const layers::Conv2DOptions conv = {.filters = 4, .kernel_size = 3, .name = "c"};
  CHECK(call_error(layers::Conv2D(conv), {{1, 2, 8, 3}}) ==
        "InvalidArgument: Conv2D 'c': expected spatial axes of at least (3, 3), the window, got "
        "(1, 2, 8, 3). Use padding \"same\" or a smaller window.");
  CHECK(call_error(layers::MaxPooling2D({.pool_size = {2, 3}, .name = "m"}), {{1, 2, 2, 3}}) ==
        "InvalidArgument: MaxPooling2D 'm': expected spatial axes of at least (2, 3), the window, "
        "got (1, 2, 2, 3). Use padding \"same\" or a smaller window.");
  layers::Conv2DOptions options = conv;
  options.groups = 3;
  CHECK(error_of([&] { layers::Conv2D{options}; }) ==
        "InvalidArgument: Conv2D 'c': expected filters that groups divides, got 4 filters and 3 "
        "groups.");
  options.groups = 2;
  CHECK(call_error(layers::Conv2D(options), {{1, 5, 5, 3}}) ==
        "InvalidArgument: Conv2D 'c': expected input channels that groups divides, got 3 channels "
        "and 2 groups.");
  options = conv;
  options.padding = "smae";
  CHECK(error_of([&] { layers::Conv2D{options}; }) ==
        "InvalidArgument: Conv2D 'c': unknown padding 'smae'. Did you mean 'same'? Known: valid, "
        "same.");
  options.padding = "causal";
  CHECK(error_of([&] { layers::Conv2D{options}; }).find("unknown padding 'causal'") !=
        std::string::npos);
  options = conv;
  options.strides = 2;
  options.dilation_rate = {1, 2};
  CHECK(error_of([&] { layers::Conv2D{options}; }) ==
        "InvalidArgument: Conv2D 'c': expected strides or dilation_rate of 1, got strides (2, 2) "
        "and dilation_rate (1, 2).");
  options = conv;
  options.data_format = "channel_first";
  CHECK(error_of([&] { layers::Conv2D{options}; }) ==
        "InvalidArgument: Conv2D 'c': unknown data_format 'channel_first'. Did you mean "
        "'channels_first'? Known: channels_last, channels_first.");
  options.data_format = "Channels_First";
  const layers::Conv2D first(options);
  first(some_values({2, 3, 5, 6}));
  CHECK(error_of([&] {
          first(some_values({2, 4, 5, 6}));
        }) ==
        "InvalidArgument: Conv2D 'c' (shapes as channels_last): expected 3 elements on axis -1, as "
        "when the layer was built, got (2, 5, 6, 4). Another size needs another layer.");
}

TEST_CASE("arguments that were left out or make no sense") {
  CHECK(error_of([] { layers::Dense({.name = "d"}); }) ==
        "InvalidArgument: Dense 'd': expected units > 0, got 0. Say how many: "
        "layers::Dense({.units = 64}).");
  CHECK(error_of([] { layers::Dense({.units = -3, .name = "d"}); }) ==
        "InvalidArgument: Dense 'd': expected units > 0, got -3. Say how many: "
        "layers::Dense({.units = 64}).");
  CHECK(error_of([] { layers::Conv2D({.filters = 3, .name = "c"}); }) ==
        "InvalidArgument: Conv2D 'c': expected kernel_size, got none.");
  CHECK(error_of([] { layers::Conv2D({.kernel_size = 3, .name = "c"}); }) ==
        "InvalidArgument: Conv2D 'c': expected filters > 0, got 0.");
  CHECK(error_of([] {
          layers::Conv2D({.filters = 3, .kernel_size = {3, 0}, .name = "c"});
        }) == "InvalidArgument: Conv2D 'c': expected kernel_size > 0, got (3, 0).");
  CHECK(error_of([] { layers::Dropout({.rate = 1.5, .name = "d"}); }) ==
        "InvalidArgument: Dropout 'd': expected a rate in [0, 1], got 1.5.");
  CHECK(error_of([] { layers::Dropout({.name = "d"}); }) ==
        "InvalidArgument: Dropout 'd': expected a rate in [0, 1], got -1.");
  CHECK(error_of([] { layers::AlphaDropout({.rate = 1, .name = "d"}); }) ==
        "InvalidArgument: AlphaDropout 'd': expected a rate in [0, 1), got 1.");
  CHECK(
      call_error(layers::AlphaDropout({.rate = 0.1, .noise_shape = {1}, .name = "d"}), {{1, 4}}) ==
      "InvalidArgument: AlphaDropout 'd': expected an input of as many axes as noise_shape (1,), "
      "got (1, 4).");
  CHECK(error_of([] {
          layers::ZeroPadding3D({.padding = {1, -1, 0}, .name = "z"});
        }) == "InvalidArgument: ZeroPadding3D 'z': expected padding >= 0, got (-1, -1).");
  CHECK(
      call_error(layers::Cropping3D({.cropping = 2, .name = "c"}), {{1, 5, 5, 4, 1}}) ==
      "InvalidArgument: Cropping3D 'c': expected more than the 4 elements to be cut off on axis 3, "
      "got (1, 5, 5, 4, 1).");
  CHECK(call_error(layers::UpSampling1D({.name = "u"}), {{1, 5}}).find("UpSampling1D 'u'") !=
        std::string::npos);
  CHECK(error_of([] { layers::StochasticDepth({.drop_path_rate = 1, .name = "d"}); }) ==
        "InvalidArgument: StochasticDepth 'd': expected a drop_path_rate in [0, 1), got 1.");
  CHECK(error_of([] { layers::LayerScale({.name = "d"}); }) ==
        "InvalidArgument: LayerScale 'd': expected projection_dim > 0, got 0.");
  CHECK(call_error(layers::LayerScale({.projection_dim = 3, .name = "d"}), {{1, 4}}) ==
        "InvalidArgument: LayerScale 'd': expected 3 elements on axis -1, as when the layer was "
        "built, got (1, 4). Another size needs another layer.");
  CHECK(call_error(layers::CustomScaleLayer({.name = "d"}), {{1, 4}}) ==
        "InvalidArgument: CustomScaleLayer 'd': expected 2 inputs, got 1.");
  CHECK(error_of([] { layers::GaussianDropout({.rate = 1, .name = "d"}); }) ==
        "InvalidArgument: GaussianDropout 'd': expected a rate in [0, 1), got 1.");
  CHECK(error_of([] { layers::Rescaling({.name = "r"}); }) ==
        "InvalidArgument: Rescaling 'r': expected a scale, got none.");
  CHECK(error_of([] { layers::Embedding({.output_dim = 3, .name = "e"}); }) ==
        "InvalidArgument: Embedding 'e': expected input_dim > 0, got 0.");
  CHECK(error_of([] { layers::LeakyReLU({.negative_slope = -1, .name = "l"}); }) ==
        "InvalidArgument: LeakyReLU 'l': expected negative_slope >= 0, got -1.");
  CHECK(error_of([] {
          layers::Permute({.dims = {0, 1}, .name = "p"});
        }) ==
        "InvalidArgument: Permute 'p': expected dims to be the numbers from 1 on in some order, "
        "got [0, 1].");
  CHECK(error_of([] { layers::UpSampling2D({.interpolation = "bilinaer", .name = "u"}); }) ==
        "InvalidArgument: UpSampling2D 'u': unknown interpolation 'bilinaer'. Did you mean "
        "'bilinear'? Known: nearest, bilinear, bicubic, lanczos3, lanczos5.");
  CHECK(error_of([] {
          layers::ZeroPadding2D({.padding = {{0, -1}, {0, 0}}, .name = "z"});
        }) == "InvalidArgument: ZeroPadding2D 'z': expected padding >= 0, got (0, -1).");
}

TEST_CASE("reshaping to another number of elements") {
  CHECK(call_error(layers::Reshape({.target_shape = {3, 4}, .name = "r"}), {{2, 10}}) ==
        "InvalidArgument: Reshape 'r': expected input of shape (batch, …) with as many elements an "
        "example as target_shape [3, 4], got (2, 10), which has 10.");
  CHECK(call_error(layers::Reshape({.target_shape = {-1, 4}, .name = "r"}), {{2, 10}}) ==
        "InvalidArgument: Reshape 'r': expected input of shape (batch, …) with as many elements an "
        "example as target_shape [-1, 4], got (2, 10), which has 10.");
  CHECK(error_of([] {
          layers::Reshape({.target_shape = {-1, -1}, .name = "r"});
        }) ==
        "InvalidArgument: Reshape 'r': expected a target_shape of sizes >= 0 and at most one -1, "
        "got [-1, -1].");
  CHECK(call_error(layers::Cropping2D({.cropping = 2, .name = "c"}), {{1, 4, 5, 1}}) ==
        "InvalidArgument: Cropping2D 'c': expected more than the 4 elements to be cut off on axis "
        "1, got (1, 4, 5, 1).");
}

TEST_CASE("reshaping what isn't known yet to a known shape") {
  const layers::Reshape reshape({.target_shape = {3, 4}, .name = "r"});
  CHECK(reshape(Input({.shape = {kUnknown}})).shape() == Shape({kUnknown, 3, 4}));
  CHECK(reshape(Input({.batch_shape = {2, kUnknown, 6}})).shape() == Shape({2, 3, 4}));
  CHECK(error_of([&] {
          reshape(Input({.shape = {kUnknown, 5}}));
        }) ==
        "InvalidArgument: Reshape 'r': expected input of shape (batch, …) with as many elements an "
        "example as target_shape [3, 4], got (None, None, 5), which has None.");
  const Tensor x = Input({.shape = {kUnknown}});
  Model model(x, reshape(x));
  CHECK(model(ops::ones({2, 12})).shape() == Shape({2, 3, 4}));
  CHECK(error_of([&] {
          model(ops::ones({2, 10}));
        }).find("got (2, 10), which has 10.") != std::string::npos);
}

TEST_CASE("an axis has another one's size only where it must") {
  const auto input = [](const Shape& shape) { return Input({.shape = shape}); };
  const Tensor q = input({kUnknown, 4}), v = input({6, 4}), k = input({kUnknown, 4});
  const Tensor attended = layers::Attention()({q, v, k});
  CHECK(attended.shape() == Shape({kUnknown, kUnknown, 4}));
  CHECK(layers::AdditiveAttention()({q, k, v}).shape() == Shape({kUnknown, kUnknown, 4}));
  CHECK(ops::einsum("bid,bjd,bjd->bij", {q, v, k}).shape() == Shape({kUnknown, kUnknown, 6}));
  CHECK(layers::Add()({attended, input({7, 4})}).shape() == Shape({kUnknown, 7, 4}));
  Model last({q, v, k}, attended(Slice(), -1));
  const auto numbers = [](int64_t rows) {
    return ops::reshape(ops::sin(ops::arange(rows * 4)), {1, rows, 4});
  };
  const Tensor whole = layers::Attention()({numbers(8), numbers(6), numbers(6)});
  CHECK(last({numbers(8), numbers(6), numbers(6)}).to_vector<float>() ==
        whole(Slice(), 7).to_vector<float>());
  // An axis that is broadcast may be 1.
  const Tensor a = input({kUnknown, 3}), b = input({7, 3});
  Model both({a, b}, {a + b, a * 2.0});
  const Tensors outputs = both({input({kUnknown, 3}), input({7, 3})});
  CHECK(outputs[0].shape() == Shape({kUnknown, 7, 3}));
  CHECK(outputs[1].shape() == Shape({kUnknown, kUnknown, 3}));
}

TEST_CASE("inputs of which one has a size that another one's is to be") {
  const auto input = [](const Shape& shape) { return Input({.shape = shape}); };
  const Tensor open = input({kUnknown, 3});
  const Tensor known = input({7, 3});
  CHECK(layers::Add()({open, known}).shape() == Shape({kUnknown, 7, 3}));
  CHECK((open * known).shape() == Shape({kUnknown, 7, 3}));
  CHECK(layers::Concatenate()({open, known}).shape() == Shape({kUnknown, 7, 6}));
  CHECK(layers::Concatenate({.axis = 1})({open, known}).shape() == Shape({kUnknown, kUnknown, 3}));
  CHECK(layers::Maximum()({input({7, kUnknown}), input({3})}).shape() == Shape({kUnknown, 7, 3}));
  const Tensor fixed = Input({.batch_shape = {2, 3}});
  CHECK(layers::Dot({.axes = {1}})({fixed, input({3})}).shape() == Shape({2, 1}));
  CHECK(layers::LSTM({.units = 3})({open, fixed, input({3})}).shape() == Shape({2, 3}));
  CHECK(
      error_of([&] {
        layers::Add({.name = "a"})({open, input({7, 4})});
      }) ==
      "InvalidArgument: Add 'a': expected inputs that broadcast together, got shapes (None, None, "
      "3), (None, 7, 4).");
  Model model({open, known}, open + known);
  const Tensor row = ops::ones({2, 7, 3});
  CHECK(distance(model({row, row}), row * 2) == 0);
  CHECK(error_of([&] { model({ops::ones({2, 5, 3}), row}); }) != "");
}

TEST_CASE("windows along an axis of unknown size") {
  const Tensor x = Input({.shape = {kUnknown, 1}});
  for (const int64_t size : {2, 600, 4096}) {
    CHECK(layers::Conv1D({.filters = 2, .kernel_size = size})(x).shape() ==
          Shape({kUnknown, kUnknown, 2}));
    CHECK(layers::STFTSpectrogram({.frame_length = size})(x).shape().rank() == 3);
  }
  CHECK(error_of([&] {
          layers::Conv2D({.filters = 2, .kernel_size = {2, 600}, .name = "c"})(
              Input({.shape = {kUnknown, 500, 1}}));
        }).find("got (None, None, 500, 1)") != std::string::npos);
}

TEST_CASE("inputs that can't be merged") {
  CHECK(call_error(layers::Concatenate({.name = "c"}), {{2, 3, 4}, {2, 5, 4}}) ==
        "InvalidArgument: Concatenate 'c': expected inputs of the same sizes on all axes but 2, "
        "got shapes (2, 3, 4), (2, 5, 4).");
  CHECK(call_error(layers::Concatenate({.axis = 3, .name = "c"}), {{2, 3}, {2, 5}}) ==
        "InvalidArgument: Concatenate 'c': expected inputs with axis 3, got shapes (2, 3), (2, "
        "5).");
  CHECK(call_error(layers::Add({.name = "a"}), {{2, 3}, {2, 4}}) ==
        "InvalidArgument: Add 'a': expected inputs that broadcast together, got shapes (2, 3), (2, "
        "4).");
  CHECK(call_error(layers::Add({.name = "a"}), {{2, 3}, {1, 3}}) ==
        "InvalidArgument: Add 'a': expected inputs of one batch size, got shapes (2, 3), (1, 3).");
  const Tensor one = Input({.shape = {3}});
  const Tensor many = Input({.shape = {3}});
  const Model sum({one, many}, layers::Add({.name = "a"})({one, many}));
  CHECK(Tensor(LayerHandle(sum)({ops::ones({1, 3}), ops::ones({4, 3})})).shape() == Shape{4, 3});
  CHECK(call_error(LayerHandle(sum), {{2, 3}, {4, 3}}) ==
        "InvalidArgument: Add 'a': expected inputs of one batch size, got shapes (2, 3), (4, 3).");
  CHECK(call_error(layers::Subtract({.name = "s"}), {{2, 3}}) ==
        "InvalidArgument: Subtract 's': expected 2 inputs, got 1.");
  CHECK(call_error(layers::Dot({.axes = 1, .name = "d"}), {{2, 3}, {2, 4}}) ==
        "InvalidArgument: Dot 'd': expected inputs of one batch size and of one size on axes 1 and "
        "1, got shapes (2, 3), (2, 4).");
  CHECK(call_error(layers::Dot({.axes = 0, .name = "d"}), {{2, 3}, {2, 3}}) ==
        "InvalidArgument: Dot 'd': expected axes of the inputs after the batch, got 0 for shapes "
        "(2, 3), (2, 3).");
}

TEST_CASE("several inputs for a layer of one") {
  CHECK(call_error(layers::Dense({.units = 2, .name = "d"}), {{2, 3}, {2, 4}}) ==
        "InvalidArgument: Dense 'd': expected 1 input, got 2 of them. Merge them first, for "
        "example with layers::Concatenate().");
  CHECK(error_of([] { layers::Flatten({.name = "f"})(Tensors()); }) ==
        "InvalidArgument: Flatten 'f': expected an input, got none.");
}

TEST_CASE("an index that no embedding has") {
  const layers::Embedding embedding({.input_dim = 5, .output_dim = 2, .name = "e"});
  const Tensor indices = Tensor::from<int32_t>({0, 5}, {1, 2});
  const std::string error = error_of([&] { embedding(indices); });
  CHECK(error.find("OutOfRange: ") == 0);
  CHECK(error.find("5") != std::string::npos);
}

TEST_CASE("names that aren't known") {
  CHECK(error_of([] {
          layers::Dense({.units = 2, .activation = "rellu"});
        }).find("Did you mean 'relu'?") != std::string::npos);
  CHECK(error_of([] { layers::Activation("sigmod"); }).find("Did you mean 'sigmoid'?") !=
        std::string::npos);
  CHECK(error_of([] { layers::Dense({.units = 2, .dtype = "flaot32"}); }).find("float32") !=
        std::string::npos);
  CHECK(error_of([] {
          layer_from_json(Json::parse(R"({"class_name": "Densee", "config": {}})"));
        }).find("Unknown layer 'Densee'. Did you mean 'Dense'?") != std::string::npos);
}

TEST_CASE("configs with features that aren't here") {
  auto load = [](const char* text) {
    return error_of([&] { layer_from_json(Json::parse(text)); });
  };
  CHECK(load(R"({"class_name": "LayerNormalization", "config": {"rms_scaling": true}})") ==
        "Unimplemented: Config: 'rms_scaling' isn't available here: expected false, got true. Make "
        "the "
        "layer without it in Keras, and save that.");
  CHECK(load(R"({"class_name": "Conv2D", "config": {"filters": 1, "kernel_size": [1, 2, 3]}})")
            .find("expected 2 integers, got [1, 2, 3]") != std::string::npos);
}

namespace {

class WeightInCall : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    return x + add_weight({.shape = {2}, .name = "offset"});
  }
};

class LayerInCall : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return track(layers::Dense({.units = 2}))(x, args);
  }
};

class UntrackedInCall : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return layers::Dense({.units = 2})(x); }
};

}  // namespace

TEST_CASE("a name keeps its number where sizes aren't known") {
  clear_session();
  layers::Dense({.units = 1});
  CHECK(error_of([] {
          make_layer<UntrackedInCall>()(Input({.shape = {2}}));
        }).find("Dense 'dense_1' was created during a call") != std::string::npos);
}

TEST_CASE("weights and layers that are made in call") {
  clear_session();
  CHECK(call_error(make_layer<WeightInCall>(), {{3, 2}}) ==
        "FailedPrecondition: WeightInCall 'weight_in_call': add_weight 'offset' was called after "
        "it was built. Make weights and layers in its constructor or in build(), so that they're "
        "made once.");
  CHECK(call_error(make_layer<LayerInCall>(), {{3, 2}}) ==
        "FailedPrecondition: LayerInCall 'layer_in_call': track 'dense' was called after it was "
        "built. Make weights and layers in its constructor or in build(), so that they're made "
        "once.");
}

TEST_CASE("sizes whose products or sums leave int64") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  constexpr int64_t kWide = int64_t{1} << 32;
  const layers::Conv1D conv(
      {.filters = 1, .kernel_size = 5, .dilation_rate = kHuge, .name = "conv"});
  CHECK(call_error(conv, {{2, 9, 1}}) ==
        "InvalidArgument: Conv1D 'conv': expected sizes whose product fits 64 bits, got 4 * "
        "4611686018427387904.");
  CHECK(error_of([] {
          layers::Cropping1D({.cropping = {kHuge, kHuge}, .name = "crop"});
        }) ==
        "InvalidArgument: Cropping1D 'crop': expected sizes whose sum fits 64 bits, got "
        "4611686018427387904 + 4611686018427387904.");
  const layers::Reshape reshape({.target_shape = {kWide, kWide, -1}, .name = "reshape"});
  CHECK(call_error(reshape, {{2, 9}}) ==
        "InvalidArgument: Reshape 'reshape': expected sizes whose product fits 64 bits, got "
        "4294967296 * 4294967296.");
}

TEST_CASE("equations of dense layers") {
  const auto made = [](const layers::EinsumDenseOptions& options) {
    layers::EinsumDenseOptions named = options;
    named.name = "e";
    return error_of([&] { layers::EinsumDense{named}; });
  };
  const auto form = [](const std::string& equation) {
    return "InvalidArgument: EinsumDense 'e': expected an equation \"ab,bc->ac\", "
           "\"...ab,bc->...ac\" or \"ab...,bc->ac...\", got \"" +
           equation + "\".";
  };
  for (const std::string equation : {"", "ab,bc", "ab->ac", "...ab,bc->ac", "ab,bc->...ac",
                                     "...a...,ab->...b...", "ab,b1->a1", "a b,bc->ac"}) {
    CHECK(made({.equation = equation, .output_shape = {2}}) == form(equation));
  }
  CHECK(made({.equation = "abc,cd->abd", .output_shape = {2}}) ==
        "InvalidArgument: EinsumDense 'e': expected an output_shape of 2 sizes for equation "
        "\"abc,cd->abd\" (the batch's is left out), got (2,).");
  CHECK(made({.equation = "ab,bc->ac", .output_shape = {0}}) ==
        "InvalidArgument: EinsumDense 'e': expected an output_shape of sizes > 0, got (0,).");
  CHECK(made({.equation = "ab,bc->ac", .output_shape = {2}, .bias_axes = "d"}) ==
        "InvalidArgument: EinsumDense 'e': expected bias_axes of the output's letters \"ac\", got "
        "\"d\".");
  CHECK(made({.equation = "ab,bc->ac", .output_shape = {2}, .bias_axes = ""}) ==
        "InvalidArgument: EinsumDense 'e': expected bias_axes of at least one letter, got \"\".");
  CHECK(made({.equation = "ab,bx->ac", .output_shape = {2}}) ==
        "InvalidArgument: EinsumDense 'e': the kernel's axis 'x' is neither the input's nor the "
        "output's in \"ab,bx->ac\".");
  CHECK(made({.equation = "ab,b->ac", .output_shape = {2}}) ==
        "InvalidArgument: EinsumDense 'e': the output's axis 'c' is neither the input's nor the "
        "kernel's in \"ab,b->ac\".");
  const layers::EinsumDense dense(
      {.equation = "abc,cd->abd", .output_shape = {3, 4}, .bias_axes = "d", .name = "e"});
  CHECK(call_error(dense, {{2, 5}}) ==
        "InvalidArgument: EinsumDense 'e': expected an input of 3 axes for equation "
        "\"abc,cd->abd\", got (2, 5).");
  CHECK(call_error(dense, {{2, 2, 5}}) ==
        "InvalidArgument: EinsumDense 'e': expected 3 elements on the input's axis 'b', as "
        "output_shape (3, 4) says, got (2, 2, 5).");
  dense(some_values({2, 3, 5}));
  CHECK(call_error(dense, {{2, 3, 6}}) ==
        "InvalidArgument: EinsumDense 'e': expected 5 elements on axis 2, as when the layer was "
        "built, got (2, 3, 6). Another size needs another layer.");
  const layers::EinsumDense unknown(
      {.equation = "abc,bcd->abd", .output_shape = {kUnknown, 4}, .name = "e"});
  CHECK(call_error(unknown, {{2, 3, 5}}) ==
        "InvalidArgument: EinsumDense 'e': expected a known size of axis 'b' in output_shape, got "
        "(None, 4). Weights have it.");
}

TEST_CASE("wrappers, and embeddings that go both ways") {
  CHECK(error_of([] { layers::SpectralNormalization({}, {.name = "s"}); }) ==
        "InvalidArgument: SpectralNormalization: expected a layer, got none.");
  CHECK(error_of([] { layers::TimeDistributed{LayerHandle()}; }) ==
        "InvalidArgument: TimeDistributed: expected a layer, got none.");
  const layers::Dense dense({.units = 2, .name = "d"});
  CHECK(error_of(
            [&] { layers::SpectralNormalization(dense, {.power_iterations = 0, .name = "s"}); }) ==
        "InvalidArgument: SpectralNormalization 's': expected power_iterations from 1 to 1000, got "
        "0.");
  const layers::SpectralNormalization relu(layers::ReLU({.name = "r"}), {.name = "s"});
  CHECK(call_error(relu, {{2, 3}}) ==
        "NotFound: SpectralNormalization 's': expected a layer with a weight \"kernel\" or "
        "\"embeddings\", got ReLU 'r'.");
  const layers::ReversibleEmbedding embedding({.input_dim = 5, .output_dim = 3, .name = "e"});
  CHECK(error_of([&] {
          embedding(some_values({2, 4}), {.settings = Json::object({{"reverse", true}})});
        }) ==
        "InvalidArgument: ReversibleEmbedding 'e': expected rows (…, 3) to go back from, got (2, "
        "4).");
  CHECK(error_of([&] {
          embedding(some_values({2, 3}), {.settings = Json::object({{"revers", true}})});
        }) ==
        "InvalidArgument: ReversibleEmbedding 'e': its call has no argument 'revers'. Did you mean "
        "'reverse'? Known: reverse.");
  CHECK(error_of([] {
          layers::ReversibleEmbedding(
              {.input_dim = 5, .output_dim = 3, .reverse_dtype = "int32", .name = "e"});
        }) ==
        "InvalidArgument: ReversibleEmbedding 'e': expected a floating-point reverse_dtype, got "
        "\"int32\".");
  CHECK(error_of([] {
          layers::ReversibleEmbedding(
              {.input_dim = 5, .output_dim = 3, .logit_soft_cap = 0, .name = "e"});
        }) == "InvalidArgument: ReversibleEmbedding 'e': expected logit_soft_cap > 0, got 0.");
}

TEST_CASE("sizes of adaptive pooling, lengths of RMSNormalization") {
  CHECK(error_of([] {
          layers::AdaptiveMaxPooling2D({.name = "p"});
        }).find("InvalidArgument: AdaptiveMaxPooling2D 'p': ") == 0);
  CHECK(error_of([] {
          layers::AdaptiveAveragePooling1D({.output_size = int64_t{1} << 31})(ops::ones({1, 4, 1}));
        }).find("adaptive_average_pool: expected at most 1048576 windows along an axis") !=
        std::string::npos);
  CHECK(error_of([] {
          layers::AdaptiveAveragePooling1D({.output_size = 0, .name = "p"});
        }).find("InvalidArgument: AdaptiveAveragePooling1D 'p': ") == 0);
  CHECK(call_error(layers::AdaptiveMaxPooling1D({.output_size = 2, .name = "p"}), {{2, 8}}) ==
        "InvalidArgument: AdaptiveMaxPooling1D 'p': expected 3-D input (batch, steps, channels), "
        "got (2, 8). Reshape it first, for example with layers::Reshape({8, 1}).");
  CHECK(error_of([] { layers::RMSNormalization({.epsilon = -1, .name = "rms"}); }) ==
        "InvalidArgument: RMSNormalization 'rms': expected epsilon >= 0, got -1.");
  CHECK(call_error(layers::RMSNormalization({.axis = 2, .name = "rms"}), {{2, 3}}) ==
        "InvalidArgument: RMSNormalization 'rms': expected an input with axis 2, got (2, 3).");
}
