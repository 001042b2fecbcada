// SPDX-License-Identifier: Apache-2.0
// .keras files: round trips, files written by real Keras, and the errors of bad files.
#include <doctest/doctest.h>

#include "framework/core/strings.h"
#include "framework/io/archive.h"
#include "framework/io/atomic_file.h"
#include "framework/model/functional.h"
#include "framework/train/model_config.h"
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

std::string golden_file(const std::string& name) {
  const char* folder = std::getenv("CORNU_TEST_DATA");
  REQUIRE(folder != nullptr);
  return std::string(folder) + "/files/" + name;
}

Json golden(const std::string& name) { return test::golden_cases("files/" + name)[0]; }

Tensors tensors(const Json& list) {
  std::vector<Tensor> result;
  for (const Json& tensor : list.as_array()) result.push_back(test::golden_tensor(tensor));
  return result;
}

TEST_CASE("files that Keras wrote") {
  for (const std::string name :
       {"sequential.keras", "functional.keras", "nested.keras", "bn_cnn.keras",
        "layer_activations.keras", "nested_ends.keras", "mask_of_embedding.keras",
        "mask_of_masking.keras", "categories.keras", "recurrent.keras", "both_ways.keras",
        "distiller.keras"}) {
    CAPTURE(name);
    const Json expected = golden(name);
    Model model = load_model(golden_file(name));
    const Tensors y = predictions(model, tensors(expected.at("inputs")));
    CHECK(distance(y, tensors(expected.at("outputs"))) < 1e-5);
    if (const Json* state = expected.find("optimizer_variables")) {
      REQUIRE(model.compiled());
      const auto variables = model.optimizer().variables();
      REQUIRE(variables.size() == state->size());
      for (size_t i = 0; i < variables.size(); ++i) {
        CHECK(test::difference(variables[i].stored(), (*state)[i], {.relative = 1e-6}) == "");
      }
    }
    CHECK_FALSE(load_model(golden_file(name), {.compile = false}).compiled());
  }
}

TEST_CASE("parts of a dictionary within a list are taken by their names' order, as Keras does") {
  const Tensor x = Input({.shape = {1}, .name = "x"}), p = Input({.shape = {1}, .name = "p"}),
               q = Input({.shape = {1}, .name = "q"});
  Json config = Json::parse(Model({x, q, p}, x + q * 2.0 + p * 3.0).to_json());
  Json inner = config.at("config");
  const auto end = [](const char* name) { return Json::array({name, 0, 0}); };
  inner.set("input_layers",
            Json::array({end("x"), Json::object({{"q", end("q")}, {"p", end("p")}})}));
  config.set("config", inner);
  const Model model = model_from_json(config.dump());
  CHECK(keras_node(model.inputs()[1])->layer()->name() == "p");
}

TEST_CASE("ends of a model in lists and dictionaries of their own go by their paths") {
  Model model = load_model(golden_file("nested_ends.keras"));
  CHECK(model.inputs().names().empty());
  CHECK(model.outputs().names() == std::vector<std::string>{"first", "others/p", "others/q/0"});
  const Scratch scratch;
  model.save(scratch.path("m.keras"));
  CHECK(load_model(scratch.path("m.keras")).outputs().names() == model.outputs().names());
}

TEST_CASE("weights that Keras wrote") {
  for (const std::string name :
       {"dense.weights.h5", "dense_compiled.weights.h5", "dense_legacy.h5"}) {
    CAPTURE(name);
    const Json expected = golden(name);
    const auto model =
        sequential_from_config(Json::parse(expected.at("json").as_string()).at("config"));
    model->load_weights(golden_file(name));
    CHECK(distance(predictions(*model, tensors(expected.at("inputs"))),
                   tensors(expected.at("outputs"))) < 1e-5);
  }
}

