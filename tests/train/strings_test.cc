// SPDX-License-Identifier: Apache-2.0
// Models that read strings, in fit, evaluate and predict.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <map>

#include "tests/support/errors.h"
#include "tests/support/layer_conformance.h"
#include "tests/support/scratch.h"

using namespace cornu;
using data::Dataset;
using test::contains;
using test::distance;
using test::error_of;

namespace {

const Tensor& texts() {
  static const Tensor given = Tensor::from({"the cat", "a dog", "a cat and a dog", "the the", "dog",
                                            "cat dog", "a a a", "the dog and the cat"});
  return given;
}

const Tensor& labels() {
  static const Tensor given =
      ops::reshape(Tensor({0.f, 1.f, 1.f, 0.f, 1.f, 1.f, 0.f, 1.f}), {8, 1});
  return given;
}

layers::TextVectorization adapted() {
  const layers::TextVectorization vectorize({.output_sequence_length = 4});
  vectorize.adapt(texts());
  return vectorize;
}

// Layers for the indices of words, with the same weights each time.
std::vector<LayerHandle> after_words() {
  set_random_seed(3);
  return {layers::Embedding({.input_dim = 8, .output_dim = 3}), layers::GlobalAveragePooling1D(),
          layers::Dense({.units = 1})};
}

Sequential compiled(std::vector<LayerHandle> list, const Tensor& input = {}) {
  Sequential model;
  if (input.defined()) model.add(input);
  for (const LayerHandle& layer : list) model.add(layer);
  model.compile(
      {.optimizer = optimizers::SGD({.learning_rate = 0.5}), .loss = "mse", .metrics = {"mae"}});
  return model;
}

Sequential of_numbers() { return compiled(after_words(), Input({.shape = {4}, .dtype = "int64"})); }

Sequential of_texts(bool with_input = true) {
  std::vector<LayerHandle> list = after_words();
  list.insert(list.begin(), adapted());
  const Tensor input =
      with_input ? Input({.dtype = "string", .batch_shape = {kUnknown}}) : Tensor();
  return compiled(list, input);
}

std::map<std::string, std::vector<double>> figures(const History& history) {
  return {history.begin(), history.end()};
}
std::map<std::string, double> figures(const Logs& logs) { return {logs.begin(), logs.end()}; }

double difference(Model& a, Model& b) {
  double most = 0;
  const auto weights = b.weights();
  REQUIRE(a.weights().size() == weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    most = std::max(most, distance(a.weights()[i].value(), weights[i].value()));
  }
  return most;
}

// Reads words with its own lookup table.
class WordScores : public Layer {
 public:
  WordScores() : Layer(LayerOptions{}) {}
  Tensor call(const Tensor& x, const CallArgs&) override {
    return ops::mean(ops::mean(Tensor(table_(words_(x))), -1), -1, true);
  }

 private:
  layers::TextVectorization words_ = track("words", adapted());
  layers::Embedding table_ = track("table", layers::Embedding({.input_dim = 8, .output_dim = 3}));
};

class WordModel : public Model {
 public:
  Tensor call(const Tensor& x, const CallArgs& args) override { return scores_(x, args); }

 private:
  LayerRef<WordScores> scores_ = track("scores", make_layer<WordScores>());
};

}  // namespace

TEST_CASE("strings are hashed within models as by the layer itself") {
  const Tensor words = Tensor::from({"a", "b", "", "zz"}, {4, 1});
  for (const std::string mode : {"int", "one_hot", "multi_hot", "count"}) {
    for (const Json& mask : {Json(), Json("b")}) {
      CAPTURE(mode);
      const auto hashing = [&] {
        return layers::Hashing({.num_bins = 5, .mask_value = mask, .output_mode = mode});
      };
      Sequential model({Input({.shape = {1}, .dtype = "string"}), hashing()});
      const Tensor found = model.predict(words, {.verbose = 0});
      const Tensor expected = hashing()(words);
      CHECK(found.shape() == expected.shape());
      CHECK(distance(found, expected) == 0);
      if (mode == "int" && !mask.is_null()) CHECK(found(1, 0).item<int64_t>() == 0);
    }
  }
}

