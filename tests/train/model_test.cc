// SPDX-License-Identifier: Apache-2.0
// Models as values: handles, flags, inputs and outputs, configs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "framework/core/random.h"
#include "framework/model/layer_registry.h"
#include "framework/ops/ops.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::message_of;

namespace {

Tensor some(const Shape& shape) { return random::normal(shape, {.seed = 3}); }

Sequential small(const std::string& name = "") {
  return Sequential({Input({.shape = {3}}), layers::Dense({.units = 2, .name = "first"}),
                     layers::Dense({.units = 1, .name = "last"})},
                    {.name = name});
}

std::vector<float> floats(const Tensors& x) { return x.single().to_vector<float>(); }

}  // namespace

TEST_CASE("a handle to a layer of one's own says so where it has none") {
  struct Plain : Layer {
    Tensor call(const Tensor& x, const CallArgs&) override { return x + number; }
    double number = 1;
  };
  LayerRef<Plain> layer = make_layer<Plain>();
  CHECK(layer->number == 1);
  const LayerRef<Plain> taken = std::move(layer);
  CHECK(message_of<FailedPrecondition>([&] { layer->number = 2; }) ==
        "TypedHandle: expected an object of the class it was declared for, got "
        "none.");
  layer = taken;
  CHECK(layer->number == 1);
  static_cast<LayerHandle&>(layer) = layers::Dense({.units = 2});
  CHECK(message_of<FailedPrecondition>([&] { layer->number = 2; }) ==
        "TypedHandle: expected an object of the class it was declared for, got "
        "one of another.");
}

TEST_CASE("a custom layer is told plainly whether it trains") {
  class Twice : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override {
      if (args.training) return x * 2;
      return x;
    }
  };
  Sequential model({Input({.shape = {2}}), make_layer<Twice>()});
  const Tensor x = ops::ones({1, 2});
  CHECK(floats(model.predict(x, {.verbose = 0})) == std::vector<float>{1, 1});
  CHECK(floats(model(x)) == std::vector<float>{1, 1});
  CHECK(floats(model(x, {.training = true})) == std::vector<float>{2, 2});
  // A layer that isn't told whether it trains gets its caller's flag; an explicit flag is passed
  // on.
  class Outer : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override {
      return Tensor(inner_(x)) + inner_(x, args) + inner_(x, {.training = !args.training});
    }

   private:
    LayerRef<Twice> inner_ = make_layer<Twice>();
  };
  Outer outer;
  CHECK(floats(outer(x)) == std::vector<float>{4, 4});
  CHECK(floats(outer(x, {.training = true})) == std::vector<float>{5, 5});
}

TEST_CASE("what belongs to a model belongs to all its handles") {
  Sequential inner = small("inner_of_flags");
  Sequential outer({Input({.shape = {3}}), inner, layers::Dense({.units = 1})});
  CHECK(inner.built());
  CHECK(outer.built());
  CHECK(outer.layers()[0].built());
  inner.set_trainable(false);
  CHECK(!outer.layers()[0].trainable());
  CHECK(outer.trainable_weights().size() == 2);
  CHECK(!outer.get_config().at("layers")[1].at("config").at("trainable").as_bool());
  std::string text;
  outer.summary(
      {.print_fn = [&](const std::string& part) { text += part; }, .show_trainable = true});
  CHECK(test::contains(text, "N "));
  CHECK(!test::contains(text, "unbuilt"));
  Model copy = inner;
  copy.stop_training = true;
  CHECK(inner.stop_training);
  inner.stop_training = false;
  CHECK(!copy.stop_training);
  outer.stop_training = true;
  inner.stop_training = outer.stop_training;  // copies the value: two models don't share it
  CHECK(copy.stop_training);
  outer.stop_training = false;
  CHECK(inner.stop_training);
  outer.set_trainable(false);
  outer.layers()[1].set_trainable(true);
  CHECK(!inner.trainable());
  CHECK(outer.trainable_weights().empty());  // as in Keras
  CHECK(outer.layers()[1].trainable_weights().size() == 2);
}

TEST_CASE("stop_training through another handle ends fit") {
  class Stop : public Callback {
   public:
    explicit Stop(Model model) : model_(std::move(model)) {}
    void on_epoch_end(int64_t, const Logs&) override { model_.stop_training = true; }

   private:
    Model model_;
  };
  Sequential model = small();
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history =
      model.fit(some({8, 3}), some({8, 1}),
                {.epochs = 5, .verbose = 0, .callbacks = {make_callback<Stop>(model)}});
  CHECK(history.epoch.size() == 1);
}

