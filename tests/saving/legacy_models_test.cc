// SPDX-License-Identifier: Apache-2.0
// Whole models that Cornu writes to HDF5 files in the format of Keras 2. tests/golden has files
// written by Keras itself; keras_models_test.cc passes those of Cornu to Keras.
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <span>
#include <string_view>

#include "framework/io/archive.h"
#include "framework/model/input.h"
#include "framework/saving/hdf5_file.h"
#include "framework/saving/keras_op.h"
#include "framework/saving/legacy_format.h"
#include "framework/saving/op_layers.h"
#include "framework/train/model_config.h"
#include "tests/golden/golden_cases.h"
#include "tests/saving/models.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::distance;
using test::message_of;
using test::numbers;
using test::predictions;
using test::Scratch;

// A briefly trained model; `y` is its training target.
struct Trained {
  Model model;
  Tensors x;
  Tensors y;
};

Trained cnn() {
  Sequential model = test::small_cnn();
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.01, .amsgrad = true}),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy", metrics::SparseTopKCategoricalAccuracy({.k = 2})}});
  const Tensor x = numbers({6, 8, 8}, 255);
  const Tensor y = Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2});
  model.fit(x, y, {.batch_size = 3, .verbose = 0});
  return {model, x, y};
}

Trained shared_layers() {
  Model model = test::op_model();
  model.compile({.optimizer = optimizers::SGD({.momentum = 0.9}),
                 .loss = {"mse", losses::Huber({.delta = 0.5})},
                 .loss_weights = {1.0, 0.5}});
  const Tensors x = {numbers({5, 3}), numbers({5, 3}, -0.5F)};
  const Tensors y = {numbers({5, 2}), numbers({5, 1})};
  model.train_on_batch(x, y);
  return {model, x, y};
}

// Nested models, one of them frozen, and one within a layer.
Trained nested() {
  const Tensor a = Input({.shape = {4}, .name = "a"});
  const Tensor steps = Input({.shape = {3, 2}, .name = "steps"});
  const Sequential frozen(Input({.shape = {4}}),
                          {layers::Dense({.units = 3}), layers::BatchNormalization()},
                          {.name = "frozen"});
  const Tensor inside = Input({.shape = {3}});
  const Model inner(inside,
                    layers::Dense({.units = 2})(LayerHandle(
                        Sequential(Input({.shape = {3}}), {layers::Dense({.units = 3})}))(inside)),
                    {.name = "inner"});
  const Sequential each(Input({.shape = {2}}), {layers::Dense({.units = 2})});
  const Tensor last = layers::GlobalAveragePooling1D()(layers::TimeDistributed(each)(steps));
  const Tensor sum = layers::Add()({LayerHandle(inner)(LayerHandle(frozen)(a)), last});
  Model model({a, steps}, layers::Dense({.units = 1})(sum));
  LayerHandle(frozen).set_trainable(false);
  model.compile({.optimizer = "rmsprop", .loss = "mse"});
  const Tensors x = {numbers({5, 4}), numbers({5, 3, 2})};
  model.train_on_batch(x, numbers({5, 1}));
  return {model, x, numbers({5, 1})};
}

TEST_CASE("models in HDF5 files predict as they did, and go on training with the same bits") {
  const Scratch scratch;
  std::map<std::string, Trained> cases;
  cases.emplace("cnn.h5", cnn());
  cases.emplace("shared.hdf5", shared_layers());
  cases.emplace("nested.h5", nested());
  for (auto& [key, item] : cases) {
    const std::string name = key;
    CAPTURE(name);
    item.model.save(scratch.path(name));
    Model loaded = load_model(scratch.path(name));
    CHECK(loaded.name() == item.model.name());
    CHECK(distance(predictions(loaded, item.x), predictions(item.model, item.x)) == 0);
    CHECK(loaded.trainable_weights().size() == item.model.trainable_weights().size());
    REQUIRE(loaded.compiled());
    CHECK(loaded.optimizer().iterations() == item.model.optimizer().iterations());
    for (int step = 0; step < 2; ++step) {
      item.model.reset_metrics();
      loaded.reset_metrics();
      const Logs expected = item.model.train_on_batch(item.x, item.y);
      const Logs found = loaded.train_on_batch(item.x, item.y);
      CHECK(found.names() == expected.names());
      for (const std::string& log : expected.names()) CHECK(found.at(log) == expected.at(log));
    }
    CHECK(distance(Tensors(loaded.get_weights()), Tensors(item.model.get_weights())) == 0);
  }
}