TEST_CASE("a config that went through Cornu is Keras's own, graph and all") {
  for (const std::string name :
       {"functional.keras", "nested.keras", "sequential.keras", "layer_activations.keras",
        "mask_of_embedding.keras", "recurrent.keras", "both_ways.keras"}) {
    CAPTURE(name);
    const Json wanted = Json::parse(golden(name).at("json").as_string());
    const Json written = serialize_model(load_model(golden_file(name)));
    for (const char* key : {"module", "class_name", "registered_name", "build_config"}) {
      CHECK(written.at(key) == wanted.at(key));
    }
    const Json& layers = wanted.at("config").at("layers");
    REQUIRE(written.at("config").at("layers").size() == layers.size());
    for (size_t i = 0; i < layers.size(); ++i) {
      const Json& layer = written.at("config").at("layers")[i];
      CHECK(layer.at("config").at("name") == layers[i].at("config").at("name"));
      CHECK(layer.at("class_name") == layers[i].at("class_name"));
      if (const Json* calls = layers[i].find("inbound_nodes")) {
        for (size_t call = 0; call < calls->size(); ++call) {
          CHECK(test::difference(layer.at("inbound_nodes")[call].at("args"),
                                 (*calls)[call].at("args")) == "");
          for (const auto& argument : (*calls)[call].at("kwargs").as_object()) {
            const auto& [key, value] = argument;
            if (value.is_null() || (key == "training" && !value.as_bool())) continue;
            CAPTURE(argument.first);
            CHECK(test::difference(layer.at("inbound_nodes")[call].at("kwargs").at(key), value) ==
                  "");
          }
        }
      }
    }
    for (const char* key : {"input_layers", "output_layers"}) {
      if (!wanted.at("config").contains(key)) continue;
      CHECK(written.at("config").at(key) == wanted.at("config").at(key));
    }
  }
}