TEST_CASE("models are assigned as they are copied") {
  Model model;
  model = small("assigned");
  CHECK(model.name() == "assigned");
  CHECK(model.weights().size() == 4);
  const Model other = small();
  model = other;
  CHECK(model.weights()[0].id() == other.weights()[0].id());
  Sequential sequential;
  sequential = small();
  CHECK(sequential.built());

  class Custom : public Model {
   public:
    Custom(const Tensors& inputs, const Tensors& outputs) : Model(inputs, outputs) {}
    NamedValues<Tensor> train_step(const Batch&) override {
      NamedValues<Tensor> logs;
      logs["mine"] = ops::ones({});
      return logs;
    }
  };
  const Tensor in = Input({.shape = {3}});
  const Tensor out = layers::Dense({.units = 1})(in);
  Custom custom(in, out);
  CHECK(message_of<FailedPrecondition>([&] { Model slice = custom; })
            .ends_with(
                "an object of a class derived from Model can't be copied. Make a shared one with "
                "make_layer<T>(…)."));
  CHECK_THROWS_AS(custom.Model::operator=(other), FailedPrecondition);

  // A handle to a shared model works like the object.
  Model handle = *make_layer<Custom>(in, out);
  CHECK(handle.class_name() == "Custom");
  handle.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = handle.fit(some({4, 3}), some({4, 1}), {.verbose = 0});
  CHECK(history.at("mine").size() == 1);
}

TEST_CASE("ends of models and of layers") {
  Sequential model = small();
  CHECK(model.input_shape() == Shape{kUnknown, 3});
  CHECK(model.output_shape() == Shape{kUnknown, 1});
  CHECK(model.inputs().size() == 1);
  const Model features(model.inputs(), model.get_layer("first").output());
  const Tensor x = some({2, 3});
  Model both(model.inputs(), {model.get_layer("first").output(), model.output()});
  CHECK(Tensor(Model(features)(x)).shape() == Shape{2, 2});
  CHECK(both(x).size() == 2);
  CHECK(floats(both(x)[1]) == floats(model(x)));
  CHECK(message_of<FailedPrecondition>([] { layers::Dense({.units = 1, .name = "d"}).output(); }) ==
        "Dense 'd' has no output: it was never called on placeholders. Make it part of a "
        "functional model, or of a Sequential one that knows its input.");
  CHECK(message_of<FailedPrecondition>([] {
          Sequential({layers::Dense({.units = 1})}, {.name = "s"}).outputs();
        }).starts_with("Sequential 's' has no outputs"));
}

TEST_CASE("weights by name") {
  const layers::Dense dense({.units = 2, .use_bias = false, .name = "named"});
  CHECK(message_of<FailedPrecondition>([&] { dense.kernel(); }) ==
        "Dense 'named': its weight 'kernel' doesn't exist yet. Call the layer, or build it for the "
        "shape of its input.");
  dense.build({kUnknown, 3});
  CHECK(dense.built());
  CHECK(dense.kernel().shape() == Shape{3, 2});
  CHECK(dense.weight("kernel").id() == dense.weights()[0].id());
  CHECK(message_of<NotFound>([&] { dense.bias(); }) ==
        "Dense 'named' has no weight named 'bias'. Known: kernel.");
}

TEST_CASE("functions that make a layer and call it") {
  const Tensor a = Input({.shape = {2}});
  const Tensor b = Input({.shape = {2}});
  const Tensor y =
      layers::concatenate({layers::add({a, b}), layers::subtract({a, b}), layers::multiply({a, b}),
                           layers::average({a, b}), layers::maximum({a, b}),
                           layers::minimum({a, b}), layers::dot({a, b}, {.axes = 1})});
  Model model({a, b}, y);
  const Tensor value =
      model({Tensor::from<float>({1, 2}, {1, 2}), Tensor::from<float>({3, 1}, {1, 2})});
  CHECK(value.to_vector<float>() == std::vector<float>{4, 3, -2, 1, 3, 2, 2, 1.5F, 3, 2, 1, 1, 5});
}

