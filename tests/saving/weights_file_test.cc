// SPDX-License-Identifier: Apache-2.0
#include "framework/saving/weights_file.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "framework/io/atomic_file.h"
#include "framework/model/weight_limit.h"
#include "framework/saving/hdf5_file.h"
#include "tests/saving/models.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

namespace cornu {
namespace {

using test::contains;
using test::distance;
using test::message_of;
using test::numbers;
using test::Scratch;

Sequential dense_model(int64_t hidden = 5) {
  return Sequential(
      Input({.shape = {4}}),
      {layers::Dense({.units = hidden, .activation = "relu", .name = "hidden"}),
       layers::BatchNormalization({.name = "norm"}), layers::Dense({.units = 3, .name = "out"})});
}

std::vector<std::vector<double>> values_of(const Layer& model) {
  std::vector<std::vector<double>> result;
  for (const Tensor& value : model.get_weights()) result.push_back(test::numbers_of(value));
  return result;
}

TEST_CASE("weights come back as they were") {
  const Scratch scratch;
  Sequential model = dense_model();
  Sequential other = dense_model();
  const Tensor x = test::numbers({6, 4});
  REQUIRE(test::distance(test::predictions(model, x), test::predictions(other, x)) > 1e-3);
  model.save_weights(scratch.path("a.weights.h5"));
  other.load_weights(scratch.path("a.weights.h5"));
  CHECK(values_of(model) == values_of(other));
  CHECK(test::distance(test::predictions(model, x), test::predictions(other, x)) == 0);
}

TEST_CASE("the optimizer's state comes back where it fits") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  const Tensor x = test::numbers({8, 4});
  const Tensor y = test::numbers({8, 3});
  Sequential model = dense_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(x, y, {.batch_size = 4, .verbose = 0});
  model.save_weights(path);

  Sequential other = dense_model();
  other.compile({.optimizer = "adam", .loss = "mse"});
  other.optimizer().impl().build(other.trainable_variables());
  other.load_weights(path);
  CHECK(other.optimizer().iterations() == 2);
  const auto before = model.optimizer().variables();
  const auto after = other.optimizer().variables();
  REQUIRE(before.size() == after.size());
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(test::numbers_of(before[i].stored()) == test::numbers_of(after[i].stored()));
  }

  SUBCASE("and is left alone where it doesn't") {
    Sequential sgd = dense_model();
    sgd.compile({.optimizer = "sgd", .loss = "mse"});
    sgd.load_weights(path);
    CHECK(sgd.optimizer().iterations() == 0);
    CHECK(values_of(sgd) == values_of(model));
  }
}

TEST_CASE("a file of another model changes nothing and says where it differs") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  dense_model(7).save_weights(path);
  Sequential model = dense_model();
  const auto before = values_of(model);
  const std::string text = message_of<InvalidArgument>([&] { model.load_weights(path); });
  CHECK(contains(text,
                 "Dense 'hidden': weight 'kernel' expected shape (4, 5), got (4, 7) at "
                 "'layers/dense/vars/0'"));
  CHECK(contains(text, path));
  CHECK(values_of(model) == before);

  Sequential longer = dense_model(7);
  longer.add(layers::Dense({.units = 1, .name = "last"}));
  CHECK(contains(message_of<InvalidArgument>([&] { longer.load_weights(path); }),
                 "Dense 'last' expected 2 weights at 'layers/dense_2/vars', got 0. The file has no "
                 "group 'layers/dense_2'. Load it into a model with the layers of the one that was "
                 "saved, in the same order."));
}