TEST_CASE("a Sequential model that its first batch built") {
  const Scratch scratch;
  Sequential model = test::small_cnn();
  const Tensor x = numbers({6, 8, 8}, 255);
  const Tensor y = Tensor::from(std::vector<int32_t>{0, 1, 2, 0, 1, 2});
  model.compile({.optimizer = "adam",
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(x, y, {.batch_size = 3, .epochs = 2, .verbose = 0});
  model.save(scratch.path("a.keras"));
  Model loaded = load_model(scratch.path("a.keras"));
  CHECK(distance(predictions(model, x), predictions(loaded, x)) == 0);
  CHECK(loaded.name() == model.name());
  CHECK(loaded.optimizer().iterations() == 4);

  SUBCASE("goes on training as if it hadn't been saved") {
    const History a = model.fit(x, y, {.batch_size = 3, .verbose = 0, .shuffle = false});
    const History b = loaded.fit(x, y, {.batch_size = 3, .verbose = 0, .shuffle = false});
    CHECK(a.at("loss") == b.at("loss"));
    CHECK(a.at("accuracy") == b.at("accuracy"));
  }
}

// Files with an optimizer that has made no steps contain only its counter.
TEST_CASE("a file that was saved before any training says nothing of its optimizer") {
  const Scratch scratch;
  const auto compiled = [](const Optimizer& optimizer) {
    Sequential model({Input({.shape = {3}}), layers::Dense({.units = 2, .name = "dense"})},
                     {.name = "small"});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  };
  const auto train = [](Model& model) {
    model.fit(numbers({4, 3}), numbers({4, 2}), {.verbose = 0});
  };
  for (const std::string name : {"adam", "sgd"}) {
    CAPTURE(name);
    Sequential model = compiled(Optimizer(name));
    for (const char* file : {"a.keras", "a.h5"}) {
      model.save(scratch.path(file));
      const test::Log log;
      Model loaded = load_model(scratch.path(file));
      train(loaded);
      CHECK(loaded.optimizer().iterations() == 1);
      CHECK(log.text() == "");
    }
    model.save_weights(scratch.path("a.weights.h5"));
    const test::Log log;
    Sequential same = compiled(Optimizer(name));
    same.load_weights(scratch.path("a.weights.h5"));
    CHECK(log.text() == "");
  }
}

TEST_CASE("the state of another optimizer is told, and left") {
  const Scratch scratch;
  const auto trained_by = [](const Optimizer& optimizer) {
    Sequential model({Input({.shape = {3}}), layers::Dense({.units = 2, .name = "dense"})},
                     {.name = "small"});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    model.fit(numbers({4, 3}), numbers({4, 2}), {.verbose = 0});
    return model;
  };
  for (const std::string saved : {"adam", "sgd"}) {
    CAPTURE(saved);
    const std::string here = saved == "adam" ? "sgd" : "adam";
    Sequential model = trained_by(Optimizer(saved));
    for (const char* name : {"a.keras", "a.weights.h5"}) {
      const std::string path = scratch.path(name);
      if (path.ends_with(".keras")) {
        model.save(path);
      } else {
        model.save_weights(path);
      }
      Sequential other = trained_by(Optimizer(here));
      other.fit(numbers({4, 3}), numbers({4, 2}), {.verbose = 0});
      const test::Log log;
      other.load_weights(path);
      CHECK(contains(log.text(), "Sequential 'small': the optimizer's state in '" + path +
                                     "' is another optimizer's, or of other variables; training "
                                     "continues with the state that this one has."));
      CHECK(other.optimizer().iterations() == 2);
    }
  }
}

TEST_CASE("an optimizer that isn't built takes no state of one that has made steps") {
  const Scratch scratch;
  const auto compiled = [](const Optimizer& optimizer) {
    Sequential model(
        {Input({.shape = {3}}), layers::Dense({.units = 2, .use_bias = false, .name = "dense"})},
        {.name = "small"});
    model.compile({.optimizer = optimizer, .loss = "mse"});
    return model;
  };
  const auto slow = optimizers::schedules::ExponentialDecay(
      {.initial_learning_rate = 0.1, .decay_steps = 10, .decay_rate = 0.9});
  const auto pair_of = [&](int i) -> std::pair<Optimizer, Optimizer> {
    if (i == 0) return {optimizers::SGD({.learning_rate = 0.5}), optimizers::Adam()};
    if (i == 1) return {optimizers::Adam(), optimizers::Adam()};
    if (i == 2) return {optimizers::SGD({.learning_rate = 0.5}), optimizers::SGD()};
    if (i == 3) {
      return {optimizers::LossScaleOptimizer({.inner_optimizer = optimizers::Adam()}),
              optimizers::LossScaleOptimizer({.inner_optimizer = optimizers::Adam()})};
    }
    return {optimizers::SGD({.learning_rate = slow}),
            optimizers::SGD({.learning_rate = slow, .momentum = 0.9})};
  };
  for (int i = 0; i < 5; ++i) {
    for (const std::string name : {"a.keras", "a.weights.h5"}) {
      const auto [theirs, ours] = pair_of(i);
      CAPTURE(i);
      CAPTURE(name);
      Sequential saved = compiled(theirs);
      saved.fit(numbers({4, 3}), numbers({4, 2}), {.verbose = 0});
      const std::string path = scratch.path(name);
      if (path.ends_with(".weights.h5")) {
        saved.save_weights(path);
      } else {
        saved.save(path);
      }
      Sequential here = compiled(ours);
      const Tensor rate = here.optimizer().learning_rate();
      {
        const test::Log log;
        here.load_weights(path);
        CHECK(contains(log.text(),
                       "Sequential 'small': the optimizer isn't built, so its state in '" + path +
                           "' isn't loaded."));
      }
      CHECK(here.optimizer().iterations() == 0);
      CHECK(distance(here.optimizer().learning_rate(), rate) == 0);
      // Once it is built, the warning depends on which variables it has.
      here.optimizer().build(here.trainable_variables());
      const bool is_same = i >= 1 && i <= 3;
      const test::Log log;
      here.load_weights(path);
      CHECK(log.text().empty() == is_same);
      CHECK(here.optimizer().iterations() == (is_same ? 1 : 0));
    }
  }
}

TEST_CASE("a compile configuration of Keras 2 has null for what wasn't given") {
  const Json config = Json::parse(
      R"({"optimizer": "sgd", "loss": "mse", "run_eagerly": null, "steps_per_execution": null, )"
      R"("jit_compile": null})");
  const CompileOptions options = compile_options_from_json(config);
  CHECK_FALSE(options.run_eagerly);
  CHECK(options.steps_per_execution == 1);
}

TEST_CASE("functional models with ops, shared layers and several ends") {
  const Scratch scratch;
  Model model = test::op_model();
  model.save(scratch.path("a.keras"));
  Model loaded = load_model(scratch.path("a.keras"));
  const Tensors x = {numbers({5, 3}), numbers({5, 3}, -0.5F)};
  CHECK(distance(predictions(model, x), predictions(loaded, x)) == 0);
  CHECK_FALSE(loaded.compiled());
  loaded.save(scratch.path("b.keras"));
  Model again = load_model(scratch.path("b.keras"));
  CHECK(serialize_model(loaded) == serialize_model(again));
}

TEST_CASE("clones have weights of their own") {
  Model model = test::op_model();
  Model clone = clone_model(model);
  const Tensors x = {numbers({5, 3}), numbers({5, 3}, -0.5F)};
  CHECK(serialize_model(model).at("config") == serialize_model(clone).at("config"));
  CHECK(distance(predictions(model, x), predictions(clone, x)) > 1e-3);
  clone.set_weights(model.get_weights());
  CHECK(distance(predictions(model, x), predictions(clone, x)) == 0);
}

// Replaces one text in the file's config with another.
void change_config(const std::string& path, const std::string& from, const std::string& to) {
  const ArchiveReader reader(path);
  std::string config = reader.read_text("config.json", 1 << 20);
  const size_t at = config.find(from);
  REQUIRE(at != std::string::npos);
  config.replace(at, from.size(), to);
  const auto weights = reader.read("model.weights.h5", 1 << 24);
  const ArchiveMember members[] = {
      {"config.json", std::as_bytes(std::span(config.data(), config.size()))},
      {"model.weights.h5", weights}};
  write_archive(path, members);
}

TEST_CASE("bad files") {
  const Scratch scratch;
  const std::string path = scratch.path("a.keras");
  CHECK(contains(message_of<NotFound>([&] { load_model(path); }), path));
  CHECK(contains(message_of<InvalidArgument>([&] { load_model(scratch.path("a.pb")); }),
                 "load_model expected a path that ends in '.keras'"));
  Model model = test::op_model();
  for (const char* name : {"a.pb", "a.weights.h5"}) {
    CHECK(contains(
        message_of<InvalidArgument>([&] { model.save(scratch.path(name)); }),
        "'two_inputs': save expected a path that ends in '.keras', '.h5' or '.hdf5', got"));
  }
  model.save(path);
  CHECK(contains(message_of<AlreadyExists>([&] { model.save(path, {.overwrite = false}); }),
                 "exists already"));
  const std::string whole = test::contents(path);

  SUBCASE("cut off") {
    for (const size_t size : {size_t{0}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
      test::put(path, whole.substr(0, size));
      CHECK(contains(message_of<DataLoss>([&] { load_model(path); }), path));
    }
  }
  SUBCASE("an unknown class") {
    change_config(path, "\"class_name\": \"Dense\"", "\"class_name\": \"Dens\"");
    const std::string text = message_of<InvalidArgument>([&] { load_model(path); });
    CHECK(contains(text, "Unknown layer 'Dens'. Did you mean 'Dense'?"));
    CHECK(contains(text, "Register a class of your own by register_serializable before loading."));
    CHECK(contains(text, "a.keras: config.json"));
  }
  SUBCASE("an unknown op") {
    change_config(path, "\"class_name\": \"Relu\"", "\"class_name\": \"Relux\"");
    CHECK(contains(message_of<Unimplemented>([&] { load_model(path); }),
                   "The op 'Relux' isn't implemented for models in files. Did you mean"));
  }
  SUBCASE("other weights than the config's") {
    change_config(path, "\"units\": 2", "\"units\": 3");
    CHECK(contains(message_of<InvalidArgument>([&] { load_model(path); }),
                   "weight 'kernel' expected shape (12, 3), got (12, 2)"));
  }
  SUBCASE("a key that is missing") {
    change_config(path, "\"input_layers\"", "\"inputs\"");
    CHECK(contains(message_of<DataLoss>([&] { load_model(path); }), "input_layers"));
  }
  SUBCASE("a call of what isn't there") {
    change_config(path, "\"keras_history\": [\"left\", 0, 0]",
                  "\"keras_history\": [\"gone\", 0, 0]");
    CHECK(contains(message_of<InvalidArgument>([&] { load_model(path); }),
                   "the inputs of its layer 'shared' aren't in the config"));
  }
}

// From keras.Model(x, [x[:, 1:4], x[..., None], *ops.split(x, 3, -1), ops.argmax(x, -1),
// …]).to_json().
TEST_CASE("ops of parts, as Keras writes them") {
  const auto op = [](const char* name, const char* kind, const char* config, const char* more) {
    return fmt::format(
        R"({{"module": "keras.src.ops.numpy", "class_name": "{1}", "config": {{"name": "{0}"{2}}},
            "registered_name": "{1}", "name": "{0}", "inbound_nodes": [{{"args": [
            {{"class_name": "__keras_tensor__", "config": {{"shape": [null, 6], "dtype": "float32",
            "keras_history": ["x", 0, 0]}}}}{3}], "kwargs": {{}}}}]}})",
        name, kind, config, more);
  };
  const std::string whole =
      R"({"class_name": "__slice__", "config": {"start": null, "stop": null, "step": null}})";
  const std::string part =
      R"({"class_name": "__slice__", "config": {"start": 1, "stop": 4, "step": null}})";
  const std::string dots = R"({"class_name": "__ellipsis__", "config": {}})";
  const std::string json =
      R"({"module": "keras.src.models.functional", "class_name": "Functional",
          "registered_name": "Functional", "config": {"name": "m", "trainable": true, "layers": [
          {"module": "keras.layers", "class_name": "InputLayer", "registered_name": null,
           "name": "x", "config": {"batch_shape": [null, 6], "dtype": "float32", "name": "x"},
           "inbound_nodes": []},)" +
      op("a", "GetItem", "", (", [" + whole + ", " + part + "]").c_str()) + "," +
      op("b", "GetItem", "", (", [" + dots + ", null, -1]").c_str()) + "," +
      op("c", "Split", R"(, "indices_or_sections": 3, "axis": -1)", "") + "," +
      op("d", "Split", R"(, "indices_or_sections": [1, 4], "axis": 1)", "") + "," +
      op("e", "Argmax", R"(, "axis": -1, "keepdims": true)", "") + "," +
      op("f", "Take", R"(, "axis": 1)", ", [0, 2]") + "," +
      op("g", "ZerosLike", R"(, "dtype": null)", "") +
      R"(], "input_layers": ["x", 0, 0], "output_layers": [["a", 0, 0], ["b", 0, 0], ["c", 0, 2],
          ["d", 0, 1], ["e", 0, 0], ["f", 0, 0], ["g", 0, 0]]}})";
  const Tensor x = numbers({2, 6});
  const auto check_parts = [&](Model model) {
    const Tensors y = model(x);
    const std::vector<Tensor> expected = {
        x(Slice(), Slice(1, 4)),  x(ellipsis, newaxis, -1),
        x(Slice(), Slice(4, 6)),  x(Slice(), Slice(1, 4)),
        ops::argmax(x, -1, true), ops::take(x, Tensor::from<int32_t>({0, 2}), 1),
        ops::zeros({2, 6})};
    for (size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      CHECK(y[i].shape() == expected[i].shape());
      CHECK(y[i].dtype() == expected[i].dtype());
      CHECK(distance(y[i], expected[i]) == 0);
    }
  };
  const Model model = model_from_json(json);
  check_parts(model);
  check_parts(model_from_json(model.to_json()));  // as written by Cornu
}

