// SPDX-License-Identifier: Apache-2.0
// Files with classes that this program hasn't registered: the errors say what to do.
#include <doctest/doctest.h>

#include "framework/io/archive.h"
#include "tests/saving/models.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::message_of;
using test::Scratch;

const char* const kMine =
    R"({"module": null, "class_name": "Mine", "config": {}, "registered_name": "shop>Mine"})";
const char* const kFunction =
    R"({"module": "builtins", "class_name": "function", "config": "shop>mine", )"
    R"("registered_name": "function"})";

// Checks the error about the class or function `name`.
void check_advice(const std::string& message, const std::string& kind, const std::string& name) {
  CAPTURE(message);
  CHECK(contains(message, "Unknown " + kind + " '" + name + "'."));
  CHECK(contains(
      message,
      "Register a class or function of your own by register_serializable before loading."));
}

// A .keras file with `piece` of its model's config replaced.
std::string file_with(const Scratch& scratch, const std::string& piece,
                      const std::string& replacement) {
  const std::string path = scratch.path("model.keras");
  Sequential model(
      Input({.shape = {3}}),
      {layers::Dense({.units = 2, .kernel_initializer = initializers::Zeros(), .name = "d"})},
      {.name = "s"});
  model.compile({.optimizer = optimizers::SGD({.name = "mover"}),
                 .loss = losses::Huber(),
                 .metrics = {metrics::MeanAbsoluteError()}});
  model.save(path);
  const ArchiveReader archive(path);
  std::string config = archive.read_text("config.json", size_t{1} << 20);
  const auto weights = archive.read("model.weights.h5", size_t{1} << 20);
  const size_t begin = config.find(piece);
  REQUIRE(begin != std::string::npos);
  config.replace(begin, piece.size(), replacement);
  const ArchiveMember members[] = {{"config.json", std::as_bytes(std::span(config))},
                                   {"model.weights.h5", weights}};
  write_archive(path, members);
  return path;
}

TEST_CASE("a class that isn't registered: each kind's error says how to register it") {
  const Json mine = Json::parse(kMine);
  const std::string name = "shop>Mine";
  check_advice(message_of([&] { initializer_from_json(mine); }), "initializer", name);
  check_advice(message_of([&] { regularizer_from_json(mine); }), "regularizer", name);
  check_advice(message_of([&] { constraint_from_json(mine); }), "constraint", name);
  check_advice(message_of([&] { loss_from_json(mine); }), "loss", name);
  check_advice(message_of([&] { metric_from_json(mine); }), "metric", name);
  check_advice(message_of([&] { optimizer_from_json(mine); }), "optimizer", name);
  check_advice(message_of([&] {
                 LearningRate rate = 0.1;
                 set_from_config(mine, rate);
               }),
               "schedule", name);
}

TEST_CASE("a function that isn't registered") {
  for (const Json& function : {Json::parse(kFunction), Json("shop>mine")}) {
    check_advice(message_of([&] { activation_from_json(function); }), "activation", "shop>mine");
    check_advice(message_of([&] { loss_from_json(function); }), "loss", "shop>mine");
    check_advice(message_of([&] { metric_from_json(function); }), "metric", "shop>mine");
  }
}

TEST_CASE("what is wrong with a class that is registered is no reason for this advice") {
  const Json bad =
      Json::parse(R"({"module": "keras.regularizers", "class_name": "L1", "config": {"l1": -1.0}, )"
                  R"("registered_name": null})");
  CHECK(!contains(message_of([&] { regularizer_from_json(bad); }), "register_serializable"));
  CHECK(!contains(message_of([] { Loss("hubre"); }), "register_serializable"));  // no file is read
}

TEST_CASE("a layer that isn't registered goes by the name that it is to be registered by") {
  CHECK(contains(message_of([] { layer_from_json(Json::parse(kMine)); }),
                 "Unknown layer 'shop>Mine'."));
}

TEST_CASE("a class of a program's own isn't one of Keras's that is called like it") {
  const Json own = Json::parse(R"({"module": null, "class_name": "Dense", "config": {"units": 2}, )"
                               R"("registered_name": "shop>Dense"})");
  CHECK(contains(message_of([&] { layer_from_json(own); }), "Unknown layer 'shop>Dense'."));
}