TEST_CASE("a model trains on texts as it does on their numbers, compiled as those") {
  const Tensor numbers = adapted()(texts());
  for (const bool with_input : {true, false}) {
    CAPTURE(with_input);
    Sequential expected = of_numbers();
    Sequential model = of_texts(with_input);
    if (!with_input) model(texts());  // creates its weights, as in the other model
    const FitOptions options{.batch_size = 3, .epochs = 3, .verbose = 0, .validation_split = 0.25};
    set_random_seed(5);
    const History history = expected.fit(numbers, labels(), options);
    set_random_seed(5);
    CHECK(figures(model.fit(texts(), labels(), options)) == figures(history));
    CHECK(history.contains("val_mae"));
    CHECK(difference(model, expected) == 0);
    CHECK(model.compile_reports().size() == expected.compile_reports().size());
    CHECK(figures(model.evaluate(texts(), labels(), {.verbose = 0})) ==
          figures(expected.evaluate(numbers, labels(), {.verbose = 0})));
    CHECK(distance(model.predict(texts(), {.batch_size = 3, .verbose = 0}),
                   expected.predict(numbers, {.verbose = 0})) < 1e-6);
    CHECK(figures(model.train_on_batch(texts(), labels())) ==
          figures(expected.train_on_batch(numbers, labels())));
    CHECK(figures(model.test_on_batch(texts(), labels())) ==
          figures(expected.test_on_batch(numbers, labels())));
  }
}

TEST_CASE("datasets of texts, for training and for validation") {
  const auto dataset = [](const Tensor& x) {
    return Dataset::from_tensor_slices({x, labels()}).batch(3);
  };
  const Tensor numbers = adapted()(texts());
  Sequential expected = of_numbers();
  Sequential model = of_texts();
  const auto fitted = [&](Model& trained, const Tensor& x) {
    FitOptions options{.epochs = 2, .verbose = 0, .validation_data = dataset(x)};
    options.class_weight = {{0, 2.0}};
    const auto of_dataset = figures(trained.fit(dataset(x), options));
    options.validation_data = {x, labels()};
    options.shuffle = false;
    return std::pair(of_dataset, figures(trained.fit(x, labels(), options)));
  };
  CHECK(fitted(model, texts()) == fitted(expected, numbers));
  CHECK(figures(model.evaluate(dataset(texts()), {.verbose = 0})) ==
        figures(expected.evaluate(dataset(numbers), {.verbose = 0})));
}

TEST_CASE("texts beside numbers, by name, and columns that the model doesn't read") {
  const Tensor words = Input({.shape = {1}, .dtype = "string", .name = "words"});
  const Tensor age = Input({.shape = {2}, .name = "age"});
  const layers::StringLookup lookup({.vocabulary = {"cat", "dog"}, .output_mode = "multi_hot"});
  const Tensor x = layers::Concatenate()({Tensor(lookup(words)), age});
  Model model({words, age}, layers::Dense({.units = 1, .name = "scores"})(x));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor animals = Tensor::from({"dog", "cat", "cow", "cat"}, {4, 1});
  const Tensor ages = test::some_values({4, 2}), y = test::some_values({4, 1}, 2);
  const Tensors given = {{"age", ages}, {"note", animals}, {"words", animals}};
  const Tensor before = model({animals, ages});
  CHECK(distance(model.predict(given, {.verbose = 0}), before) < 1e-6);
  const double loss = model.evaluate(given, y, {.verbose = 0}).at("loss");
  CHECK(model.fit(given, y, {.epochs = 5, .verbose = 0})["loss"].back() < loss);
}

TEST_CASE("the length of texts may be another in each batch") {
  std::vector<LayerHandle> list = after_words();
  const layers::TextVectorization vectorize;
  vectorize.adapt(texts());
  list.insert(list.begin(), vectorize);
  Sequential model = compiled(list);
  const History history =
      model.fit(texts(), labels(), {.batch_size = 2, .epochs = 20, .verbose = 0});
  CHECK(history["loss"].back() < history["loss"].front());
}