// A model with one of Keras's ops "c" on x (batch, 3), called `calls` times, each time on its
// previous output.
std::string model_of_op(const char* class_name, const std::string& config, const char* dtype,
                        int calls = 1) {
  std::vector<std::string> nodes;
  for (int i = 0; i < calls; ++i) {
    nodes.push_back(fmt::format(
        R"({{"args": [{{"class_name": "__keras_tensor__", "config": {{"shape": [null, 3],
            "dtype": "{}", "keras_history": ["{}", {}, 0]}}}}], "kwargs": {{}}}})",
        dtype, i == 0 ? "x" : "c", i == 0 ? 0 : i - 1));
  }
  return fmt::format(
      R"({{"module": "keras.src.models.functional", "class_name": "Functional",
          "registered_name": "Functional", "config": {{"name": "m", "trainable": true, "layers": [
          {{"module": "keras.layers", "class_name": "InputLayer", "registered_name": null,
           "name": "x", "config": {{"batch_shape": [null, 3], "dtype": "{0}", "name": "x"}},
           "inbound_nodes": []}},
          {{"module": "keras.src.ops.numpy", "class_name": "{1}", "registered_name": "{1}",
           "name": "c", "config": {{"name": "c"{2}}}, "inbound_nodes": [{3}]}}],
          "input_layers": ["x", 0, 0], "output_layers": ["c", {4}, 0]}}}})",
      dtype, class_name, config, join(nodes, ", "), calls - 1);
}

