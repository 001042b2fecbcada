// SPDX-License-Identifier: Apache-2.0
// What may be inputs and outputs of functional models: inputs that are also outputs, outputs that
// are constants or repeated, placeholders that become inputs.
#include <doctest/doctest.h>

#include "framework/autodiff/gradient_tape.h"
#include "framework/model/functional.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "optimizers/optimizers.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::contains;
using test::message_of;
using test::Scratch;

namespace {

Tensor rows() { return Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3}); }

std::vector<float> floats(const Tensor& x) { return x.to_vector<float>(); }

std::vector<std::vector<float>> predicted(Model& model, const Tensors& x) {
  std::vector<std::vector<float>> result;
  for (const Tensor& y : model.predict(x, {.verbose = 0})) result.push_back(floats(y));
  return result;
}

// Checks the predictions of the model, and of its saved files.
void check_predictions(Model model, const Tensors& x,
                       const std::vector<std::vector<float>>& expected) {
  CHECK(predicted(model, x) == expected);
  const Scratch scratch;
  for (const char* name : {"m.keras", "m.h5"}) {
    CAPTURE(std::string(name));
    model.save(scratch.path(name));
    Model loaded = load_model(scratch.path(name));
    CHECK(predicted(loaded, x) == expected);
  }
  Model clone = clone_model(model);
  clone.set_weights(model.get_weights());
  CHECK(predicted(clone, x) == expected);
}

}  // namespace

TEST_CASE("an input may be an output") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  const Tensor other = Input({.shape = {3}, .name = "other"});
  check_predictions(Model(x, x), rows(), {floats(rows())});
  check_predictions(Model({x, other}, {other, x}), {rows(), rows() * 2.0F},
                    {floats(rows() * 2.0F), floats(rows())});
  check_predictions(Model({x, other}, {x, x + other}), {rows(), rows()},
                    {floats(rows()), floats(rows() * 2.0F)});
}

TEST_CASE("a model that gives its input is evaluated, and trains what it has") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  Model model(x, x);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  CHECK(model.evaluate(rows(), rows() + 1.0F, {.verbose = 0}).at("loss") == doctest::Approx(1));
  Model two(x, {x, layers::Dense({.units = 3, .name = "dense"})(x)});
  two.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = two.fit(rows(), Tensors({rows(), rows()}), {.epochs = 3, .verbose = 0});
  CHECK(history.at("loss").back() < history.at("loss").front());
}

TEST_CASE("an output may be there twice") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  const Tensor y = layers::Rescaling({.scale = 2.0, .name = "y"})(x);
  Model model(x, {y, y});
  CHECK(predicted(model, rows()) ==
        std::vector<std::vector<float>>{floats(rows() * 2.0F), floats(rows() * 2.0F)});
}

TEST_CASE("what is made like a placeholder of known shape is one, not a constant") {
  const Tensor x = Input({.batch_shape = {2, 3}, .name = "x"});
  const std::vector<float> zeros(6, 0), ones(6, 1), sevens(6, 7);
  check_predictions(Model(x, {ops::zeros_like(x), ops::ones_like(x), ops::full_like(x, 7)}), rows(),
                    {zeros, ones, sevens});
}

TEST_CASE("constants are no outputs, and values no inputs, as in Keras") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  for (const Tensor& end : {ops::ones({2, 3}), rows()}) {
    CHECK(
        contains(message_of<InvalidArgument>([&] { Model(x, end); }),
                 "Model: expected placeholders made by Input and by layers called on them, got "));
    CHECK(
        contains(message_of<InvalidArgument>([&] { Model(end, x); }),
                 "Model: expected placeholders made by Input and by layers called on them, got "));
  }
}