// The form of a class or function of a Python module, as Keras writes it.
Json of_module(const std::string& module, const std::string& name, bool is_function = false) {
  return Json::object({{"module", module},
                       {"class_name", is_function ? "function" : name},
                       {"config", is_function ? Json(name) : Json::object()},
                       {"registered_name", name}});
}

// Checks the error about one with the name of one of Keras's.
void check_other_module(const std::string& message, const std::string& kind,
                        const std::string& name) {
  CAPTURE(message);
  CHECK(contains(message, fmt::format("Unknown {} '{}' of the module 'shop.parts', which isn't "
                                      "Keras's. Register a class or function of your own as "
                                      "\"shop.parts>{}\" by register_serializable before loading.",
                                      kind, name, name)));
}

TEST_CASE("a class of another module isn't Keras's: none is taken for it") {
  const auto form = [](const char* name) { return of_module("shop.parts", name); };
  check_other_module(message_of([&] { layer_from_json(form("RMSNormalization")); }), "layer",
                     "RMSNormalization");
  check_other_module(message_of([&] { layer_from_json(form("Functional")); }), "layer",
                     "Functional");
  check_other_module(message_of([&] { initializer_from_json(form("Zeros")); }), "initializer",
                     "Zeros");
  check_other_module(message_of([&] { regularizer_from_json(form("L2")); }), "regularizer", "L2");
  check_other_module(message_of([&] { constraint_from_json(form("NonNeg")); }), "constraint",
                     "NonNeg");
  check_other_module(message_of([&] { loss_from_json(form("Huber")); }), "loss", "Huber");
  check_other_module(message_of([&] { metric_from_json(form("Mean")); }), "metric", "Mean");
  check_other_module(message_of([&] { optimizer_from_json(form("SGD")); }), "optimizer", "SGD");
  check_other_module(message_of([&] {
                       LearningRate rate = 0.1;
                       set_from_config(form("CosineDecay"), rate);
                     }),
                     "schedule", "CosineDecay");
  const auto function = [](const char* name) { return of_module("shop.parts", name, true); };
  check_other_module(message_of([&] { activation_from_json(function("relu")); }), "activation",
                     "relu");
  check_other_module(message_of([&] { loss_from_json(function("hinge")); }), "loss", "hinge");
  check_other_module(message_of([&] { metric_from_json(function("hinge")); }), "metric", "hinge");
  CHECK(contains(
      message_of([&] {
        layers::Lambda::from_config(Json::object({{"name", "l"}, {"function", function("relu")}}));
      }),
      "'relu' of the module 'shop.parts', which isn't Keras's."));
  // Written by a program whose class has no package.
  Json none = form("RMSNormalization");
  none.set("module", nullptr);
  CHECK(contains(message_of([&] { layer_from_json(none); }),
                 "Unknown layer 'RMSNormalization', which isn't Keras's. Give a class or function "
                 "of your own a name with a package, \"package>RMSNormalization\", and register "
                 "that by register_serializable before loading."));
}

TEST_CASE("the modules that Keras's own classes have, in this and in older versions") {
  for (const char* module : {"keras", "keras.layers", "keras.src.layers.core.dense",
                             "keras.src.engine.functional", "tf_keras.src.layers", "builtins"}) {
    CAPTURE(module);
    Json json = of_module(module, "Flatten");
    CHECK(layer_from_json(json).class_name() == "Flatten");
    json.set("registered_name", nullptr);
    CHECK(layer_from_json(json).class_name() == "Flatten");
  }
  Json json = of_module("keras.layers", "Flatten");
  json.set("registered_name", nullptr);
  json.set("module", nullptr);
  CHECK(layer_from_json(json).class_name() == "Flatten");
  // HDF5 files have neither.
  CHECK(layer_from_json(Json::parse(R"({"class_name": "Flatten", "config": {}})")).class_name() ==
        "Flatten");
  for (const char* module : {"keras_hub.layers", "kerastuner", "my.keras.layers"}) {
    CHECK(contains(message_of([&] { layer_from_json(of_module(module, "Flatten")); }), module));
  }
}