TEST_CASE("layers with weights that read texts train op by op") {
  WordModel own;
  set_random_seed(4);
  Sequential functional(
      {Input({.dtype = "string", .batch_shape = {kUnknown}}), make_layer<WordScores>()});
  for (Model* model : {static_cast<Model*>(&own), static_cast<Model*>(&functional)}) {
    model->compile({.optimizer = optimizers::SGD({.learning_rate = 2.0}), .loss = "mse"});
    const double before = model->evaluate(texts(), labels(), {.verbose = 0}).at("loss");
    const History history = model->fit(texts(), labels(), {.epochs = 10, .verbose = 0});
    CHECK(history["loss"].back() < 0.9 * before);
    CHECK(model->predict(texts(), {.verbose = 0}).shape() == Shape{8, 1});
    CHECK(model->compile_reports().empty());
  }
}

TEST_CASE("several replicas take texts where a model's steps are of numbers") {
  const distribute::MirroredStrategy strategy({.devices = {"CPU:0", "CPU:1"}});
  const Tensor numbers = adapted()(texts());
  std::vector<History> histories;
  for (const bool strings : {true, false}) {
    const auto scope = strategy.scope();
    Sequential model = strings ? of_texts() : of_numbers();
    histories.push_back(model.fit(strings ? texts() : numbers, labels(),
                                  {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false}));
  }
  CHECK(figures(histories[0]) == figures(histories[1]));

  const auto scope = strategy.scope();
  WordModel own;
  own.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK(contains(error_of([&] { own.fit(texts(), labels(), {.verbose = 0}); }),
                 "the column of x has strings, which only its layers themselves can read, op by "
                 "op; its steps run on 2 replicas, which takes a graph of numbers. Convert them to "
                 "numbers in Dataset::map"));
}

TEST_CASE("ops between strings and the layers that read them are part of a model") {
  const test::Scratch scratch;
  const Tensor first = Tensor::from({"cat", "dog", "cow", "cat"}),
               second = Tensor::from({"dog", "dog", "cat", "cow"}), y = labels().rows(0, 4);
  const layers::StringLookup words(
      {.num_oov_indices = 0, .vocabulary = {"cat", "cow", "dog"}, .output_mode = "multi_hot"});
  // Two vectors (batch) -> which words occur, and whether the second one is a dog.
  const auto encoded = [&](const Tensor& a, const Tensor& b) {
    const Tensor both = ops::concatenate({ops::expand_dims(a, -1), ops::reshape(b, {-1, 1})}, 1);
    const Tensor is_dog = ops::cast(both(Slice(), Slice(1, 2)) == Tensor::from({"dog"}), "float32");
    return ops::concatenate({ops::cast(words(both), "float32"), is_dog}, 1);
  };
  const Tensor numbers = encoded(first, second);
  CHECK(numbers.to_vector<float>() ==
        std::vector<float>{1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0});

  const Tensor a = Input({.shape = Shape{}, .dtype = "string", .name = "a"}),
               b = Input({.shape = Shape{}, .dtype = "string", .name = "b"});
  const auto made = [&](const Tensors& inputs, const Tensor& features) {
    set_random_seed(3);
    Model model(inputs, layers::Dense({.units = 1})(features));
    model.compile({.optimizer = "sgd", .loss = "mse"});
    return model;
  };
  Model model = made({a, b}, encoded(a, b));
  const Tensor inputs = Input({.shape = {4}});
  Model expected = made(inputs, inputs);
  const FitOptions options{.batch_size = 3, .epochs = 2, .verbose = 0, .shuffle = false};
  CHECK(figures(model.fit({first, second}, y, options)) ==
        figures(expected.fit(numbers, y, options)));
  CHECK(model.compile_reports().size() == expected.compile_reports().size());
  const Tensor predicted = model.predict({first, second}, {.verbose = 0});
  CHECK(distance(predicted, expected.predict(numbers, {.verbose = 0})) == 0);
  CHECK(distance(model({first, second}), predicted) < 1e-6);

  Model plain(a, words(ops::expand_dims(a, -1)));
  plain.save(scratch.path("words.keras"));
  CHECK(distance(load_model(scratch.path("words.keras")).predict(first, {.verbose = 0}),
                 plain.predict(first, {.verbose = 0})) == 0);
  CHECK(contains(error_of([&] { ops::exp(a); }),
                 "expected a tensor of numbers, got one of strings and shape (None,)."));
}