TEST_CASE("bounds of a file's clip leave integers integers, as Keras does") {
  for (const char* bounds : {R"(, "x_min": -1, "x_max": 1)", R"(, "x_min": -1, "x_max": true)"}) {
    CAPTURE(bounds);
    Model model = model_from_json(model_of_op("Clip", bounds, "int8"));
    const Tensor y = model(Tensor::from(std::vector<int8_t>{-5, 0, 7}, {1, 3}));
    CHECK(y.dtype() == DType::Int8);
    CHECK(y.to_vector<int8_t>() == std::vector<int8_t>{-1, 0, 1});
  }
  Model wide = model_from_json(model_of_op(
      "Clip", R"(, "x_min": [-5000000000, 0, 0], "x_max": [1, 5000000000, 7])", "int64"));
  const Tensor y = wide(Tensor::from(std::vector<int64_t>{-6000000000, 4000000000, 9}, {1, 3}));
  CHECK(y.to_vector<int64_t>() == std::vector<int64_t>{-5000000000, 4000000000, 7});
}

TEST_CASE("an op of a file that is called several times") {
  for (const char* op : {"Negative", "Tril"}) {
    CAPTURE(op);
    Model model = model_from_json(model_of_op(op, "", "float32", 3));
    const Tensor x = Tensor::from(std::vector<float>{1, -2, 3}, {1, 3});
    const Tensor once = model_from_json(model_of_op(op, "", "float32"))(x);
    CHECK(model(x).to_vector<float>() == once.to_vector<float>());
    CHECK(Tensor(model_from_json(model.to_json())(x)).to_vector<float>() ==
          once.to_vector<float>());
  }
}

