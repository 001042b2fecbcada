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