// Lists groups and datasets as text, with their attributes that are lists of names.
void list(const Hdf5Reader& file, const std::string& path, std::vector<std::string>& out) {
  if (file.is_dataset(path)) {
    const auto [shape, dtype] = file.describe(path);
    out.push_back(fmt::format("{} {} {}", path, shape, dtype));
    return;
  }
  std::string line = path;
  for (const char* attribute : {"layer_names", "weight_names"}) {
    const auto names = file.strings_attribute(path, attribute);
    if (!names) continue;
    line += fmt::format(" {}", attribute);
    for (const std::string& name : *names) line += " " + name;
  }
  out.push_back(line);
  for (const std::string& child : file.children(path)) {
    list(file, path.empty() ? child : path + "/" + child, out);
  }
}

std::vector<std::string> listing(const Hdf5Reader& file) {
  std::vector<std::string> out;
  list(file, "", out);
  return out;
}

// Layers in Cornu's files have additional keys by which Keras recognizes them; this includes layers
// of wrapped models.
void check_same_layers(const Json& written, const Json& wanted) {
  CHECK(written.size() == 2);
  CHECK(written.at("class_name") == wanted.at("class_name"));
  const Json& layers = wanted.at("config").at("layers");
  REQUIRE(written.at("config").at("layers").size() == layers.size());
  for (size_t i = 0; i < layers.size(); ++i) {
    const Json& layer = written.at("config").at("layers")[i];
    CHECK(layer.at("class_name") == layers[i].at("class_name"));
    CHECK(layer.at("config").at("name") == layers[i].at("config").at("name"));
    const bool wraps = layer.at("config").contains("layer");
    if (!wraps) CHECK(test::difference(layer.at("config"), layers[i].at("config")) == "");
  }
}

TEST_CASE("a file of Keras's that went through Cornu has the same groups and layers") {
  const char* folder = std::getenv("CORNU_TEST_DATA");
  REQUIRE(folder != nullptr);
  const Scratch scratch;
  for (const std::string name : {"pictures", "shared", "nested", "words"}) {
    CAPTURE(name);
    const std::string path = fmt::format("{}/files/legacy_{}_keras3.h5", folder, name);
    load_model(path).save(scratch.path("again.h5"));
    const Hdf5Reader wanted = Hdf5Reader::open(path);
    const Hdf5Reader written = Hdf5Reader::open(scratch.path("again.h5"));
    CHECK(listing(written) == listing(wanted));
    for (const char* group : {"", "model_weights"}) {
      for (const char* attribute : {"keras_version", "backend"}) {
        CHECK(written.string_attribute(group, attribute) ==
              wanted.string_attribute(group, attribute));
      }
    }
    const auto config = [](const Hdf5Reader& file, const char* attribute) {
      return Json::parse(file.string_attribute("", attribute).value());
    };
    check_same_layers(config(written, "model_config"), config(wanted, "model_config"));
    const Json training = config(written, "training_config");
    const Json keras = config(wanted, "training_config");
    CHECK(test::difference(training.at("optimizer_config"), keras.at("optimizer_config")) == "");
    for (const auto& argument : keras.as_object()) CHECK(training.contains(argument.first));
  }
}

TEST_CASE("include_optimizer: a file without training") {
  const Scratch scratch;
  Trained item = cnn();
  item.model.save(scratch.path("a.h5"), {.include_optimizer = false});
  const Hdf5Reader file = Hdf5Reader::open(scratch.path("a.h5"));
  CHECK(file.children("") == std::vector<std::string>{"model_weights"});
  CHECK(file.string_attribute("", "training_config") == std::nullopt);
  Model loaded = load_model(scratch.path("a.h5"));
  CHECK_FALSE(loaded.compiled());
  CHECK(distance(predictions(loaded, item.x), predictions(item.model, item.x)) == 0);
  CHECK_FALSE(load_model(scratch.path("a.h5"), {.compile = false}).compiled());
  Sequential weights_alone = test::small_cnn();
  weights_alone.build({kUnknown, 8, 8});
  weights_alone.load_weights(scratch.path("a.h5"));
  CHECK(distance(predictions(weights_alone, item.x), predictions(item.model, item.x)) == 0);
}