TEST_CASE("Sequential.build makes the weights, and so does a subclass's") {
  Sequential model({layers::Dense({.units = 2})});
  model.build({kUnknown, 3});
  CHECK(model.built());
  CHECK(model.weights().size() == 2);
  CHECK(model.output_shape() == Shape{kUnknown, 2});
  class Own : public Model {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
    layers::Dense dense_{{.units = 2}};
  };
  Own own;
  own.build({kUnknown, 3});
  CHECK(own.built());
  CHECK(own.weights().size() == 2);
}

TEST_CASE("models to JSON and back") {
  Sequential model = small();
  model.compile({.optimizer = "adam", .loss = "mse"});
  Model copy = model_from_json(model.to_json());
  CHECK(copy.to_json() == model.to_json());
  CHECK(copy.compiled());
  copy.set_weights(model.get_weights());
  const Tensor x = some({2, 3});
  CHECK(floats(copy(x)) == floats(model(x)));
  const Sequential sequential = Sequential::from_config(model.get_config());
  CHECK(sequential.get_config() == model.get_config());
  const Tensor in = Input({.shape = {3}});
  const Model functional(in, layers::Dense({.units = 1})(in));
  CHECK(Model::from_config(functional.get_config()).get_config() == functional.get_config());
  CHECK_THROWS_AS(model_from_json("{"), DataLoss);
}

TEST_CASE("a model says what its steps took to be made") {
  Sequential model = small();
  model.compile({.optimizer = "adam", .loss = "mse"});
  CHECK(model.compile_reports().empty());
  const Tensor x = some({2, 3});
  const Tensor y = model.predict_on_batch(x);
  model.train_on_batch(x, y);
  const std::vector<CompileReport> reports = model.compile_reports();
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].name == "train_step");
  CHECK(reports[1].name == "predict_step");
  CHECK(reports[0].traced_nodes > reports[0].compiled_nodes);
  CHECK(reports[0].traced_nodes > reports[1].traced_nodes);
  model.compile({.optimizer = "adam", .loss = "mse"});
  CHECK(model.compile_reports().empty());
}

TEST_CASE("what an optimizer kept goes when the model is trained by another one") {
  Sequential model = small();
  const Tensor x = some({2, 3});
  const Tensor y = model.predict_on_batch(x);
  std::vector<std::weak_ptr<Buffer>> kept;
  for (int i = 0; i < 3; ++i) {
    model.compile({.optimizer = "adam", .loss = "mse"});
    model.fit(x, y, {.verbose = 0});
    for (const Variable& variable : model.optimizer().variables()) {
      kept.push_back(variable.value().buffer());
    }
  }
  const auto alive = std::ranges::count_if(kept, [](const auto& one) { return !one.expired(); });
  CHECK(alive == static_cast<std::ptrdiff_t>(model.optimizer().variables().size()));
}

TEST_CASE("a registered subclass is saved and loaded") {
  class Doubler : public Model {
   public:
    explicit Doubler(int64_t units = 1) : units_(units), dense_({.units = units}) {}
    std::string class_name() const override { return "tests>Doubler"; }
    Json get_config() const override { return Json::object({{"units", units_}}); }
    void build(const Shape&) override {
      scale_ = add_weight({.shape = {1}, .initializer = "ones", .name = "scale"});
    }
    Tensor call(const Tensor& x, const CallArgs& args) override {
      return Tensor(dense_(x, args)) * 2 * scale_;
    }
    NamedValues<Tensor> train_step(const Batch& data) override {
      NamedValues<Tensor> logs = Model::train_step(data);
      logs["twice"] = logs["loss"] * 2;
      return logs;
    }

   private:
    int64_t units_;
    layers::Dense dense_;
    Variable scale_;
  };
  layer_registry().add("tests>Doubler", [](const Json& config) {
    return make_layer<Doubler>(config.at("units").as_int());
  });
  const test::Scratch scratch;
  const Tensor x = some({4, 3});
  Doubler model(2);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(x, some({4, 2}), {.verbose = 0});
  model.save(scratch.path("doubler.keras"));
  Model loaded = load_model(scratch.path("doubler.keras"));
  CHECK(loaded.class_name() == "tests>Doubler");
  CHECK(loaded.weights().size() == 3);
  CHECK(floats(loaded.predict(x, {.verbose = 0})) == floats(model.predict(x, {.verbose = 0})));
  const History history = loaded.fit(x, some({4, 2}), {.verbose = 0});
  CHECK(history.at("twice")[0] == doctest::Approx(2 * history.at("loss")[0]));
}

