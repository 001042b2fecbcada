// SPDX-License-Identifier: Apache-2.0
// The ways to write layers, and the effects of their options.
#include <doctest/doctest.h>

#include <map>

#include "framework/model/layer_registry.h"
#include "framework/model/regularizers.h"
#include "framework/ops/ops.h"
#include "layers/layers.h"
#include "layers/register.h"
#include "tests/support/layer_conformance.h"

using namespace cornu;

TEST_CASE("names count up in the order in which layers are made") {
  clear_session();
  const layers::Dense first({.units = 1});
  const layers::MaxPooling2D pool;
  const layers::Dense second({.units = 1});
  const layers::Dense named({.units = 1, .name = "head"});
  const layers::Dense third({.units = 1});
  const layers::ReLU relu;
  third(test::some_values({1, 1}));  // calling it doesn't assign a name
  CHECK(first.name() == "dense");
  CHECK(pool.name() == "max_pooling2d");
  CHECK(second.name() == "dense_1");
  CHECK(named.name() == "head");
  CHECK(third.name() == "dense_2");
  CHECK(relu.name() == "re_lu");
}

TEST_CASE("sizes as one number or as one for each axis") {
  auto config = [](const layers::Conv2DOptions& options) {
    return layers::Conv2D(options).get_config();
  };
  CHECK(config({.filters = 1, .kernel_size = 3}).at("kernel_size") == Json::array({3, 3}));
  CHECK(config({.filters = 1, .kernel_size = {3, 5}}).at("kernel_size") == Json::array({3, 5}));
  CHECK(config({.filters = 1, .kernel_size = 1}).at("strides") == Json::array({1, 1}));
  CHECK(layers::MaxPooling2D().get_config().at("strides") == Json::array({2, 2}));
  CHECK(layers::MaxPooling2D({.pool_size = {3, 2}}).get_config().at("strides") ==
        Json::array({3, 2}));
  CHECK(layers::MaxPooling3D({.pool_size = {3, 2, 1}, .strides = 1}).get_config().at("strides") ==
        Json::array({1, 1, 1}));
  auto padding = [](const layers::ZeroPadding2DOptions& options) {
    return layers::ZeroPadding2D(options).get_config().at("padding").dump();
  };
  CHECK(padding({.padding = 2}) == "[[2, 2], [2, 2]]");
  CHECK(padding({.padding = {1, 2}}) == "[[1, 1], [2, 2]]");
  CHECK(padding({.padding = {{0, 1}, {2, 3}}}) == "[[0, 1], [2, 3]]");
}

TEST_CASE("positional spellings") {
  CHECK(layers::Reshape({28, 28, 1}).get_config().at("target_shape").dump() == "[28, 28, 1]");
  CHECK(layers::Reshape({10}).get_config().at("target_shape").dump() == "[10]");
  CHECK(layers::Reshape({-1, 2}).get_config().at("target_shape").dump() == "[-1, 2]");
  CHECK(layers::Reshape({.target_shape = {-1, 2}}).get_config().at("target_shape").dump() ==
        "[-1, 2]");
  const Shape shape = {3, 4};
  CHECK(layers::Reshape(shape).get_config().at("target_shape").dump() == "[3, 4]");
  CHECK(layers::Permute({2, 1}).get_config().at("dims").dump() == "[2, 1]");
  CHECK(layers::RepeatVector(3).get_config().at("n").as_int() == 3);
  CHECK(layers::Activation("relu").get_config().at("activation").as_string() == "relu");
  CHECK(layers::Activation({.activation = "relu"}).get_config().at("activation").as_string() ==
        "relu");
  const layers::Activation doubled([](const Tensor& x) { return x + x; });
  CHECK(Tensor(doubled(Tensor::from<float>({1, 2}))).to_vector<float>() ==
        std::vector<float>{2, 4});
}