TEST_CASE("an op that isn't one of Keras's can't be saved, and is named") {
  const Scratch scratch;
  const Tensor x = Input({.shape = {3}});
  Model model(x, layers::Dense({.units = 1})(ops::cumsum(x, 1, {.reverse = true})));
  CHECK(contains(message_of<Unimplemented>([&] { model.save(scratch.path("a.keras")); }),
                 "op 'cumsum', applied to placeholders as 'cumsum"));
  CHECK(contains(message_of<Unimplemented>([&] { model.save(scratch.path("a.keras")); }),
                 "can't be saved: none of Keras's ops that Cornu writes is the same."));
  const auto refused = [&](const Tensor& from, const Tensor& to) {
    Model whole(from, to);
    return message_of<Unimplemented>([&] { whole.save(scratch.path("a.keras")); });
  };
  // With unknown sizes, each of these is a single op.
  const Tensor pictures = Input({.shape = {kUnknown, kUnknown, 3}});
  const std::string advice =
      "can't be saved: none of Keras's ops that Cornu writes is the same. Put it into a layer, or "
      "save the weights alone (save_weights).";
  for (const auto& [name, result] : std::vector<std::pair<std::string, Tensor>>{
           {"sobel_edges", ops::image::sobel_edges(pictures)},
           {"elastic_transform", ops::image::elastic_transform(pictures)}}) {
    const std::string message = refused(pictures, result);
    CHECK_MESSAGE(contains(message, "op '" + name + "', applied to placeholders as '" + name),
                  message);
    CHECK(contains(message, advice));
  }
  const Tensor logits = Input({.shape = {5, 4}, .batch_size = 2});
  const std::string message =
      refused(logits, ops::ctc_loss(ops::ones({2, 3}, DType::Int32), logits,
                                    ops::ones({2}, DType::Int32), ops::ones({2}, DType::Int32)));
  CHECK_MESSAGE(contains(message, "op 'ctc_loss', applied to placeholders as 'ctc_loss"), message);
  CHECK(contains(message, advice));
  CHECK(scratch.names().empty());
}

TEST_CASE("a function as loss doesn't keep a model from being saved") {
  const Scratch scratch;
  Sequential model(Input({.shape = {3}}), {layers::Dense({.units = 1})});
  model.compile({.loss = [](const Tensor& y, const Tensor& p) { return ops::square(y - p); }});
  model.save(scratch.path("a.keras"));
  Model loaded = load_model(scratch.path("a.keras"));
  CHECK_FALSE(loaded.compiled());
  CHECK(distance(predictions(model, numbers({2, 3})), predictions(loaded, numbers({2, 3}))) == 0);
}

