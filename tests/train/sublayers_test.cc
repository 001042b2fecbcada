// SPDX-License-Identifier: Apache-2.0
// Sub-layers: tracked ones, and those called during the first call.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <memory>

#include "framework/core/random.h"
#include "framework/ops/ops.h"
#include "framework/saving/weight_paths.h"
#include "framework/train/model.h"
#include "layers/layers.h"
#include "tests/support/errors.h"
#include "tests/support/scratch.h"

using namespace cornu;
using test::message_of;

namespace {

std::vector<std::string> keys(const Layer& layer) {
  std::vector<std::string> result;
  for (const auto& [key, child] : layer.tracked()) result.push_back(key);
  return result;
}

std::vector<std::string> paths(const Layer& layer) {
  std::vector<std::string> result;
  for (const SavedLayer& saved : weight_paths(layer)) {
    if (!saved.weights.empty()) result.push_back(saved.path);
  }
  return result;
}

Tensor some(const Shape& shape) { return random::normal(shape, {.seed = 3}); }

// The layer from Keras's guides.
class Linear : public Layer {
 public:
  explicit Linear(int64_t units) : units_(units) {}
  void build(const Shape& input_shape) override {
    w_ = add_weight({.shape = {input_shape.back(), units_}, .regularizer = "l2", .name = "w"});
    b_ = add_weight({.shape = {units_}, .initializer = "zeros", .name = "b"});
  }
  Tensor call(const Tensor& x, const CallArgs&) override { return ops::matmul(x, w_) + b_; }

 private:
  int64_t units_;
  Variable w_;
  Variable b_;
};

// Members that aren't tracked: a plain layer, a handle, a list, a model.
class Mlp : public Model {
 public:
  Mlp() : body_({Input({.shape = {4}}), layers::Dense({.units = 3})}) {
    for (int i = 0; i < 2; ++i) blocks_.push_back(layers::Dense({.units = 4}));
  }
  Tensor call(const Tensor& x, const CallArgs& args) override {
    Tensor y = linear_(x);
    for (const auto& block : blocks_) y = block(y, args);
    return head_(dropout_(body_(y, args), args), args);
  }
  const layers::Dense& head() const { return head_; }

 private:
  Linear linear_{4};
  layers::Dense head_{{.units = 1}};
  layers::Dropout dropout_{{.rate = 0.5}};
  std::vector<layers::Dense> blocks_;
  Sequential body_;
};

}  // namespace

TEST_CASE("a model has the layers its first call comes by") {
  Mlp model;
  CHECK(model.weights().empty());
  model(some({5, 4}));
  CHECK(model.weights().size() == 10);
  CHECK(model.losses().size() == 1);  // from linear_'s regularizer
  // In the order of creation, whatever the order of the calls.
  CHECK(keys(model) ==
        std::vector<std::string>{"linear", "dense", "dropout", "sequential", "dense_1", "dense_2"});
  CHECK(model.layers().size() == 6);
  CHECK(model.get_layer(model.head().name()).weights().size() == 2);
  model(some({5, 4}), {.training = true});
  CHECK(model.weights().size() == 10);
}

TEST_CASE("fit trains untracked members, and files keep them") {
  set_random_seed(1);
  Mlp model;
  model.compile({.optimizer = "adam", .loss = "mse"});
  const Tensor x = some({64, 4});
  const Tensor y = ops::sum(x, 1, true);
  const double before = model.evaluate(x, y, {.verbose = 0}).at("loss");
  model.fit(x, y, {.epochs = 10, .verbose = 0});
  CHECK(model.evaluate(x, y, {.verbose = 0}).at("loss") < before);  // without dropout
  const test::Scratch folder;
  const std::string path = folder.path("mlp.weights.h5");
  model.save_weights(path);
  Mlp other;
  other(x);
  other.load_weights(path);
  const Tensor expected = model.predict(x, {.verbose = 0});
  CHECK(Tensor(other.predict(x, {.verbose = 0})).to_vector<float>() == expected.to_vector<float>());
}