TEST_CASE("Input takes a shape alone, or options") {
  CHECK(Input({784}).shape() == Shape{kUnknown, 784});
  CHECK(Input({28, 28}).shape() == Shape{kUnknown, 28, 28});
  CHECK(Input({28, 28, 1}).shape() == Shape{kUnknown, 28, 28, 1});
  CHECK(Input({-1}).shape() == Shape{kUnknown, kUnknown});
  CHECK(Input(Shape()).shape() == Shape{kUnknown});
  const int64_t size = 5;
  CHECK(Input({size, size}).shape() == Shape{kUnknown, 5, 5});
  CHECK(Input({.shape = {3}}).shape() == Shape{kUnknown, 3});
  CHECK(Input({.shape = {3}, .batch_size = 4}).shape() == Shape{4, 3});
  CHECK(Input({{3}, 4}).shape() == Shape{4, 3});  // as Input((3,), 4)
  CHECK(Input({7}).dtype() == DType::Float32);
}

TEST_CASE("Input of a tensor: a placeholder like it, where a model begins") {
  const Tensor x = Input({.shape = {3}, .dtype = "int32", .name = "x"});
  const Tensor middle = layers::Embedding({.input_dim = 7, .output_dim = 2})(x);
  const Tensor begin = Input({.name = "begin", .tensor = middle});
  CHECK(begin.shape() == Shape{kUnknown, 3, 2});
  CHECK(begin.dtype() == DType::Float32);
  check_predictions(Model(begin, begin * 3.0), rows().with_shape({1, 3, 2}),
                    {floats(rows() * 3.0F)});
  const Tensor same = Input({.shape = {3}, .dtype = "int32", .tensor = x});
  CHECK(same.dtype() == DType::Int32);
  CHECK(Input({.batch_shape = {kUnknown, 3}, .tensor = x}).shape() == x.shape());

  const auto refusal = [](const InputOptions& options) {
    return message_of<InvalidArgument>([&] { Input(options); });
  };
  CHECK(refusal({.shape = {4}, .name = "i", .tensor = x}) ==
        "Input 'i': its shape isn't that of its tensor, which has the shape (None, 3) and the "
        "dtype int32. Omit it.");
  CHECK(contains(refusal({.batch_size = 2, .tensor = x}), "Input: its batch_size isn't that of"));
  CHECK(contains(refusal({.dtype = "float32", .tensor = x}), "Input: its dtype isn't that of"));
  CHECK(contains(refusal({.batch_shape = {2, 3}, .tensor = x}), "Input: its batch_shape isn't"));
  CHECK(
      contains(refusal({.tensor = rows()}),
               "Input: expected a tensor that is a placeholder, made by Input or by a layer called "
               "on one, got "));
}

TEST_CASE("a model may begin at what layers gave") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  const layers::Dense first({.units = 4, .name = "first"});
  const layers::Dense skip({.units = 4, .name = "skip"}), last({.units = 2, .name = "last"});
  const Tensor middle = first(x);
  const Tensor doubled = middle * 2.0F;
  const std::string doubled_name = keras_node(doubled)->layer()->name();
  const Tensor y = last(layers::Add({.name = "sum"})({doubled, skip(middle)}));
  const Model whole(x, y);
  const Tensor given = first(rows());
  const std::vector<float> expected = floats(Model(whole)(rows()));
  check_predictions(Model(middle, y), given, {expected});
  check_predictions(Model(whole.get_layer("first").output(), whole.output()), given, {expected});
  // Several inputs, including an Input, and an output that is also an input.
  const Tensor doubled_values = given * 2.0F;
  check_predictions(Model({doubled, middle}, y), {doubled_values, given}, {expected});
  check_predictions(Model({x, doubled}, {y, doubled}), {rows(), doubled_values},
                    {expected, floats(doubled_values)});
  // The weights are shared; the original model is unchanged.
  Model head(middle, y);
  CHECK(head.inputs()[0].shape() == Shape{kUnknown, 4});
  CHECK(head.layers()[0].name() == "firstCLONE");
  CHECK(head.weights().size() == 4);
  head.compile({.optimizer = "sgd", .loss = "mse"});
  head.fit(given, ops::zeros({2, 2}), {.verbose = 0});
  CHECK(floats(Model(whole)(rows())) == floats(head(given)));
  CHECK(floats(Model(whole)(rows())) != expected);
  CHECK(whole.layers().size() == 5);
  CHECK(whole.operations().size() == 6);  // `* 2` isn't a layer
  CHECK(whole.get_layer(doubled_name).output().shape() == doubled.shape());

  CHECK(message_of<InvalidArgument>([&] { Model(doubled, y); }) ==
        "Model: its outputs depend on the Input 'x', which isn't among its inputs. Add it to "
        "them.");
}