TEST_CASE("missing and damaged files") {
  const Scratch scratch;
  Sequential model = dense_model();
  CHECK(contains(message_of<NotFound>([&] { model.load_weights(scratch.path("none.weights.h5")); }),
                 "none.weights.h5"));
  const std::string path = scratch.path("a.weights.h5");
  model.save_weights(path);
  const std::string whole = test::contents(path);
  const auto before = values_of(model);
  for (const size_t size : {size_t{0}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    CAPTURE(size);
    test::put(path, whole.substr(0, size));
    CHECK(contains(message_of<DataLoss>([&] { model.load_weights(path); }), path));
  }
  CHECK(values_of(model) == before);
}

TEST_CASE("names, overwriting, models without weights") {
  const Scratch scratch;
  Sequential model = dense_model();
  CHECK(contains(message_of<InvalidArgument>([&] { model.save_weights(scratch.path("a.h5")); }),
                 "expected a path that ends in '.weights.h5'"));
  CHECK(contains(message_of<InvalidArgument>([&] { model.load_weights(scratch.path("a.npz")); }),
                 "expected a path that ends in '.weights.h5', '.weights.json', '.keras' or '.h5'"));
  const std::string path = scratch.path("a.weights.h5");
  model.save_weights(path);
  CHECK(contains(message_of<AlreadyExists>([&] { model.save_weights(path, {.overwrite = false}); }),
                 "exists already"));
  model.save_weights(path);

  Sequential unbuilt({layers::Dense({.units = 2})});
  CHECK(contains(
      message_of<FailedPrecondition>([&] { unbuilt.save_weights(scratch.path("b.weights.h5")); }),
      "give it an Input first"));
  CHECK(scratch.names() == std::vector<std::string>{"a.weights.h5"});
}

TEST_CASE("groups are named as Keras names them") {
  Sequential model = dense_model();
  model.predict(test::numbers({1, 4}), {.verbose = 0});
  const Scratch scratch;
  model.save_weights(scratch.path("a.weights.h5"));
  const Hdf5Reader reader = Hdf5Reader::open(scratch.path("a.weights.h5"));
  CHECK(reader.string_attribute("layers/dense_1/vars", "name") == "out");
  CHECK(reader.string_attribute("vars", "name") == model.name());
  CHECK(reader.describe("layers/batch_normalization/vars/3").shape == Shape{5});
  CHECK_FALSE(reader.is_group("optimizer"));
}

TEST_CASE("the optimizer of a model that wasn't trained has no slots in Keras's files") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Sequential model(Input({.shape = {2}}), {layers::Dense({.units = 1})});
  model.compile({.optimizer = optimizers::Adam({.learning_rate = 0.25}), .loss = "mse"});
  Hdf5Writer writer;
  writer.write("layers/dense/vars/0", ops::ones({2, 1}));
  writer.write("layers/dense/vars/1", ops::ones({1}));
  writer.write("optimizer/vars/0", Tensor::scalar(int64_t{0}));
  writer.write("optimizer/vars/1", Tensor::scalar(0.5F));
  write_file_atomically(path, writer.take_bytes());
  model.fit(ops::ones({2, 2}), ops::ones({2, 1}), {.verbose = 0});
  model.load_weights(path);
  CHECK(model.optimizer().iterations() == 0);
  CHECK(double(model.optimizer().learning_rate()) == 0.5);
}

class Parts : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override { return norm_(hidden_(x), args); }

 private:
  layers::Dense hidden_{{.units = 5}};
  layers::BatchNormalization norm_;
};

TEST_CASE("names of a subclassed model's attributes") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Hdf5Writer writer;
  writer.write("hidden/vars/0", ops::ones({4, 5}));
  writer.write("hidden/vars/1", ops::ones({5}));
  write_file_atomically(path, writer.take_bytes());
  Parts model;
  model(ops::ones({2, 4}));
  CHECK(contains(message_of<InvalidArgument>([&] { model.load_weights(path); }),
                 "got 0. It holds hidden: names of a subclassed model's attributes. Give the "
                 "layers these names in the constructor, as track(\"hidden\", …) does."));
}

class Renamed : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return tail_(head_(x)); }

 private:
  layers::Dense head_ = track("head", layers::Dense({.units = 5}));
  LayerRef<Parts> tail_ = track("tail", make_layer<Parts>());
};

TEST_CASE("the name of the class of a layer that Keras finds in a model's list") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Hdf5Writer writer;
  writer.write("head/vars/0", ops::ones({4, 5}));
  writer.write("head/vars/1", ops::ones({5}));
  writer.write("layers/old_parts/hidden/vars/0", ops::ones({5, 5}));
  write_file_atomically(path, writer.take_bytes());
  Renamed model;
  model(ops::ones({2, 4}));
  CHECK(contains(message_of<InvalidArgument>([&] { model.load_weights(path); }),
                 "Its 'layers' holds old_parts: there, a layer of a subclassed model has the name "
                 "of its class, which has to be called as it was."));
}