TEST_CASE("options in braces, also where a layer takes the first one plain") {
  auto activation = [](const layers::Activation& layer) {
    return layer.get_config().at("activation").as_string();
  };
  CHECK(activation(layers::Activation({"swish"})) == "silu");
  CHECK(layers::Activation({"relu", "named"}).name() == "named");
  CHECK(layers::RepeatVector({.n = 3}).get_config().at("n").as_int() == 3);
  CHECK(layers::RepeatVector({3, "named"}).name() == "named");
  const std::vector<int64_t> dims = {2, 1};
  CHECK(layers::Permute({dims}).get_config().at("dims").dump() == "[2, 1]");
  CHECK(layers::Permute({{2, 1}, "named"}).name() == "named");
  const Shape shape = {3, 4};
  CHECK(layers::Reshape({shape}).get_config().at("target_shape").dump() == "[3, 4]");
  CHECK(layers::Reshape({{3, 4}, "named"}).name() == "named");
}

TEST_CASE("the first option in braces") {
  CHECK(layers::Dense({4}).get_config().at("units").as_int() == 4);
  CHECK(layers::Conv2D({8, {3, 5}}).get_config().at("kernel_size") == Json::array({3, 5}));
  CHECK(layers::Dropout({0.5}).get_config().at("rate").as_double() == 0.5);
  CHECK(layers::Embedding({10, 4}).get_config().at("output_dim").as_int() == 4);
  CHECK(layers::Rescaling({0.5, 1.0}).get_config().at("offset").as_double() == 1);
  CHECK(layers::Softmax({{1, 2}}).get_config().at("axis") == Json::array({1, 2}));
  CHECK(layers::UpSampling2D({{2, 3}}).get_config().at("size") == Json::array({2, 3}));
  CHECK(layers::ZeroPadding2D({1}).get_config().at("padding").dump() == "[[1, 1], [1, 1]]");
  CHECK(layers::Cropping1D({{1, 2}}).get_config().at("cropping") == Json::array({1, 2}));
  CHECK(layers::MaxPooling2D({3}).get_config().at("pool_size") == Json::array({3, 3}));
  CHECK(layers::Concatenate({1}).get_config().at("axis").as_int() == 1);
  CHECK(layers::LeakyReLU({0.5}).get_config().at("negative_slope").as_double() == 0.5);
  CHECK(layers::Flatten({"channels_last"}).name().starts_with("flatten"));
  CHECK(layers::RandomFlip({"vertical"}).get_config().at("mode").as_string() == "vertical");
  CHECK(layers::RandomFlip("vertical").get_config().at("mode").as_string() == "vertical");
  CHECK(layers::RandomRotation({0.5}).get_config().at("factor") == Json::array({-0.5, 0.5}));
  CHECK(layers::RandomRotation({{-0.1, 0.2}}).get_config().at("factor") ==
        Json::array({-0.1, 0.2}));
  CHECK(layers::RandomZoom({0.5}).get_config().at("height_factor").as_double() == 0.5);
  CHECK(layers::Resizing({5, 6}).get_config().at("width").as_int() == 6);
}

TEST_CASE("an axis in braces is one axis") {
  const layers::Dot dot({.axes = {-1}});
  CHECK(dot.get_config().at("axes") == Json(-1));
  CHECK(dot({test::some_values({2, 3}), test::some_values({2, 3})}).shape() == Shape({2, 1}));
}

TEST_CASE("aliases name the same class") {
  CHECK(layers::MaxPool2D().get().class_name() == "MaxPooling2D");
  CHECK(layers::AvgPool1D().get().class_name() == "AveragePooling1D");
  CHECK(layers::GlobalAvgPool3D().get().class_name() == "GlobalAveragePooling3D");
  CHECK(layers::Convolution2D({.filters = 1, .kernel_size = 1}).get().class_name() == "Conv2D");
}

TEST_CASE("a handle shares its layer") {
  const layers::Dense dense({.units = 2});
  const layers::Dense copy = dense;  // NOLINT: the copy is the point
  copy(test::some_values({1, 3}));
  CHECK(dense.weights().size() == 2);
  CHECK(dense.shared() == copy.shared());
}