TEST_CASE("a model that begins at one of a layer's outputs, with masks that layers make") {
  const Tensor x = Input({.shape = {kUnknown, 1}, .name = "x"});
  const Tensor scaled = layers::Rescaling({.scale = 0.5, .name = "scaled"})(x);
  const layers::LSTM lstm({.units = 3, .return_state = true, .name = "lstm"});
  const Tensors states = lstm(layers::Masking({.name = "masking"})(scaled));
  const Tensor y = layers::Dense({.units = 1, .name = "dense"})(states[2]);
  const Tensor given = Tensor::from<float>({1, 2, 0, 4, 0, 0}, {2, 3, 1});
  const std::vector<float> expected = floats(Model(x, y)(given));
  CHECK(floats(Model(scaled, y)(given * 0.5F)) == expected);
  CHECK(floats(Model(scaled, y)(given)) != expected);
  const Model last(states[2], y);
  CHECK(last.layers()[0].name() == "lstm_2CLONE");
  CHECK(floats(Model(last)(Model(x, states[2])(given))) == expected);
}

TEST_CASE("an axis that varies may turn out to be what it is broadcast to") {
  const Tensor x = Input({.shape = {1, 4}});
  Model model(x, ops::broadcast_to(x, {2, 3, 4}));
  const Tensor rows = ops::cast(ops::reshape(ops::arange(8), {2, 1, 4}), DType::Float32);
  const Tensor found = model.predict(rows, {.verbose = 0});
  CHECK(found.shape() == Shape{2, 3, 4});
  CHECK(found(1, 2, 3).item<float>() == 7);
  CHECK_THROWS_AS(model.predict(ops::zeros({3, 1, 4}), {.verbose = 0}), InvalidArgument);
}

TEST_CASE("a variable that is an operand is read with each call, as in Keras") {
  const Variable scale(Tensor::from(std::vector<float>{1, 2, 3}), {.name = "scale"});
  const Tensor x = Input({.shape = {3}, .name = "x"});
  Model model(x, x * scale);
  CHECK(predicted(model, rows()) == std::vector<std::vector<float>>{{1, 4, 9, 4, 10, 18}});
  scale.assign(Tensor::from(std::vector<float>{2, 2, 2}));
  check_predictions(model, rows(), {floats(rows() * 2.0F)});
  CHECK(floats(model(rows())) == floats(rows() * 2.0F));
  CHECK(model.weights().empty());

  GradientTape tape;
  const Tensor loss = ops::sum(Tensor(model(rows())));
  CHECK(floats(tape.gradient(loss, scale)) == std::vector<float>{5, 7, 9});

  // A clone reads the variable, too; a file has the value at the time of saving.
  Model clone = clone_model(model);
  const Scratch scratch;
  model.save(scratch.path("m.keras"));
  scale.assign(ops::zeros({3}));
  CHECK(predicted(clone, rows()) == std::vector<std::vector<float>>{{0, 0, 0, 0, 0, 0}});
  Model loaded = load_model(scratch.path("m.keras"));
  CHECK(predicted(loaded, rows()) == std::vector<std::vector<float>>{floats(rows() * 2.0F)});
}