TEST_CASE("trainable flags reach layers that a call comes by later") {
  Mlp model;
  model.set_trainable(false);
  model(some({5, 4}));
  CHECK(model.trainable_weights().empty());
  CHECK(model.non_trainable_weights().size() == 10);
  CHECK(!model.head().trainable());
  model.head().set_trainable(true);
  CHECK(model.head().trainable_weights().size() == 2);
  CHECK(model.trainable_weights().empty());
  model.set_trainable(true);
  CHECK(model.trainable_weights().size() == 10);
}

TEST_CASE("a layer that is made in each call is an error") {
  class Forgetful : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      return layers::ReLU()(layers::Dense({.units = 2, .name = "anew"})(x));
    }
  };
  Forgetful layer;
  const std::string expected =
      "Forgetful 'forgetful': Dense 'anew' was created during a call, so each call would have new "
      "weights that are neither trained nor saved. Make it a member, and call track(…) on it in "
      "the constructor.";
  CHECK(message_of<FailedPrecondition>([&] { layer(some({2, 3})); }) == expected);
  class Plain : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override {
      Linear linear(2);
      return linear(x);
    }
  };
  Plain plain;
  CHECK_THROWS_AS(plain(some({2, 3})), FailedPrecondition);
  // Without weights, there is nothing to lose.
  class Weightless : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override { return layers::ReLU()(x); }
  };
  Weightless fine;
  fine(some({2, 3}));
  fine(some({2, 3}));
  CHECK(fine.tracked().empty());
}

TEST_CASE("a layer that the first call skips is an error, unless it is tracked") {
  class Late : public Layer {
   public:
    explicit Late(bool tracks) {
      if (tracks) track("extra", extra_);
    }
    Tensor call(const Tensor& x, const CallArgs& args) override {
      return args.training ? Tensor(extra_(x)) : x;
    }

   private:
    layers::Dense extra_{{.units = 2, .name = "extra"}};
  };
  Late late(false);
  const Tensor x = some({2, 3});
  late(x);
  const std::string message = message_of<FailedPrecondition>([&] { late(x, {.training = true}); });
  CHECK(
      message.starts_with("Late 'late': it calls Dense 'extra', which its first call skipped "
                          "and which isn't tracked"));
  CHECK(message.ends_with("in the constructor of Late write track(member)."));
  Late fine(true);
  fine(x);
  fine(x, {.training = true});
  CHECK(paths(fine) == std::vector<std::string>{"extra"});
}

TEST_CASE("models called in a train_step are the model's") {
  class Gan : public Model {
   public:
    Gan(Model generator, Model discriminator)
        : generator_(std::move(generator)), discriminator_(std::move(discriminator)) {}
    NamedValues<Tensor> train_step(const Batch& data) override {
      const Tensor fake = generator_(data.x[0], {.training = true});
      const Tensor score = discriminator_(fake, {.training = true});
      NamedValues<Tensor> logs;
      logs["loss"] = ops::mean(score);
      return logs;
    }

   private:
    Model generator_;
    Model discriminator_;
  };
  Model generator = Sequential({Input({.shape = {4}}), layers::Dense({.units = 2})});
  Model discriminator = Sequential({Input({.shape = {2}}), layers::Dense({.units = 1})});
  Gan gan(generator, discriminator);
  gan.compile({.optimizer = "sgd"});
  gan.fit(some({8, 4}), {}, {.verbose = 0});
  CHECK(gan.weights().size() == 4);
  CHECK(gan.layers().size() == 2);
}

TEST_CASE("a model that only a loss calls is no part of the model in training") {
  Model judge = Sequential({Input({.shape = {1}}), layers::Dense({.units = 1})});
  Sequential model({layers::Dense({.units = 1})});
  model.compile({.optimizer = "sgd", .loss = [judge](const Tensor& y, const Tensor& p) mutable {
                   return ops::square(Tensor(judge(y)) - Tensor(judge(p)));
                 }});
  model.fit(some({8, 4}), some({8, 1}), {.verbose = 0});
  CHECK(model.weights().size() == 2);

  // Nor in a custom step.
  class Judged : public Model {
   public:
    explicit Judged(Loss loss) : loss_(std::move(loss)) {}
    NamedValues<Tensor> train_step(const Batch& data) override {
      NamedValues<Tensor> logs;
      logs.set("loss", loss_(data.y, dense_(data.x)));
      return logs;
    }

   private:
    Loss loss_;
    layers::Dense dense_{{.units = 1}};
  };
  Judged judged([judge](const Tensor& y, const Tensor& p) mutable {
    return ops::square(Tensor(judge(y)) - Tensor(judge(p)));
  });
  judged.compile({.optimizer = "sgd"});
  judged.fit(some({8, 4}), some({8, 1}), {.verbose = 0});
  CHECK(judged.weights().size() == 2);
}