TEST_CASE("regularizers, constraints and activity regularizers come back from configs") {
  const layers::Dense dense({.units = 2,
                             .kernel_regularizer = regularizers::L2(0.5),
                             .activity_regularizer = "l1",
                             .kernel_constraint = "non_neg"});
  const Json config = dense.get_config();
  CHECK(config.as_object()[3].first == "activity_regularizer");  // after the base's, as in Keras
  const layers::Dense copy = layers::Dense::from_config(config);
  CHECK(copy.get_config() == config);
  const Tensor x = test::some_values({4, 3});
  dense(x);
  copy(x);
  copy.set_weights(dense.get_weights());
  copy(x);
  REQUIRE(dense.losses().size() == 2);
  REQUIRE(copy.losses().size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(dense.losses()[i].item<float>() > 0);
    CHECK(copy.losses()[i].item<float>() == dense.losses()[i].item<float>());
  }
}

TEST_CASE("a layer as another one's activation") {
  const layers::Dense dense({.units = 2,
                             .activation = layers::LeakyReLU({.negative_slope = 0.5}),
                             .kernel_initializer = "ones"});
  const Tensor x = Tensor::from({-4.0f, 1.0f}, {2, 1});
  CHECK(dense(x).to_vector<float>() == std::vector<float>{-2, -2, 1, 1});
  const Json activation = dense.get_config().at("activation");
  CHECK(activation.at("class_name").as_string() == "LeakyReLU");
  CHECK(activation.at("config").at("negative_slope").as_double() == 0.5);
  const auto again = layers::Dense::from_config(dense.get_config());
  CHECK(again(x).to_vector<float>() == std::vector<float>{-2, -2, 1, 1});

  const layers::Dense learns({.units = 2, .activation = layers::PReLU({.name = "p"}), .name = "d"});
  CHECK(test::error_of([&] { learns(x); }) ==
        "Unimplemented: Dense 'd': Activation: PReLU 'p' has weights, which a layer that it is the "
        "activation of doesn't keep. Call it on that layer's output.");
  const layers::Dense holds(
      {.units = 2, .activation = layers::TimeDistributed(layers::Dense({.units = 2}))});
  CHECK(test::error_of([&] {
          holds(ops::ones({1, 3, 2}));
        }).find("has weights, which") != std::string::npos);
}

TEST_CASE("ActivityRegularization adds its loss") {
  const layers::ActivityRegularization layer({.l1 = 0.5, .l2 = 0.25});
  layer(Tensor::from<float>({1, -2, 3}, {3, 1}));
  REQUIRE(layer.losses().size() == 1);
  CHECK(layer.losses()[0].item<float>() ==
        doctest::Approx((0.5 * (1 + 2 + 3) + 0.25 * (1 + 4 + 9)) / 3));
  CHECK(!layer.get_config().contains("activity_regularizer"));
}

TEST_CASE("frozen layers stay so in their configs") {
  const layers::Dense dense({.units = 2, .trainable = false});
  CHECK(layers::Dense::from_config(dense.get_config()).trainable() == false);
}

namespace {

class Twice : public layers::Wrapper {
 public:
  explicit Twice(const LayerHandle& inner) : Wrapper(inner) {}
  std::string class_name() const override { return "options_test>Twice"; }
  Tensor call(const Tensor& x, const CallArgs& args) override {
    return layer()(layer()(x, args), args);
  }
};

}  // namespace

TEST_CASE("a program's own wrapper: weights, config, nothing to wrap") {
  layer_registry().add("options_test>Twice", [](const Json& config) -> LayerHandle {
    return make_layer<Twice>(layer_from_json(config.at("layer")));
  });
  const layers::Dense dense({.units = 3, .name = "inner"});
  const auto twice = make_layer<Twice>(dense);
  const Tensor x = test::some_values({2, 3});
  const Tensor y = twice(x);
  CHECK(test::distance(y, dense(dense(x))) == 0);
  REQUIRE(twice.weights().size() == 2);
  CHECK(twice.get().tracked().at(0).first == "layer");
  const LayerHandle copy = layer_from_json(Json::parse(serialize_layer(*twice).dump()));
  copy.get().ensure_built({x.shape()});
  copy.set_weights(twice.get_weights());
  CHECK(test::distance(copy(x), y) == 0);
  CHECK(test::error_of([] { make_layer<Twice>(LayerHandle()); }) ==
        "InvalidArgument: Wrapper: expected a layer, got none.");
}