class Swin : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override { return inner_(x); }

 private:
  layers::Dense inner_ = track("inner", layers::Dense({.units = 4, .name = "inner"}));
};

TEST_CASE("the name of a layer's class that isn't the file's") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Hdf5Writer writer;
  writer.write("layers/swin_block/inner/vars/0", ops::ones({4, 4}));
  writer.write("layers/swin_block/inner/vars/1", ops::ones({4}));
  write_file_atomically(path, writer.take_bytes());
  Sequential model(Input({.shape = {4}}), {make_layer<Swin>()});
  CHECK(
      contains(message_of<InvalidArgument>([&] { model.load_weights(path); }),
               "Dense 'inner' expected 2 weights at 'layers/swin/inner/vars', got 0. The file has "
               "no group 'layers/swin'; it has 'layers/swin_block', which the model hasn't. This "
               "one has the name of the class Swin: class_name() must return the name of the "
               "class that was saved."));
}

TEST_CASE("the name of a layer's attribute that isn't the file's") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Hdf5Writer writer;
  writer.write("layers/swin/dense/vars/0", ops::ones({4, 4}));
  writer.write("layers/swin/dense/vars/1", ops::ones({4}));
  write_file_atomically(path, writer.take_bytes());
  Sequential model(Input({.shape = {4}}), {make_layer<Swin>()});
  CHECK(contains(message_of<InvalidArgument>([&] { model.load_weights(path); }),
                 "The file has no group 'layers/swin/inner'; it has 'layers/swin/dense', which the "
                 "model hasn't. Give the layer the name that it had there, as track(\"name\", …) "
                 "does."));
}

class OwnStep : public Model {
 public:
  NamedValues<Tensor> train_step(const Batch& data) override {
    return {{"sum", ops::sum(generator_(data.x).single())}};
  }
  Sequential generator_ = track("generator", Sequential({layers::Dense({.units = 3})}));
};

TEST_CASE("a model whose step never calls the whole of it is saved all the same") {
  const Scratch scratch;
  OwnStep model;
  model.compile({});
  CHECK(contains(
      message_of<FailedPrecondition>([&] { model.save_weights(scratch.path("a.weights.h5")); }),
      "which don't exist yet"));
  model.fit(ops::ones({2, 4}), {.verbose = 0});
  model.save_weights(scratch.path("a.weights.h5"));
  OwnStep other;
  other.generator_(ops::zeros({1, 4}));
  other.load_weights(scratch.path("a.weights.h5"));
  CHECK(values_of(other) == values_of(model));
}

TEST_CASE("layers that don't fit are skipped, and named, where it is asked for") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.h5");
  Sequential saved = dense_model(7);
  saved.save_weights(path);
  Sequential model(
      Input({.shape = {4}}),
      {layers::Dense({.units = 7, .name = "hidden"}), layers::BatchNormalization({.name = "norm"}),
       layers::Dense({.units = 4, .name = "out"}), layers::Dense({.units = 2, .name = "last"})});
  const auto before = values_of(model);
  const test::Log log;
  model.load_weights(path, {.skip_mismatch = true});
  CHECK(contains(log.text(), path + ": 2 of the model's objects were skipped, since the file's "
                                    "don't fit: Dense 'out', Dense 'last'. Of the first: "));
  CHECK(contains(log.text(), "weight 'kernel' expected shape (7, 4), got (7, 3)"));
  const auto after = values_of(model);
  const auto wanted = values_of(saved);
  for (size_t i = 0; i < after.size(); ++i) CHECK(after[i] == (i < 6 ? wanted[i] : before[i]));
  CHECK_THROWS_AS(model.load_weights(path), InvalidArgument);
}

TEST_CASE("skip_mismatch takes archives; by_name is for files of Keras 2") {
  const Scratch scratch;
  dense_model(7).save(scratch.path("a.keras"));
  dense_model(7).save_weights(scratch.path("a.weights.h5"));
  Sequential model = dense_model(6);
  const test::Log log;
  model.load_weights(scratch.path("a.keras"), {.skip_mismatch = true});
  CHECK(contains(log.text(), "Dense 'hidden', BatchNormalization 'norm', Dense 'out'"));
  for (const char* name : {"a.keras", "a.weights.h5"}) {
    CHECK(contains(message_of<InvalidArgument>(
                       [&] { model.load_weights(scratch.path(name), {.by_name = true}); }),
                   "by_name is for files of Keras 2 ('.h5'), whose layers have names"));
  }
}