TEST_CASE("lists of names that are too long for an attribute are cut into parts") {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  Sequential model({Input({.shape = {1}})});
  std::vector<std::string> names;
  for (int i = 0; i < 65; ++i) {  // there is room for 32
    names.push_back(fmt::format("{}_{:02}", std::string(1997, 'n'), i));
    model.add(layers::Dense({.units = 1, .name = names.back()}));
  }
  model.save(path);
  const Hdf5Reader file = Hdf5Reader::open(path);
  CHECK(file.strings_attribute("model_weights", "layer_names") == std::nullopt);
  const auto begin = names.begin();
  CHECK(file.strings_attribute("model_weights", "layer_names0") ==
        std::vector<std::string>(begin, begin + 22));
  CHECK(file.strings_attribute("model_weights", "layer_names1") ==
        std::vector<std::string>(begin + 22, begin + 44));
  CHECK(file.strings_attribute("model_weights", "layer_names2") ==
        std::vector<std::string>(begin + 44, names.end()));
  Model loaded = load_model(path);
  CHECK(distance(Tensors(loaded.get_weights()), Tensors(model.get_weights())) == 0);

  const std::string longest(64513, 'n');
  Sequential other(Input({.shape = {1}}), {layers::Dense({.units = 1, .name = longest})});
  CHECK(contains(message_of<InvalidArgument>([&] { other.save(path); }),
                 "'model_weights': a name of 64513 bytes is longer than 64512, the most that an "
                 "HDF5 attribute holds. Give it a shorter name."));
}

// Both weights have the same name.
class Twins : public Layer {
 public:
  void build(const Shape& shape) override {
    for (const double value : {2.0, 3.0}) {
      weights_.push_back(add_weight(
          {.shape = {shape.back()}, .initializer = initializers::Constant(value), .name = "w"}));
    }
  }
  Tensor call(const Tensor& x, const CallArgs&) override {
    return x * weights_[0].value() + weights_[1].value();
  }
  std::string class_name() const override { return "Tests>Twins"; }

 private:
  std::vector<Variable> weights_;
};

TEST_CASE("weights of one name have numbers in HDF5 files") {
  layer_registry().add("Tests>Twins",
                       [](const Json&) { return LayerHandle(std::make_shared<Twins>()); });
  const Scratch scratch;
  Sequential model(Input({.shape = {2}}), {make_layer<Twins>()});
  model.save(scratch.path("a.h5"));
  const std::string config =
      Hdf5Reader::open(scratch.path("a.h5")).string_attribute("", "model_config").value();
  CHECK(contains(config, R"("class_name": "Tests>Twins", "config": )"));
  Model loaded = load_model(scratch.path("a.h5"));
  CHECK(loaded.predict(ops::ones({1, 2}), {.verbose = 0}).single().to_vector<float>() ==
        std::vector<float>{5, 5});
}

class Plain : public Model {
 public:
  Plain() : Model(ModelOptions{}) {}
  Tensor call(const Tensor& x, const CallArgs&) override { return dense_(x); }

 private:
  layers::Dense dense_ = track("dense", layers::Dense({.units = 1}));
};

// Keras 2 also wrote .keras files, with its own names and formats: here for the layers of
// `weights`, a file written by Cornu.
void write_keras_2_archive(const std::string& path, const std::string& weights) {
  constexpr std::string_view kMetadata = R"({"keras_version": "2.15.0"})";
  constexpr std::string_view kConfig = R"({
    "module": "keras.src.engine.functional", "class_name": "Functional", "config": {
      "name": "model", "trainable": true, "layers": [
        {"module": "keras.layers", "class_name": "InputLayer", "name": "input_1",
         "config": {"batch_input_shape": [null, 3], "dtype": "float32", "sparse": false,
                    "ragged": false, "name": "input_1"},
         "registered_name": null, "inbound_nodes": []},
        {"module": "keras.layers", "class_name": "Dense", "name": "dense",
         "config": {"name": "dense", "trainable": true, "dtype": "float32", "units": 4,
                    "activation": {"module": "keras.layers", "class_name": "LeakyReLU",
                                   "config": {"name": "leaky", "trainable": true,
                                              "dtype": "float32", "alpha": 0.5},
                                   "registered_name": null}},
         "registered_name": null, "build_config": {"input_shape": [null, 3]},
         "inbound_nodes": [[["input_1", 0, 0, {}]]]},
        {"module": "keras.layers", "class_name": "BatchNormalization",
         "name": "batch_normalization",
         "config": {"name": "batch_normalization", "trainable": true, "dtype": "float32",
                    "axis": [1]},
         "registered_name": null, "build_config": {"input_shape": [null, 4]},
         "inbound_nodes": [[["dense", 0, 0, {}]]]},
        {"module": "keras.layers", "class_name": "LeakyReLU", "name": "leaky_re_lu",
         "config": {"name": "leaky_re_lu", "trainable": true, "dtype": "float32", "alpha": 0.1},
         "registered_name": null, "build_config": {"input_shape": [null, 4]},
         "inbound_nodes": [[["batch_normalization", 0, 0, {}]]]}],
      "input_layers": [["input_1", 0, 0]], "output_layers": [["leaky_re_lu", 0, 0]]},
    "registered_name": "Functional", "build_config": {"input_shape": [null, 3]}})";
  const std::vector<std::byte> bytes =
      ArchiveReader(weights).read("model.weights.h5", size_t{1} << 20);
  const auto bytes_of = [](std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
  };
  write_archive(path, std::vector<ArchiveMember>{{"metadata.json", bytes_of(kMetadata)},
                                                 {"config.json", bytes_of(kConfig)},
                                                 {"model.weights.h5", bytes}});
}