TEST_CASE("strings where a model takes numbers, and numbers where it takes strings") {
  Sequential numbers({Input({.shape = {1}, .name = "x"}), layers::Dense({.units = 1})});
  numbers.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = texts().with_shape({8, 1});
  for (const std::string& error : {error_of([&] { numbers.fit(x, labels(), {.verbose = 0}); }),
                                   error_of([&] { numbers.evaluate(x, labels(), {.verbose = 0}); }),
                                   error_of([&] { numbers.train_on_batch(x, labels()); }),
                                   error_of([&] { numbers.predict(x, {.verbose = 0}); })}) {
    CHECK(contains(error,
                   "input 'x' expected float32, got strings. Convert them to numbers in "
                   "Dataset::map, for example with layers::StringLookup, or give the model an "
                   "Input of dtype \"string\" and such a layer."));
  }
  Sequential model = of_texts();
  CHECK(contains(error_of([&] { model.fit(labels(), labels(), {.verbose = 0}); }),
                 "expected strings, got float32. Give the texts themselves, or the model an Input "
                 "of numbers."));
  CHECK(contains(error_of([&] { model.fit(texts(), texts(), {.verbose = 0}); }),
                 "the column of y has strings, which losses and metrics don't take."));
}

TEST_CASE("a Sequential model without an Input takes what its first layer reads") {
  const test::Scratch scratch;
  Sequential model = of_texts(false);
  CHECK_FALSE(model.built());
  const Tensor expected = model(texts());
  CHECK(model.inputs()[0].dtype() == DType::String);
  model.save(scratch.path("texts.keras"));
  Model loaded = load_model(scratch.path("texts.keras"));
  CHECK(loaded.inputs()[0].dtype() == DType::String);
  CHECK(distance(loaded.predict(texts(), {.verbose = 0}), expected) < 1e-6);

  Sequential words({layers::StringLookup({.vocabulary = {"cat", "dog"}}),
                    layers::Embedding({.input_dim = 3, .output_dim = 2})});
  words.compile({.optimizer = "sgd", .loss = "mse"});
  words.fit(Tensor::from({"cat", "dog"}, {1, 2}), ops::ones({1, 2, 2}), {.verbose = 0});
  CHECK(words.inputs()[0].dtype() == DType::String);

  Sequential integers({layers::IntegerLookup({.vocabulary = {40, 50}}),
                       layers::Embedding({.input_dim = 3, .output_dim = 2})});
  integers.compile({.optimizer = "sgd", .loss = "mse"});
  integers.fit(Tensor::from<int32_t>({40, 50}, {1, 2}), ops::ones({1, 2, 2}), {.verbose = 0});
  CHECK(integers.inputs()[0].dtype() == DType::Int64);

  // Through a nested model.
  Sequential outer({Sequential({layers::StringLookup({.vocabulary = {"cat", "dog"}})}),
                    layers::Embedding({.input_dim = 3, .output_dim = 2})});
  CHECK(Tensor(outer(Tensor::from({"cat", "dog"}, {1, 2}))).shape() == Shape{1, 2, 2});
  // Strings are turned into numbers by a layer that accepts either.
  Sequential hashed({layers::Hashing({.num_bins = 3})});
  CHECK(hashed.predict(Tensor::from({"cat", "dog"}, {2, 1}), {.verbose = 0}).shape() ==
        Shape{2, 1});
}