TEST_CASE("a variable that fit's step changes beside the model") {
  const Variable scale(Tensor::from(std::vector<float>{1, 1, 1}), {.name = "scale"});
  const Tensor x = Input({.shape = {3}, .name = "x"});
  Model model(x, layers::Dense({.units = 1, .kernel_initializer = "ones"})(x * scale));
  model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}), .loss = "mse"});
  const Tensor y = ops::zeros({2, 1});
  const double before = model.evaluate(rows(), y, {.verbose = 0}).at("loss");
  scale.assign(Tensor::from(std::vector<float>{2, 2, 2}));
  CHECK(model.evaluate(rows(), y, {.verbose = 0}).at("loss") == doctest::Approx(4 * before));
  CHECK(model.fit(rows(), y, {.verbose = 0}).at("loss")[0] == doctest::Approx(4 * before));
}

TEST_CASE("targets for those outputs alone that have a loss, as in Keras") {
  const Tensor x = Input({.shape = {3}, .name = "x"});
  const Tensor hidden = layers::Dense({.units = 2, .kernel_initializer = "ones"})(x);
  const Tensor out =
      layers::Dense({.units = 1, .kernel_initializer = "ones", .name = "out"})(hidden);
  Model model(x, {hidden, out});
  const Tensor y = ops::ones({2, 1});
  Model single(x, out);
  single.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
  const Logs expected = single.evaluate(rows(), y, {.verbose = 0});
  for (const PerOutput<Loss>& losses :
       {PerOutput<Loss>{{}, "mse"}, PerOutput<Loss>{nullptr, "mse"}}) {
    model.compile({.optimizer = optimizers::SGD({.learning_rate = 0.0}),
                   .loss = losses,
                   .metrics = {{}, {"mae"}}});
    const Logs logs = model.evaluate(rows(), y, {.verbose = 0});
    CHECK(logs.at("loss") == doctest::Approx(expected.at("loss")));
    CHECK(logs.at("out_mae") == doctest::Approx(expected.at("mae")));
    CHECK(model.fit(rows(), y, {.verbose = 0}).at("loss")[0] >= 0);
  }
  CHECK(contains(message_of([&] {
                   model.fit(rows(), {y, y, y}, {.verbose = 0});
                 }),
                 "expected a target for each of its outputs"));
}

TEST_CASE("names that are null pointers") {
  const char* none = nullptr;
  Sequential model({layers::Dense({.units = 1})});
  const auto refusal = [&](const CompileOptions& options) {
    return message_of([&] { model.compile(options); });
  };
  CHECK(contains(message_of([&] { Loss{none}; }), "loss: expected a text, got a null pointer."));
  CHECK(contains(message_of([&] { Metric{none}; }), "metric: expected a text"));
  CHECK(contains(message_of([&] { Optimizer{none}; }), "optimizer: expected a text"));
  CHECK(contains(message_of([&] { Verbose{none}; }), "verbose: expected a text"));
  CHECK(contains(message_of([&] { Padding{none}; }), "padding: expected a text"));
  CHECK(refusal({.optimizer = "sgd", .loss = nullptr}) == "nothing thrown");
}

namespace {

// Computes a gradient itself.
class Slope : public Layer {
 public:
  Tensor call(const Tensor& x, const CallArgs&) override {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = ops::sum(x * x);
    return tape.gradient(y, x);
  }
};

}  // namespace

TEST_CASE("a layer with a tape of its own may be called on placeholders") {
  const Tensors x = Input({.shape = {3}});
  Model model(x, make_layer<Slope>()(x));
  CHECK(predicted(model, rows()) == std::vector<std::vector<float>>{{2, 4, 6, 8, 10, 12}});
}

TEST_CASE("blocks that begin at a place which is computed go through files") {
  const Tensor x = Input({.batch_shape = {2, 3}, .name = "x"});
  const Tensor place = ops::cast(ops::max(x), "int32") - 5;  // 1
  const Tensor read = ops::slice(x, {0, place}, {2, 2});
  const Tensor written = ops::slice_update(x, {0, place}, read * 2.0F);
  check_predictions(Model(x, {read, written}), rows(), {{2, 3, 5, 6}, {1, 4, 6, 4, 10, 12}});
}