TEST_CASE("all layers within a layer, in Keras's order") {
  const auto names = [](const std::vector<LayerHandle>& layers) {
    std::vector<std::string> result;
    for (const LayerHandle& layer : layers) result.push_back(layer.name());
    return result;
  };
  using Names = std::vector<std::string>;
  const auto dense = [](const char* name) { return layers::Dense({.units = 4, .name = name}); };
  const layers::Dense shared = dense("shared");
  const Sequential inner({dense("a"), dense("b"), shared}, {.name = "inner"});
  const Tensor in = Input({.shape = {4}, .name = "in"});
  const Model model(in, dense("out")(shared(LayerHandle(inner)(in) * 2.0)), {.name = "model"});
  const std::vector<LayerHandle> all = model.flatten_layers();
  CHECK(names(all) == Names{"model", "in", "inner", "shared", "b", "a", "out"});
  CHECK(&all[3].get() == &shared.get());
  CHECK(names(model.get_layer("inner").flatten_layers()) == Names{"inner", "a", "b", "shared"});
  CHECK(names(shared.flatten_layers()) == Names{"shared"});
  // A plain object and its members aren't owned by anybody: handles only refer to them.
  Mlp mlp;
  mlp(some({2, 4}));
  const std::vector<LayerHandle> own = mlp.flatten_layers();
  CHECK(&own[0].get() == &mlp);
  CHECK(own.size() > 4);
}

TEST_CASE("layers that have an owner stay theirs") {
  class Inner : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override { return dense_(x, args); }
    layers::Dense dense_{{.units = 3}};
  };
  class Outer : public Layer {
   public:
    Outer() : inner_(track("inner", make_layer<Inner>())) {}
    Tensor call(const Tensor& x, const CallArgs& args) override {
      return inner_->dense_(inner_(x, args), args);
    }
    LayerRef<Inner> inner_;
  };
  Outer outer;
  outer(some({2, 3}));
  CHECK(keys(outer) == std::vector<std::string>{"inner"});
  CHECK(keys(*outer.inner_) == std::vector<std::string>{"dense"});
  CHECK(outer.weights().size() == 2);

  // Shared by two parents: both have the layer, and its weights count once.
  class Half : public Layer {
   public:
    explicit Half(layers::Dense shared) : shared_(std::move(shared)) {}
    Tensor call(const Tensor& x, const CallArgs& args) override { return shared_(x, args); }

   private:
    layers::Dense shared_;
  };
  class Both : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs& args) override { return b_(a_(x, args), args); }
    layers::Dense shared_{{.units = 3, .kernel_regularizer = "l2"}};
    Half a_{shared_};
    Half b_{shared_};
  };
  Both both;
  both(some({2, 3}));
  CHECK(both.weights().size() == 2);
  CHECK(both.losses().size() == 1);
  CHECK(both.a_.weights().size() == 2);
}

TEST_CASE("a plain member that goes away is no part any more") {
  Linear linear(2);
  class Holder : public Layer {
   public:
    Tensor call(const Tensor& x, const CallArgs&) override { return (*part_)(x); }
    std::unique_ptr<Linear> part_ = std::make_unique<Linear>(2);
  };
  Holder holder;
  holder(some({2, 3}));
  CHECK(holder.weights().size() == 2);
  holder.part_.reset();
  CHECK(holder.weights().empty());
}