TEST_CASE(".keras files of Keras 2 load") {
  const Scratch scratch;
  const Tensor in = Input({.shape = {3}, .name = "input_1"});
  const Tensor features =
      layers::Dense({.units = 4, .activation = layers::LeakyReLU({.negative_slope = 0.5})})(in);
  Model model(in, layers::LeakyReLU({.negative_slope = 0.1})(
                      layers::BatchNormalization({.axis = 1})(features)));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.train_on_batch(numbers({5, 3}), numbers({5, 4}));
  model.save(scratch.path("now.keras"));
  write_keras_2_archive(scratch.path("then.keras"), scratch.path("now.keras"));
  Model loaded = load_model(scratch.path("then.keras"));
  const Tensors x = numbers({5, 3}, -1.0F);
  CHECK(distance(predictions(loaded, x), predictions(model, x)) == 0);

  const Json alpha = Json::parse(R"({"alpha": 0.25})");
  CHECK(layers::LeakyReLU::from_config(alpha)(Tensor::from({-4.0F})).to_vector<float>() ==
        std::vector<float>{-1});
}

TEST_CASE("HDF5 files in Keras 2's form load under the names of Keras 3, which Keras 2.12 gave") {
  const Scratch scratch;
  Trained trained = cnn();
  const Tensors expected = predictions(trained.model, trained.x);
  trained.model.save(scratch.path("a.h5"));
  for (const char* name : {"a.keras", "a.weights.h5"}) {
    std::filesystem::copy_file(scratch.path("a.h5"), scratch.path(name));
    Model other = cnn().model;
    other.load_weights(scratch.path(name));
    CHECK(distance(predictions(other, trained.x), expected) == 0);
  }
  Model loaded = load_model(scratch.path("a.keras"));
  CHECK(distance(predictions(loaded, trained.x), expected) == 0);
}

TEST_CASE("losses of files of Keras 2 have Keras 3's reduction") {
  const Json huber = Json::parse(R"({"class_name": "Huber", "config": {"reduction": "auto"}})");
  const Json config = Json::object({{"class_name", "Sequential"},
                                    {"config", Json::object({{"layers", Json::Array()}})},
                                    {"compile_config", Json::object({{"loss", huber}})}});
  const Json loss = legacy::modern_config(config).at("compile_config").at("loss");
  CHECK(loss.at("config").at("reduction") == Json("sum_over_batch_size"));
}

TEST_CASE("hard_sigmoid of files of Keras 2 is said to be another") {
  const Json layer = Json::parse(
      R"({"class_name": "LSTM", "config": {"name": "a", "recurrent_activation": "hard_sigmoid"}})");
  const Json config =
      Json::object({{"class_name", "Sequential"},
                    {"config", Json::object({{"layers", Json::array({layer, layer})}})}});
  const test::Log log;
  legacy::modern_config(config);
  CHECK(contains(log.text(),
                 "Layer 'a' of a file of Keras 2: its recurrent_activation, \"hard_sigmoid\", is "
                 "taken as Keras 3 takes it, relu6(x + 3) / 6, where Keras 2 computes"));
}

// What a Keras 2 optimizer is converted to.
Json modern_optimizer(const char* optimizer) {
  const Json config =
      Json::object({{"class_name", "Sequential"},
                    {"config", Json::object({{"layers", Json::Array()}})},
                    {"compile_config", Json::object({{"optimizer", Json::parse(optimizer)}})}});
  return legacy::modern_config(config).at("compile_config").at("optimizer");
}

