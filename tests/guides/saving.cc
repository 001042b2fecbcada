// SPDX-License-Identifier: Apache-2.0
// Guide: save, serialize and export models.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <filesystem>

#include "tests/guides/guide.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

Model get_model() {
  Tensor inputs = Input({.shape = {32}});
  Tensor outputs = layers::Dense({.units = 1})(inputs);
  Model model(inputs, outputs);
  initialize(model, 700);
  model.compile({.optimizer = optimizers::Adam(), .loss = "mean_squared_error"});
  return model;
}

class CustomLayer : public Layer {
 public:
  explicit CustomLayer(double factor, const LayerOptions& options = {})
      : Layer(options), factor_(factor) {}

  Tensor call(const Tensor& x, const CallArgs&) override { return x * factor_; }

  std::string class_name() const override { return "MyLayers>CustomLayer"; }
  Json get_config() const override {
    Json config = Layer::get_config();
    config.set("factor", factor_);
    return config;
  }

 private:
  double factor_;
};

void register_custom_layer() {
  register_serializable("MyLayers>CustomLayer", [](const Json& config) {
    return make_layer<CustomLayer>(config["factor"].as_double(), LayerOptions::from_config(config));
  });
}

// A file that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("cornu_guides_" + name)) {}
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

bool equal(const Tensor& a, const Tensor& b) { return ops::all(ops::equal(a, b)).item<bool>(); }

}  // namespace

TEST_CASE("a model is what it was before it was saved") {
  Model model = get_model();
  // Train the model.
  Tensor test_input = values({128, 32}, 701);
  Tensor test_target = values({128, 1}, 702);
  model.fit(test_input, test_target, {.verbose = 0});

  TemporaryFile file("my_model.keras");
  model.save(file.path());
  // It can be used to reconstruct the model identically.
  Model reconstructed_model = load_model(file.path());
  CHECK(equal(model.predict(test_input, {.verbose = 0}),
              reconstructed_model.predict(test_input, {.verbose = 0})));
  // The reconstructed model is already compiled and has retained the optimizer state.
  const FitOptions further = {.verbose = 0, .shuffle = false};
  CHECK(model.fit(test_input, test_target, further).at("loss") ==
        reconstructed_model.fit(test_input, test_target, further).at("loss"));
}

TEST_CASE("saving_cloning") {
  const Golden golden("saving_cloning");
  Model model = get_model();
  Model new_model = clone_model(model);
  Tensor x = values({2, 32}, 701);
  golden.check("differ", !equal(model(x), new_model(x)));
  new_model.set_weights(model.get_weights());
  golden.check("y", new_model(x));
}

TEST_CASE("weights by file") {
  Tensor x = values({2, 784}, 703);
  Sequential sequential_model({
      Input({.shape = {784}, .name = "digits"}),
      layers::Dense({.units = 64, .activation = "relu", .name = "dense_1"}),
      layers::Dense({.units = 64, .activation = "relu", .name = "dense_2"}),
      layers::Dense({.units = 10, .name = "predictions"}),
  });
  TemporaryFile file("my_model.weights.h5");
  sequential_model.save_weights(file.path());
  Model copy = clone_model(sequential_model);
  CHECK(!equal(sequential_model(x), copy(x)));
  copy.load_weights(file.path());
  CHECK(equal(sequential_model(x), copy(x)));
}

TEST_CASE("saving_configs") {
  const Golden golden("saving_configs");
  auto layer = layers::Dense({.units = 3, .activation = "relu"});
  Json layer_config = layer.get_config();
  auto new_layer = layers::Dense::from_config(layer_config);
  golden.check("layer", Json::array({new_layer.get_config()["units"],
                                     new_layer.get_config()["activation"]}));

  Sequential model({Input({.shape = {32}}), layers::Dense({.units = 1})});
  Json config = model.get_config();
  Sequential new_model = Sequential::from_config(config);
  Json classes = Json::array();
  for (const Json& part : config["layers"].as_array()) classes.push_back(part["class_name"]);
  golden.check("sequential", classes);
  CHECK(new_model.layers().back().name() == model.layers().back().name());

  Model json_model = get_model();
  const std::string json_config = json_model.to_json();
  Model from_json = model_from_json(json_config);
  golden.check("model_class", Json::parse(json_config)["class_name"]);
  Json shapes = Json::array();
  for (const Variable& weight : from_json.weights()) shapes.push_back(weight.shape());
  golden.check("weights", shapes);
}

TEST_CASE("a custom layer comes back from a file") {
  register_custom_layer();
  auto custom = make_layer<CustomLayer>(3.0, LayerOptions{.name = "triple"});
  Tensor inputs = Input({.shape = {4}});
  Model model(inputs, custom(layers::Dense({.units = 2})(inputs)));
  TemporaryFile file("custom_model.keras");
  model.save(file.path());
  Model loaded = load_model(file.path());
  Tensor x = values({2, 4}, 704);
  CHECK(equal(model(x), loaded(x)));
  CHECK(loaded.get_layer("triple").get_config()["factor"].as_double() == 3.0);
}

TEST_CASE("saving_weights_by_layer") {
  const Golden golden("saving_weights_by_layer");
  // Create a simple functional model
  Tensor inputs = Input({.shape = {784}, .name = "digits"});
  Tensor x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_1"})(inputs);
  x = layers::Dense({.units = 64, .activation = "relu", .name = "dense_2"})(x);
  Tensor outputs = layers::Dense({.units = 10, .name = "predictions"})(x);
  Model functional_model(inputs, outputs, {.name = "3_layer_mlp"});
  initialize(functional_model, 710);

  // Extract a portion of the functional model defined in the Setup section.
  // The following lines produce a new model that excludes the final output layer.
  Model pretrained(functional_model.inputs(), functional_model.layers().back().input(),
                   {.name = "pretrained_model"});
  // Randomly assign "trained" weights.
  for (const Variable& w : pretrained.weights()) w.assign(values(w.shape(), 711, 0.1));
  // Take pretrained as the base of a new model.
  outputs = layers::Dense({.units = 5, .name = "predictions"})(pretrained.outputs()[0]);
  Model model(pretrained.inputs(), outputs, {.name = "new_model"});
  initialize(model.layers().back(), 712);
  std::vector<std::string> names;
  for (const LayerHandle& layer : model.layers()) names.push_back(layer.name());
  golden.check("names", names);
  golden.check("y", model(values({2, 784}, 713)));
}