TEST_CASE("track takes layers, pointers, containers and variables") {
  class Everything : public Layer {
   public:
    Everything() : handle_(track("handle", layers::Dense({.units = 2}))) {
      queue_.emplace_back(3);
      track("plain", plain_);
      track("list", list_);
      track("array", array_);
      track("queue", queue_);
      track("pointer", pointer_);
      track("named", named_);
      track(again_);
      track("scale", scale_);
    }
    Tensor call(const Tensor& x, const CallArgs&) override { return x * scale_; }

   private:
    layers::Dense handle_;
    Linear plain_{2};
    std::vector<layers::Dense> list_ = {layers::Dense({.units = 1}), layers::Dense({.units = 2})};
    std::array<Linear, 2> array_ = {Linear(1), Linear(2)};
    std::deque<Linear> queue_;
    std::unique_ptr<Linear> pointer_ = std::make_unique<Linear>(2);
    std::map<std::string, LayerHandle> named_ = {{"x", layers::Dense({.units = 1})}};
    std::vector<LayerRef<Linear>> again_ = {make_layer<Linear>(1), make_layer<Linear>(2)};
    Variable scale_{Tensor(1.0f)};
  };
  Everything layer;
  CHECK(keys(layer) == std::vector<std::string>{"handle", "plain", "list/dense", "list/dense_1",
                                                "array/linear", "array/linear_1", "queue/linear",
                                                "pointer", "named/dense", "linear", "linear_1"});
  CHECK(layer.own_weights().size() == 1);
}

TEST_CASE("two layers of one name are noticed when they are tracked") {
  class SameName : public Layer {
   public:
    SameName() {
      track("dense", a_);
      track("dense", a_);  // the same layer again
      track("dense", b_);
    }
    layers::Dense a_{{.units = 1}};
    layers::Dense b_{{.units = 1}};
  };
  CHECK(
      message_of<AlreadyExists>([] { SameName same; }) ==
      "SameName 'same_name': it tracks another layer as 'dense'. Give this one a name of its own.");
  class Reserved : public Model {
   public:
    Reserved() { track("layers", a_); }
    layers::Dense a_{{.units = 1}};
  };
  CHECK(message_of([] {
          Reserved reserved;
        }).find("files keep all layers of a model as 'layers'") != std::string::npos);
}

TEST_CASE("a file of more layers than a first call came by isn't taken for one of these") {
  class Coder : public Model {
   public:
    explicit Coder(bool all) : all_(all) {}
    Tensor call(const Tensor& x, const CallArgs& args) override {
      return decoder_(all_ ? Tensor(encoder_(x, args)) : x, args);
    }

   private:
    bool all_;
    layers::Dense encoder_{{.units = 3}};
    layers::Dense decoder_{{.units = 3}};
  };
  const test::Scratch scratch;
  const std::string path = scratch.path("coder.weights.h5");
  const Tensor x = some({2, 3});
  Coder whole(true);
  whole(x);
  whole.save_weights(path);
  Coder half(false);
  half(x);
  CHECK(message_of([&] {
          half.load_weights(path);
        }).find("was saved by a model with more layers like 'dense_1'") != std::string::npos);
  Coder again(true);
  again(x);
  again.load_weights(path);
  CHECK(Tensor(again(x)).to_vector<float>() == Tensor(whole(x)).to_vector<float>());
}

TEST_CASE("a build that was called by itself isn't made a second time in silence") {
  Linear linear(2);
  linear.build({kUnknown, 3});
  CHECK(message_of<FailedPrecondition>([&] {
          linear(some({2, 3}));
        }).find("build made the weight 'w' twice") != std::string::npos);
  Linear fine(2);
  fine.ensure_built({{kUnknown, 3}});
  fine(some({2, 3}));
  CHECK(fine.weights().size() == 2);
}

TEST_CASE("a build that failed can be made again") {
  class Fragile : public Layer {
   public:
    void build(const Shape& input_shape) override {
      add_weight({.shape = {2}, .regularizer = "l2", .name = "w"});
      inner_ = track("inner", layers::Dense({.units = 1}));
      check<InvalidArgument>(input_shape.back() == 3, "expected 3 features");
    }
    Tensor call(const Tensor& x, const CallArgs& args) override { return inner_(x, args); }

   private:
    layers::Dense inner_{{.units = 1}};
  };
  Fragile layer;
  CHECK_THROWS_AS(layer(some({2, 4})), InvalidArgument);
  CHECK(layer.weights().empty());
  CHECK(layer.tracked().empty());
  layer(some({2, 3}));
  CHECK(layer.weights().size() == 3);
  CHECK(layer.losses().size() == 1);
}