TEST_CASE("optimizers of files of Keras 2 that Keras 3 hasn't") {
  const Json slower =
      modern_optimizer(R"({"class_name": "SGD", "config": {"learning_rate": 0.5, "decay": 0.25}})");
  const Optimizer sgd = optimizer_from_json(slower);
  CHECK(sgd.learning_rate().item<float>() == 0.5F);
  sgd.impl().iterations().assign(Tensor(int64_t{4}));
  CHECK(sgd.learning_rate().item<float>() == 0.25F);
  const Json nadam = modern_optimizer(
      R"({"class_name": "Nadam", "config": {"learning_rate": 0.5, "decay": 0.004}})");
  CHECK(nadam.at("config").at("learning_rate") == Json(0.5));

  // Without "dynamic", the scale never grows.
  const Json fixed = modern_optimizer(R"({"class_name": "LossScaleOptimizerV3", "config": {
      "inner_optimizer": {"class_name": "Custom>Adam", "config": {"learning_rate": 0.5}},
      "dynamic": false, "initial_scale": 8.0, "dynamic_growth_steps": null}})");
  const Json read = optimizer_from_json(fixed).impl().get_config();
  CHECK(read.at("inner_optimizer").at("class_name") == Json("Adam"));
  CHECK(read.at("initial_scale") == Json(8.0));
  CHECK(read.at("dynamic_growth_steps").as_int() > int64_t{1} << 40);
}

TEST_CASE("an op of TensorFlow in a file of Keras 2 is named") {
  const Json layer = Json::parse(R"({"class_name": "TFOpLambda",
      "config": {"name": "tf.math.multiply", "function": "math.multiply"},
      "inbound_nodes": [["_CONSTANT_VALUE", -1, 2, {"y": ["input_1", 0, 0]}]]})");
  const Json config = Json::object(
      {{"class_name", "Functional"}, {"config", Json::object({{"layers", Json::array({layer})}})}});
  CHECK(contains(message_of<Unimplemented>([&] { legacy::modern_config(config); }),
                 "The model applies an op of TensorFlow to its tensors outside of layers, "
                 "tf.math.multiply (class TFOpLambda), which"));
}

TEST_CASE("ops of HDF5 files, which don't contain modules, are written with theirs") {
  std::map<std::string, std::string> modules;
  for (const Json& item : test::golden_cases("op_modules").as_array()) {
    for (const Json& name : item.at("classes").as_array()) {
      modules[name.as_string()] = item.at("name").as_string();
    }
  }
  for (const std::string& name : keras_op_names()) {
    CAPTURE(name);
    const Json op = Json::object({{"class_name", name}, {"config", Json::object()}});
    const Json entry = KerasOp::of(op, {Input({.shape = {3}})})->entry();
    CHECK(entry.at("module").as_string() == modules[name]);
  }
}

TEST_CASE("what HDF5 files of models don't hold is refused by name, and nothing is written") {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  Plain plain;
  plain.build({1, 2});
  CHECK(contains(message_of<InvalidArgument>([&] { plain.save(path); }),
                 "a.h5' would be an HDF5 file, which has functional and Sequential models, not "
                 "objects of other classes. Save it as 'x.keras', or its weights as "
                 "'x.weights.h5'."));
  const layers::StringLookup lookup;
  lookup.adapt(Tensor::from({"cat", "dog"}));
  const Tensor word = Input({.shape = {1}, .dtype = "string"});
  Model words(word, lookup(word));
  CHECK(message_of<InvalidArgument>([&] { words.save(path); }) ==
        path +
            ": HDF5 files have no place for 'assets/layers/string_lookup/vocabulary.txt', which "
            "a layer has learned from data. Save the model as 'x.keras', or give the layer its "
            "vocabulary when it is made.");
  CHECK(scratch.names().empty());
  const layers::StringLookup given({.vocabulary = {"cat", "dog"}});
  Model known(word, given(word));
  known.save(path);
  Model loaded = load_model(path);
  CHECK(loaded(Tensor::from({"dog"}, {1, 1})).single().to_vector<int64_t>() ==
        std::vector<int64_t>{2});
  CHECK(contains(message_of<AlreadyExists>([&] { known.save(path, {.overwrite = false}); }),
                 "exists already"));
}

}  // namespace
}  // namespace cornu