TEST_CASE("every registered layer is of the class that it is registered as") {
  // Every option that some class requires; the others ignore it.
  const Json config = Json::parse(R"({
      "units": 2, "filters": 2, "kernel_size": 1, "rate": 0.5, "stddev": 0.5, "n": 2,
      "input_dim": 3, "output_dim": 2, "target_shape": [2], "dims": [1], "axes": 1,
      "activation": "relu", "output_size": 2, "equation": "ab,bc->ac", "output_shape": [2],
      "height": 2, "width": 3, "height_factor": 0.5, "width_factor": 0.5, "num_tokens": 4,
      "num_bins": 4, "num_heads": 2, "key_dim": 2, "head_dim": 2, "num_query_heads": 2,
      "num_key_value_heads": 2, "function": "relu", "projection_dim": 2, "max_number": 3,
      "features": {"a": "float"}})");
  // All classes are in keras.layers, except these.
  const std::map<std::string, std::string> modules = {
      {"CustomScaleLayer", "keras.src.applications.inception_resnet_v2"},
      {"FeatureSpace", "keras.utils"},
      {"LayerScale", "keras.src.applications.convnext"},
      {"StochasticDepth", "keras.src.applications.convnext"},
      {"TFDConcat", "keras.src.layers.preprocessing.feature_space"},
      {"TFDIdentity", "keras.src.layers.preprocessing.feature_space"}};
  Registry<LayerFactory> registry("layer");
  layers::register_all(registry);
  const std::vector<std::string> names = registry.names();
  CHECK(names.size() >= 69);
  for (const std::string& name : names) {
    CAPTURE(name);
    Json own = config;
    if (name == "Rescaling") own.set("scale", 2);
    if (name.starts_with("Random")) own.set("factor", 1.0);
    own.set("layer", serialize_layer(layers::GRU({.units = 2}).get()));
    own.set("cell", serialize_layer(layers::GRUCell({.units = 2}).get()));
    own.set("cells", Json::array({own.at("cell")}));
    own.set("layers", Json::array({own.at("layer")}));
    const LayerHandle layer = registry.at(name)(own);
    CHECK(layer.get().class_name() == name);
    const auto other = modules.find(name);
    CHECK(layer.get().module().as_string() ==
          (other == modules.end() ? "keras.layers" : other->second));
    CHECK(layer_from_json(serialize_layer(layer.get())).get_config() == layer.get_config());
  }
}

TEST_CASE("an embedding's first weights") {
  const Tensor vectors = test::some_values({5, 2});
  const layers::Embedding embedding(
      {.input_dim = 5, .output_dim = 2, .weights = vectors, .name = "words", .trainable = false});
  const Tensor row = embedding(Tensor::from<int32_t>({3}));
  CHECK(ops::all(ops::equal(row, ops::take(vectors, Tensor::from<int32_t>({3}), 0))).item<bool>());
  CHECK(embedding.embeddings().name() == "embeddings");
  CHECK(embedding.trainable_weights().empty());
  CHECK_FALSE(embedding.get_config().contains("weights"));  // as in Keras
  embedding.set_weights({ops::zeros({5, 2})});
  CHECK(ops::any(ops::not_equal(vectors, 0)).item<bool>());  // the caller's own are left alone
  CHECK(test::error_of([&] {
          layers::Embedding({.input_dim = 4, .output_dim = 2, .weights = vectors, .name = "e"});
        }) ==
        "InvalidArgument: Embedding 'e': set_weights expected shape (4, 2) for "
        "'e/embeddings', got (5, 2).");
}

TEST_CASE("a file without a size that there must be") {
  const std::pair<LayerHandle, const char*> cases[] = {
      {layers::Cropping1D(), "cropping"}, {layers::RandomGaussianBlur(), "kernel_size"}};
  for (const auto& [layer, key] : cases) {
    Json config = layer.get().get_config();
    config.set(key, nullptr);
    Json whole = serialize_layer(layer.get());
    whole.set("config", config);
    CHECK(test::error_of([&] { layer_from_json(whole); }).find("expected a size of") !=
          std::string::npos);
  }
}