// Keras's functional models store `training` in calls of layers whose call has a default for it.
TEST_CASE("a training flag in a file that is a class's default is nobody's word") {
  clear_session();
  const Tensor inputs = Input({.shape = {8, 8, 1}});
  const Tensor flipped = layers::RandomFlip({.seed = 1})(inputs);
  const Tensor dropped = layers::Dropout({.rate = 0.5, .seed = 2})(inputs);
  const Tensor always = layers::Dropout({.rate = 0.5, .seed = 3})(inputs);
  const Tensor normalized = layers::BatchNormalization()(inputs);
  const Model model(inputs, {flipped, dropped, always, normalized});
  Json config = serialize_model(model);
  const std::vector<std::pair<std::string, bool>> written = {{"random_flip", true},
                                                             {"dropout", false},
                                                             {"dropout_1", true},
                                                             {"batch_normalization", false}};
  std::string text = config.dump();
  for (const auto& [name, training] : written) {
    // The calls come before the next layer's module; each layer has one call.
    const size_t layer = text.find("\"name\": \"" + name + "\"");
    REQUIRE(layer != std::string::npos);
    const std::string none = "\"kwargs\": {}";
    const size_t at = text.find(none, layer);
    REQUIRE(at != std::string::npos);
    text.replace(at, none.size(), fmt::format("\"kwargs\": {{\"training\": {}}}", training));
  }
  Model loaded = model_from_json(text);
  const Tensor x = ops::reshape(ops::arange(1, 513, 1, "float32"), {8, 8, 8, 1});
  auto same = [&](const Tensor& y) { return distance(y, x) == 0; };
  for (int i = 0; i < 3; ++i) {
    const Tensors predicted = loaded.predict(x, {.verbose = 0});
    CHECK(same(predicted[0]));
    CHECK(same(predicted[1]));
    CHECK(!same(predicted[2]));
  }
  const Tensors trained = loaded(x, {.training = true});
  CHECK(!same(trained[0]));
  CHECK(!same(trained[1]));
  CHECK(!same(trained[2]));
  CHECK(distance(trained[3], x) < 1.0);  // x / sqrt(1.001): not this batch's statistics
}

TEST_CASE("a training flag that a program gave to a call holds in its copies and files") {
  clear_session();
  const Tensor inputs = Input({.shape = {8, 8, 1}});
  const Tensor never = layers::Dropout({.rate = 0.5, .seed = 1})(inputs, {.training = false});
  const Tensor always = layers::RandomFlip({.seed = 2})(inputs, {.training = true});
  const Tensor as_told = layers::Dropout({.rate = 0.5, .seed = 3})(inputs);
  Model model(inputs, {never, always, as_told});
  const Scratch scratch;
  const Tensor x = ops::reshape(ops::arange(1, 513, 1, "float32"), {8, 8, 8, 1});
  auto same = [&](const Tensor& y) { return distance(y, x) == 0; };
  const auto check_copy = [&](Model copy) {
    CHECK(same(copy(x, {.training = true})[0]));
    CHECK(!same(copy(x, {.training = true})[2]));
    CHECK(!same(copy.predict(x, {.verbose = 0})[1]));
    CHECK(same(copy.predict(x, {.verbose = 0})[2]));
  };
  check_copy(model);
  check_copy(clone_model(model));
  check_copy(model_from_json(model.to_json()));
  for (const char* name : {"model.keras", "model.h5"}) {
    CAPTURE(name);
    model.save(scratch.path(name));
    check_copy(load_model(scratch.path(name)));
  }
}

TEST_CASE("losses and metrics that are functions of Keras's in a file") {
  const auto function = [](const char* name) {
    return Json::object({{"module", "builtins"},
                         {"class_name", "function"},
                         {"config", name},
                         {"registered_name", "function"}});
  };
  CHECK(loss_from_json(function("mean_squared_error")).name() == "mean_squared_error");
  CHECK(metric_from_json(function("mean_absolute_error")).name() == "mean_absolute_error");
  CHECK_THROWS_WITH_AS(loss_from_json(function("mean_square_error")),
                       doctest::Contains("Did you mean 'mean_squared_error'"), InvalidArgument);
  CHECK_THROWS_AS(metric_from_json(function("cosine_similarity")), Unimplemented);
  CHECK(metric_from_json(Json("cosine_similarity")).impl().class_name() == "CosineSimilarity");
}

}  // namespace
}  // namespace cornu