TEST_CASE("several inputs need call_list alone, and names of outputs survive") {
  class Both : public Layer {
   public:
    Tensors call_list(const Tensors& inputs, const CallArgs&) override {
      return Tensors::named({{"sum", inputs[0] + inputs[1]}, {"product", inputs[0] * inputs[1]}});
    }
  };
  auto both = make_layer<Both>();
  const Tensor x = some({2, 3});
  CHECK(both({x, x}).at("product").shape() == Shape{2, 3});
  const Tensor a = Input({.shape = {3}});
  const Tensor b = Input({.shape = {3}});
  const Tensors outputs = both({a, b});
  CHECK(outputs.names() == std::vector<std::string>{"sum", "product"});
  Model model({a, b}, outputs);
  CHECK(model({x, x}).names() == outputs.names());
}

TEST_CASE("rows of a batch may be put together by a reshape, where they fit") {
  const Tensor x = Input({.shape = {5}});
  const Tensor together = ops::reshape(x, {-1, 4, 3, 5});
  CHECK(together.shape().to_string() == "(None, 4, 3, 5)");
  Model model(x, ops::sum(together, {1, 2}));
  CHECK(model.predict(ops::ones({24, 5}), {.batch_size = 24, .verbose = 0}).single().shape() ==
        Shape{2, 5});
  CHECK(message_of<InvalidArgument>([&] {
          model.predict(ops::ones({7, 5}), {.verbose = 0});
        }).find("reshape: expected a shape of 35 elements, as (7, 5) has, got (None, 4, 3, 5).") !=
        std::string::npos);
  // Within a layer, too.
  struct Pairs : Layer {
    std::string class_name() const override { return "Pairs"; }
    Tensor call(const Tensor& in, const CallArgs&) override { return ops::reshape(in, {-1, 2, 5}); }
  };
  CHECK(make_layer<Pairs>()(x).shape().to_string() == "(None, 2, 5)");
  CHECK(message_of<InvalidArgument>([&] {
          ops::reshape(Input({.shape = {5}}), {2, 3});
        }).find("expected a shape of None elements, as (None, 5) has, got (2, 3).") !=
        std::string::npos);
}

TEST_CASE("errors of a call on placeholders show None") {
  class Bug : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      return ops::matmul(x, ops::ones({7, 3}));
    }
  };
  CHECK(message_of([] {
          Sequential({Input({.shape = {8}}), make_layer<Bug>()});
        }) ==
        "Bug 'bug': matmul: expected inner axes of equal size, got (None, 8) and (7, 3): 8 != 7. "
        "Should one of them be transposed?");
  class Reads : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      return ops::sum(x).item<float>() > 0 ? x : -x;
    }
  };
  const std::string text = message_of<FailedPrecondition>([] {
    Sequential({Input({.shape = {8}}), make_layer<Reads>()});
  });
  CHECK(text.find("a value of a call on shapes alone, before any data (ops::where and ops::cond "
                  "choose by a value there)") != std::string::npos);
  CHECK(
      message_of([] { Input({.shape = {}}); }) ==
      "Input: expected either a shape (of one example) or a batch_shape, got neither. For example "
      "Input({.shape = {28, 28, 1}}), or of one number an example Input({.shape = Shape()}).");
  CHECK(Input({.shape = Shape()}).shape() == Shape{kUnknown});
}

TEST_CASE("all but the batch normalizations among a model's last layers are unfrozen") {
  const Tensor x = Input({.shape = {4}});
  Tensor y = layers::Dense({.units = 3})(x);
  y = layers::BatchNormalization()(y);
  y = layers::Dense({.units = 2})(y);
  Model model(x, y);
  model.set_trainable(false);
  const std::vector<LayerHandle> layers = model.layers();
  for (size_t i = layers.size() - 2; i < layers.size(); ++i) {
    if (layers[i].class_name() != "BatchNormalization") layers[i].set_trainable(true);
  }
  CHECK(layers[2].class_name() == "BatchNormalization");
  CHECK(layers[2].trainable_weights().empty());
  CHECK(layers[3].trainable_weights().size() == 2);
}