TEST_CASE("large weights, which get no initial values while a file is loaded") {
  const Scratch scratch;
  const std::string path = scratch.path("a.keras");
  Sequential model(Input({.shape = {300}}),
                   {layers::Dense({.units = 200}), layers::Dense({.units = 3})});
  model.save(path);
  Model loaded = load_model(path);
  CHECK(values_of(loaded) == values_of(model));
  Model other = clone_model(model);
  CHECK(values_of(other) != values_of(model));
  other.load_weights(path);
  CHECK(values_of(other) == values_of(model));

  // Weights that the file doesn't set have their initial values in the end.
  WeightLimit limit(1 << 20);
  layers::Dense layer({.units = 200, .kernel_initializer = "ones"});
  layer.build({1, 300});
  limit.finish();
  const auto ones = layer.get_weights()[0].to_vector<float>();
  CHECK(std::all_of(ones.begin(), ones.end(), [](float value) { return value == 1; }));
}

// A model with 4 * 5 + 5 + 4 * 5 + 5 * 3 + 3 = 63 numbers of four bytes.
constexpr double kGigabyte = 1 << 30;

TEST_CASE("weights in shards") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.json");
  Sequential model = dense_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(test::numbers({4, 4}), test::numbers({4, 3}), {.verbose = 0});
  model.save_weights(path, {.max_shard_size = 100 / kGigabyte});
  const auto names = scratch.names();
  CHECK(names.front() == "a.weights.json");
  CHECK(names[1] == "a_00000.weights.h5");
  CHECK(names.size() > 6);
  const Json index = Json::parse(test::contents(path));
  // 80 bytes of kernel and 20 of bias fill the first file; the second has the whole normalization.
  CHECK(index.at("weight_map").at("/layers/dense/vars").as_string() == "a_00000.weights.h5");
  CHECK(index.at("weight_map").at("/layers/batch_normalization/vars").as_string() ==
        "a_00001.weights.h5");
  CHECK(index.at("weight_map").at("/optimizer/vars").is_array());
  CHECK(index.at("metadata").at("total_size").as_int() == 4 * 63 + 8 + 4 + 4 * 2 * 53);

  Sequential other = dense_model();
  other.compile({.optimizer = "adam", .loss = "mse"});
  other.optimizer().impl().build(other.trainable_variables());
  other.load_weights(path);
  CHECK(values_of(other) == values_of(model));
  CHECK(other.optimizer().iterations() == 1);

  CHECK(message_of<InvalidArgument>(
            [&] { model.save_weights(path, {.max_shard_size = 79 / kGigabyte}); }) ==
        "'layers/dense/vars/0' has 80 bytes, more than a shard's 79: give max_shard_size a larger "
        "value.");
  CHECK(contains(message_of<InvalidArgument>(
                     [&] { model.save_weights(scratch.path("a.h5"), {.max_shard_size = 1}); }),
                 "expected a path that ends in '.weights.json'"));
  CHECK(contains(
      message_of<InvalidArgument>([&] { model.save_weights(scratch.path("b.weights.json")); }),
      "expected a path that ends in '.weights.h5'"));
  CHECK(contains(
      message_of<InvalidArgument>([&] { model.save_weights(path, {.max_shard_size = 0}); }),
      "expected a max_shard_size in GB, above 0 and at most 1e9, got 0"));
  CHECK(contains(
      message_of<InvalidArgument>([&] { model.save_weights(path, {.max_shard_size = 1e300}); }),
      "above 0 and at most 1e9, got 1e+300."));
  std::filesystem::remove(scratch.path("a_00001.weights.h5"));
  CHECK(contains(message_of<NotFound>([&] { other.load_weights(path); }), "a_00001.weights.h5"));
}