TEST_CASE("a class of another module is found by its module, and by a name that isn't Keras's") {
  const auto factory = [](double scale) {
    return [scale](const Json&) { return initializers::Constant(scale); };
  };
  register_serializable("unknown_test.parts>Zeros", factory(1));
  register_serializable("unknown_test>Zeros", factory(2));
  register_serializable("UnknownTestOnes", factory(3));
  register_serializable("unknown_test.parts>tanh", [](const Tensor& x) { return x * 4; });
  const auto value = [](const Json& json) {
    return (*initializer_from_json(json))({1}, DType::Float32).item<float>();
  };
  CHECK(value(of_module("unknown_test.parts", "Zeros")) == 1);
  Json registered = of_module("unknown_test.parts", "Zeros");
  registered.set("registered_name", "unknown_test>Zeros");
  CHECK(value(registered) == 2);
  CHECK(value(of_module("unknown_test.parts", "UnknownTestOnes")) == 3);
  CHECK(value(of_module("keras.initializers", "Zeros")) == 0);
  const auto activation = activation_from_json(of_module("unknown_test.parts", "tanh", true));
  CHECK(activation(Tensor::scalar(1.0F)).item<float>() == 4);
  CHECK(serialize(initializers::Constant(1)).at("module") == Json("keras.initializers"));
}

class OfModule : public Layer {
 public:
  OfModule(Json module, std::string class_name)
      : module_(std::move(module)), class_name_(std::move(class_name)) {}
  Tensor call(const Tensor& x, const CallArgs&) override { return x; }
  std::string class_name() const override { return class_name_; }
  Json module() const override { return module_; }

 private:
  Json module_;
  std::string class_name_;
};

TEST_CASE("how files name classes: as Keras finds them") {
  const auto named = [](Json module, const char* class_name) {
    const Json form =
        serialize_layer(*make_layer<OfModule>(std::move(module), class_name).shared());
    return Json::array({form.at("module"), form.at("class_name"), form.at("registered_name")});
  };
  CHECK(named("keras.layers", "Dense") == Json::array({"keras.layers", "Dense", nullptr}));
  CHECK(named("keras.src.x", "Other") == Json::array({"keras.src.x", "Other", "Other"}));
  CHECK(named(nullptr, "Mine") == Json::array({nullptr, "Mine", "Mine"}));
  CHECK(named(nullptr, "shop>Mine") == Json::array({nullptr, "shop>Mine", "shop>Mine"}));
  CHECK(named(nullptr, "shop.x>Mine") == Json::array({"shop.x", "Mine", "shop.x>Mine"}));
  CHECK(named("shop.x", "shop>Mine") == Json::array({"shop.x", "Mine", "shop>Mine"}));
  CHECK(named("shop.x", "Mine") == Json::array({"shop.x", "Mine", "Mine"}));
}

TEST_CASE("a penalty that a layer can't have isn't dropped") {
  const Json dropout = Json::parse(
      R"({"module": "keras.layers", "class_name": "Dropout", "registered_name": null, "config": )"
      R"({"name": "d", "rate": 0.5, "activity_regularizer": {"module": "keras.regularizers", )"
      R"("class_name": "L2", "config": {"l2": 0.1}, "registered_name": null}}})");
  CHECK(contains(message_of([&] { layer_from_json(dropout); }),
                 "'d': an activity_regularizer isn't available for this layer."));
}

TEST_CASE("what a config lacks is told with the class") {
  const Json lacking = Json::parse(
      R"({"module": "keras.layers", "class_name": "Bidirectional", "config": {"name": "r"}, )"
      R"("registered_name": null})");
  const std::string message = message_of([&] { layer_from_json(lacking); });
  CAPTURE(message);
  CHECK(contains(message, "Bidirectional: JSON: expected a member 'layer' in "));
}

TEST_CASE("files with unknown classes") {
  const Scratch scratch;
  const auto refusal = [&](const std::string& class_name) {
    const std::string path =
        file_with(scratch, "\"class_name\": \"" + class_name + "\"", "\"class_name\": \"Mine\"");
    return message_of([&] { load_model(path); });
  };
  check_advice(refusal("Zeros"), "initializer", "Mine");
  check_advice(refusal("SGD"), "optimizer", "Mine");
  check_advice(refusal("Huber"), "loss", "Mine");
  check_advice(refusal("MeanAbsoluteError"), "metric", "Mine");
}

}  // namespace
}  // namespace cornu