// Like the discriminators of progressive GANs.
TEST_CASE("a layer may divide the batch into groups of a fixed size") {
  class GroupStd : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      const Tensor groups = ops::reshape(x, {4, -1, x.dim(1), x.dim(2)});
      const Tensor average = ops::mean(ops::std(groups, 0), {1, 2}, true);
      return ops::concatenate({x, ops::tile(average, {4, x.dim(1), 1})}, -1);
    }
  };
  const Tensor x = Input({.shape = {3, 2}});
  const Tensor y = make_layer<GroupStd>()(x);
  CHECK(y.shape() == Shape{kUnknown, 3, 3});
  Model model(x, y);
  const Tensor values = some({8, 3, 2});
  CHECK(model.predict(values, {.batch_size = 8, .verbose = 0}).shape() == Shape{8, 3, 3});
  CHECK(message_of([&] {
          model(some({6, 3, 2}));
        }).find("reshape: expected a shape of 36 elements") != std::string::npos);
}

TEST_CASE("a model of one input says so") {
  Sequential model = small("one_input");
  const Tensor x = some({2, 3});
  CHECK(message_of([&] {
          model({x, x});
        }) == "Sequential 'one_input': expected 1 input, got 2 of them.");
}

TEST_CASE("masks given on placeholders") {
  const Tensor words = Input({.shape = {3}, .dtype = DType::Int32});
  const Tensor x = layers::Embedding({.input_dim = 5, .output_dim = 2})(words);
  const Tensor given = layers::GlobalAveragePooling1D()(x, {.mask = ops::not_equal(words, 0)});
  Model model(words, given);
  const Tensor values = Tensor::from<int32_t>({1, 0, 2, 4, 4, 0}, {2, 3});
  const Tensor expected = model(values);
  const auto rows = model.weights()[0].value().to_vector<float>();
  CHECK(expected.data<float>()[0] == doctest::Approx((rows[2] + rows[4]) / 2));
  CHECK(expected.data<float>()[3] == doctest::Approx(rows[9]));
  // The mask attached to the embedding gives the same result.
  const Tensor riding = layers::GlobalAveragePooling1D()(
      layers::Embedding({.input_dim = 5, .output_dim = 2, .mask_zero = true})(words));
  Model implicit(words, riding);
  implicit.set_weights(model.get_weights());
  CHECK(floats(implicit(values)) == floats(expected));
  const test::Scratch scratch;
  model.save(scratch.path("masked.keras"));
  Model loaded = load_model(scratch.path("masked.keras"));
  CHECK(floats(loaded.predict(values, {.verbose = 0})) ==
        floats(model.predict(values, {.verbose = 0})));
  CHECK(message_of([&] {
          layers::Dense({.units = 1})(x, {.mask = {words, words}});
        }).find("expected a mask for each of its 1 inputs, got 2.") != std::string::npos);
}