TEST_CASE("shards whose name is that of a single file get the name of their list, as in Keras") {
  const Scratch scratch;
  Sequential model = dense_model();
  const test::Log log;
  model.save_weights(scratch.path("a.weights.h5"), {.max_shard_size = 1});
  CHECK(contains(log.text(), "a.weights.h5' is written as '" + scratch.path("a.weights.json")));
  CHECK_FALSE(std::filesystem::exists(scratch.path("a.weights.h5")));
  CHECK(contains(message_of<AlreadyExists>([&] {
                   model.save_weights(scratch.path("a.weights.h5"),
                                      {.overwrite = false, .max_shard_size = 1});
                 }),
                 "a.weights.json' exists already"));
  Sequential other = dense_model();
  other.load_weights(scratch.path("a.weights.json"));
  CHECK(values_of(other) == values_of(model));
}

Sequential trained_model() {
  Sequential model = dense_model();
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.train_on_batch(test::numbers({2, 4}), test::numbers({2, 3}));
  return model;
}

TEST_CASE("objects_to_skip: what files of weights are written without") {
  const Scratch scratch;
  Sequential model = trained_model();
  const LayerHandle out = model.get_layer("out");
  for (const char* name : {"a.weights.h5", "a.weights.json"}) {
    CAPTURE(std::string(name));
    const std::string path = scratch.path(name);
    const bool sharded = path.ends_with(".json");
    model.save_weights(path, {.max_shard_size = sharded ? std::optional(1.0) : std::nullopt,
                              .objects_to_skip = {out, model.optimizer()}});
    const auto source = WeightsSource::open(path);
    CHECK(source.has("layers/dense/vars"));
    CHECK_FALSE(source.has("layers/dense_1/vars"));
    CHECK_FALSE(source.has("optimizer/vars"));
    Sequential other = trained_model();
    CHECK(contains(test::error_of([&] { other.load_weights(path); }), "Dense 'out'"));
    const auto before = values_of(other);
    other.load_weights(path, {.objects_to_skip = {other.get_layer("out")}});
    const auto now = values_of(other);
    for (size_t i = 0; i < now.size(); ++i) {
      CHECK(now[i] == (i < now.size() - 2 ? values_of(model)[i] : before[i]));
    }
    CHECK(other.optimizer().iterations() == 1);
  }
}

TEST_CASE("objects_to_skip: what keeps its values, whatever files of weights have") {
  const Scratch scratch;
  Sequential model = trained_model();
  model.train_on_batch(test::numbers({2, 4}), test::numbers({2, 3}));
  const std::string path = scratch.path("a.weights.h5");
  model.save_weights(path);
  Sequential other = trained_model();
  const auto before = values_of(other);
  other.load_weights(path, {.objects_to_skip = {other.get_layer("hidden"), other.optimizer()}});
  const auto now = values_of(other);
  CHECK(now[0] == before[0]);
  CHECK(now.back() == values_of(model).back());
  CHECK(other.optimizer().iterations() == 1);
  other.load_weights(path, {.objects_to_skip = {other}});
  CHECK(values_of(other) == now);
  CHECK(other.optimizer().iterations() == 1);
  other.load_weights(path, {.objects_to_skip = {optimizers::SGD()}});  // not the model's optimizer
  CHECK(values_of(other) == values_of(model));
  CHECK(other.optimizer().iterations() == 2);

  model.save(scratch.path("a.keras"));
  model.save(scratch.path("a.h5"));
  for (const char* name : {"a.keras", "a.h5"}) {
    CHECK(contains(message_of<InvalidArgument>([&] {
                     other.load_weights(scratch.path(name),
                                        {.objects_to_skip = {other.get_layer("out")}});
                   }),
                   "objects_to_skip is for files of weights alone ('.weights.h5', '.weights.json'),"
                   " got '"));
  }
}

TEST_CASE("a list of shards names files beside it, and nothing else") {
  const Scratch scratch;
  const std::string path = scratch.path("a.weights.json");
  Sequential model = dense_model();
  const auto refusal = [&](const std::string& text) {
    test::put(path, text);
    return test::error_of([&] { model.load_weights(path); });
  };
  for (const char* name : {"../b.weights.h5", "/etc/x.weights.h5", "/etc/passwd",
                           "b\\\\c.weights.h5", "b\\u0000.weights.h5"}) {
    CAPTURE(std::string(name));
    const std::string text =
        refusal(fmt::format(R"({{"weight_map": {{"/layers/dense/vars": "{}"}}}})", name));
    CHECK(contains(text, "InvalidArgument: " + path + ": its weight_map names '"));
    CHECK(contains(text, "which isn't a '….weights.h5' in the same directory"));
  }
  CHECK(contains(refusal(R"({"weight_map": {"/x": 3}})"), "expected names of files in weight_map"));
  for (const char* text : {"[]", "{}", R"({"weight_map": []})"}) {
    CHECK(contains(refusal(text), "expected an object with a weight_map"));
  }
  CHECK(contains(refusal("{"), path));
  CHECK(contains(refusal(R"({"weight_map": {}})"), "got 0"));
}