TEST_CASE("a tracked seed generator is state, not a weight") {
  class Noise : public Layer {
   public:
    Noise() { track(generator_); }
    Tensor call(const Tensor& x, const CallArgs&) override {
      return x + random::normal(x.shape(), {.seed = generator_});
    }

   private:
    random::SeedGenerator generator_{7};
  };
  Noise noise;
  const Tensor x = ops::zeros({2, 3});
  const Tensor first = noise(x);
  CHECK(noise.weights().empty());
  REQUIRE(noise.variables().size() == 1);
  CHECK(noise.variables()[0].path() == noise.name() + "/seed_generator_state");
  const Tensor state = noise.variables()[0].value();
  const Tensor second = noise(x);
  CHECK(!ops::all(ops::equal(first, second)).item<bool>());
  noise.variables()[0].assign(state);
  CHECK(ops::all(ops::equal(noise(x), second)).item<bool>());
}

TEST_CASE("what would call itself without end is refused where it is made, or where it is called") {
  auto refused = [](const std::string& whole, const std::string& part) {
    return whole + ": add got " + part +
           ", which is this layer or has it within, so that a call would never end. Make one of "
           "other layers.";
  };
  Sequential a({layers::Dense({.units = 2})}, {.name = "a"});
  Sequential b({layers::Dense({.units = 2})}, {.name = "b"});
  CHECK(message_of([&] { a.add(a); }) == refused("Sequential 'a'", "Sequential 'a'"));
  a.add(b);
  CHECK(message_of([&] { b.add(a); }) == refused("Sequential 'b'", "Sequential 'a'"));
  const Tensor input = Input({.shape = {2}});
  const Model around(input, a(input), {.name = "around"});
  CHECK(message_of([&] { b.add(around); }) == refused("Sequential 'b'", "Functional 'around'"));
  CHECK(a(some({3, 2})).single().shape() == Shape{3, 2});
  Sequential known(input, {layers::Dense({.units = 2})}, {.name = "known"});
  CHECK(message_of([&] { known.add(known); }) ==
        refused("Sequential 'known'", "Sequential 'known'"));

  struct Owner : Layer {
    Owner(const char* name) : Layer({.name = name}) {}
    using Layer::track;
  };
  const auto outer = make_layer<Owner>("outer");
  const auto inner = make_layer<Owner>("inner");
  outer->track(inner);
  CHECK(message_of([&] { inner->track(outer); }) ==
        "Owner 'inner': track got Owner 'outer', which is this layer or has it within, so that a "
        "call would never end. Make one of other layers.");

  struct Again : Layer {
    Again() : Layer({.name = "again"}) {}
    Tensor call(const Tensor& x, const CallArgs&) override { return (*this)(x + 1); }
  };
  Again again;
  const std::string deep =
      "Again 'again': 256 calls of layers are within each other here. A layer must not call "
      "itself, nor a layer that calls it: the calls would never end.";
  CHECK(message_of<FailedPrecondition>([&] { again(some({2, 3})); }) == deep);
  CHECK(message_of<FailedPrecondition>([&] { Model(input, make_layer<Again>()(input)); }) == deep);
}

TEST_CASE("models within models, as deep as anybody makes them") {
  Sequential model({layers::Dense({.units = 2})});
  for (int depth = 0; depth < 100; ++depth) model = Sequential({model});
  CHECK(model(some({3, 2})).single().shape() == Shape{3, 2});
}

TEST_CASE("a weight is found by the name it was tracked under before the one it was made with") {
  class Renamed : public Layer {
   public:
    void build(const Shape&) override {
      first = track("second", add_weight({.shape = {1}, .name = "first"}));
      second = track("first", add_weight({.shape = {1}, .name = "second"}));
      third = track("last", add_weight({.shape = {1}, .name = "third"}));
    }
    Tensor call(const Tensor& x, const CallArgs&) override { return x; }
    Variable first, second, third;
  };
  const auto layer = make_layer<Renamed>();
  layer.build({1, 1});
  CHECK(layer.weight("second").id() == layer->first.id());
  CHECK(layer.weight("first").id() == layer->second.id());
  CHECK(layer.weight("last").id() == layer->third.id());
  CHECK(layer.weight("third").id() == layer->third.id());
}