TEST_CASE("one model called on many threads at once, also for the first time") {
  class Own : public Model {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override {
      const Tensor y = layers::ReLU()(dense_(x, args));
      add_loss(ops::mean(y));
      return head_(y, args);
    }

   private:
    layers::Dense dense_{{.units = 4}};
    layers::Dense head_{{.units = 2, .activity_regularizer = "l2"}};
  };
  Own model;
  constexpr int kThreads = 4;
  std::vector<Tensor> inputs;
  for (int i = 0; i < kThreads; ++i) inputs.push_back(random::normal({3, 5}, {.seed = i}));
  std::vector<std::vector<float>> values(kThreads);
  std::vector<std::vector<float>> losses(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto place = static_cast<size_t>(i);
      for (int round = 0; round < 20; ++round) {
        values[place] = floats(model(inputs[place]));
        losses[place].clear();
        for (const Tensor& loss : model.losses()) losses[place].push_back(loss.item<float>());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(model.weights().size() == 4);
  for (size_t i = 0; i < kThreads; ++i) {
    CHECK(floats(model(inputs[i])) == values[i]);
    REQUIRE(losses[i].size() == 2);
    CHECK(model.losses()[0].item<float>() == losses[i][0]);
    CHECK(model.losses()[1].item<float>() == losses[i][1]);
  }
}

// The expected shapes and values are Keras's.
TEST_CASE("a last axis of size 1 may be there or not, and data are cast to the Input's dtype") {
  class Plus : public Layer {
    Tensor call(const Tensor& x, const CallArgs&) override { return x + 100; }
  };
  const auto check_all = [](Model model, const Tensor& x, const Shape& expected) {
    CAPTURE(x.shape());
    CHECK(model(x).shape() == expected);
    CHECK(model.predict(x, {.verbose = 0}).shape() == expected);
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor y = ops::zeros(expected);
    CHECK_NOTHROW(model.fit(x, y, {.verbose = 0}));
    CHECK_NOTHROW(model.evaluate(x, y, {.verbose = 0}));
  };
  const auto both = [&](const Shape& shape, const LayerHandle& layer, const Tensor& x,
                        const Shape& expected) {
    const Tensor input = Input({.shape = shape});
    check_all(Sequential({input, layer}), x, expected);
    check_all(Model(input, layer(input)), x, expected);
  };
  both({1}, layers::Dense({.units = 2}), some({5}), {5, 2});
  both({6, 6, 1}, layers::Conv2D({.filters = 2, .kernel_size = 3}), some({3, 6, 6}), {3, 4, 4, 2});
  both({4}, layers::Dense({.units = 2}), some({3, 4, 1}), {3, 2});
  Sequential lazy({layers::Dense({.units = 2})});
  check_all(lazy, some({3, 4}), {3, 2});
  check_all(lazy, some({3, 4, 1}), {3, 2});
  // A Sequential model leaves other sizes to its layers.
  check_all(
      Sequential({Input({.shape = {8, 8, 1}}), layers::Conv2D({.filters = 2, .kernel_size = 3})}),
      some({3, 9, 9, 1}), {3, 7, 7, 2});
  const Tensor bytes = Tensor::from(std::vector<uint8_t>{200}, {1, 1});
  Sequential sum({Input({.shape = {1}}), make_layer<Plus>()});
  CHECK(floats(sum(bytes)) == std::vector<float>{300});
  CHECK(floats(sum.predict(bytes, {.verbose = 0})) == std::vector<float>{300});
}

TEST_CASE("a Sequential model that changes answers with the layers it has then") {
  Sequential model({Input({.shape = {3}}), layers::Dense({.units = 4})});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor x = some({2, 3});
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{2, 4});
  model.add(layers::Dense({.units = 1}));
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{2, 1});
  model.fit(x, some({2, 1}), {.verbose = 0});
  model.pop();
  CHECK(model.predict(x, {.verbose = 0}).shape() == Shape{2, 4});
  model.fit(x, some({2, 4}), {.verbose = 0});
  CHECK(model.predict_on_batch(x).shape() == Shape{2, 4});
}

TEST_CASE("a functional model that chooses by its input") {
  const Tensor x = Input({.shape = {2}});
  const Tensor positive = ops::sum(x) > 0;
  const Tensor scale = ops::cond(
      positive, [] { return ops::full({}, 2.0f); }, [] { return ops::full({}, 3.0f); });
  const std::function<Tensor(const std::vector<Tensor>&)> lower = [](const auto& x) {
    return x[0] - 1;
  };
  const std::function<Tensor(const std::vector<Tensor>&)> upper = [](const auto& x) {
    return x[0] + 1;
  };
  const Tensor shifted = ops::switch_(ops::cast(positive, DType::Int32), {lower, upper}, {x});
  Model model(x, layers::Dense({.units = 1, .kernel_initializer = "ones"})(shifted * scale));
  const Tensor ones = ops::ones({1, 2});
  CHECK(floats(model(ones)) == std::vector<float>{8});
  CHECK(floats(model.predict(ones, {.verbose = 0})) == std::vector<float>{8});
  CHECK(floats(model.predict(-ones, {.verbose = 0})) == std::vector<float>{-12});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const double before = model.evaluate(ones, ops::zeros({1, 1}), {.verbose = 0}).at("loss");
  model.fit(ones, ops::zeros({1, 1}), {.verbose = 0});
  CHECK(model.evaluate(ones, ops::zeros({1, 1}), {.verbose = 0}).at("loss") < before);
  CHECK(message_of<Unimplemented>([&] { model.to_json(); }).find("can't be saved") !=
        std::string::npos);
  const std::string text = message_of([&] {
    ops::cond(
        positive, [&] { return x * 2; }, [&] { return x; });
  });
  CAPTURE(text);
  CHECK(text.find("cond: a branch uses a placeholder of shape (None, 2) that isn't given to it. "
                  "Give it as an operand of ops::switch_, or call cond within a layer (in its call "
                  "method).") != std::string::npos);
}