class Two : public Model {
 public:
  explicit Two(const Optimizer& d, const Optimizer& g)
      : Model(ModelOptions{.name = "two"}),
        d_optimizer(track_optimizer("d_optimizer", d)),
        g_optimizer(track_optimizer("g_optimizer", g)) {}
  Tensor call(const Tensor& x, const CallArgs&) override { return g_(d_(x)); }
  void rename(const std::string& attribute) { track_optimizer(attribute, d_optimizer); }

  void step(const Tensor& x) {
    GradientTape tape;
    const Tensor loss = ops::sum(ops::square((*this)(x)));
    const auto d = d_.trainable_weights(), g = g_.trainable_weights();
    std::vector<Variable> all = d;
    all.insert(all.end(), g.begin(), g.end());
    const std::vector<Tensor> gradients = tape.gradient(loss, all);
    d_optimizer.apply({gradients.begin(), gradients.begin() + 2}, d);
    g_optimizer.apply({gradients.begin() + 2, gradients.end()}, g);
  }
  void build_optimizers() {
    d_optimizer.build(d_.trainable_weights());
    g_optimizer.build(g_.trainable_weights());
  }

  Optimizer d_optimizer, g_optimizer;

 private:
  layers::Dense d_ = track("d", layers::Dense({.units = 3}));
  layers::Dense g_ = track("g", layers::Dense({.units = 2}));
};

TEST_CASE("optimizers of a model's own are in its files, as in Keras's") {
  const Scratch scratch;
  const std::string path = scratch.path("two.weights.h5");
  const Tensor x = numbers({4, 3});
  Two model(optimizers::Adam({.name = "a"}), optimizers::SGD({.momentum = 0.9, .name = "s"}));
  model.step(x);
  model.save_weights(path);
  const Hdf5Reader reader = Hdf5Reader::open(path);
  CHECK(reader.children("d_optimizer/vars").size() == 6);
  CHECK(reader.children("g_optimizer/vars").size() == 4);
  CHECK(reader.string_attribute("d_optimizer/vars", "name") == "a");

  Two same(optimizers::Adam({.name = "a"}), optimizers::SGD({.momentum = 0.9, .name = "s"}));
  same(x);
  same.build_optimizers();
  same.load_weights(path);
  model.step(x);
  same.step(x);
  CHECK(distance(Tensor(same(x)), Tensor(model(x))) == 0);

  Two other(optimizers::Adam({.name = "a"}), optimizers::Adam({.name = "b"}));
  other(x);
  other.g_optimizer.build(other.trainable_weights());
  const test::Log log;
  other.load_weights(path);
  CHECK(contains(log.text(), path + ": the state of the optimizer 'd_optimizer' isn't taken, since "
                                    "it isn't built here: call its build(variables) before."));
  CHECK(contains(log.text(), path + ": the state of the optimizer 'g_optimizer' isn't taken, since "
                                    "it is another optimizer's, or of other variables."));
  other.save_weights(path, {.objects_to_skip = {other.d_optimizer}});
  CHECK_FALSE(Hdf5Reader::open(path).is_group("d_optimizer"));
  CHECK(message_of<InvalidArgument>([&] { other.rename("optimizer"); }) ==
        "Two 'two': track_optimizer expected the name of an attribute other than \"optimizer\", "
        "which is compile's, without '/', got 'optimizer'.");
  CHECK(message_of<InvalidArgument>([&] {
          Two(Optimizer(std::shared_ptr<OptimizerImpl>()), optimizers::SGD());
        }) == "Two 'two': track_optimizer expected an optimizer as 'd_optimizer', got none.");
}

}  // namespace
}  // namespace cornu
