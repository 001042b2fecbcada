// SPDX-License-Identifier: Apache-2.0
// Optimizers with special options and state: their errors, and training with them. tests/golden
// compares their steps with Keras's.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include <cmath>

#include "tests/support/errors.h"
#include "tests/support/log.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::optimizers;
using test::message_of;

namespace {

Tensor values(const Shape& shape, int64_t seed) { return random::normal(shape, {.seed = seed}); }

Sequential make_model(const Optimizer& optimizer, const char* dtype = "float32") {
  clear_session();
  set_random_seed(4);
  Sequential model(
      Input({.shape = {4}}),
      {layers::Dense({.units = 3, .activation = "tanh", .name = "first", .dtype = dtype}),
       layers::Dense({.units = 2, .name = "last"})});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  return model;
}

History train(Model& model, int64_t epochs = 2) {
  return model.fit(values({12, 4}, 1), values({12, 2}, 2),
                   {.batch_size = 4, .epochs = epochs, .verbose = 0, .shuffle = false});
}

std::vector<float> numbers_of(const std::vector<Variable>& variables) {
  std::vector<float> result;
  for (const Variable& variable : variables) {
    const Tensor numbers = ops::cast(variable.value(), DType::Float32);
    for (const float value : numbers.to_vector<float>()) result.push_back(value);
  }
  return result;
}

// Creates one optimizer of each kind.
std::vector<Optimizer> all_kinds() {
  return {Adafactor({.learning_rate = 0.1}),
          Muon({.learning_rate = 0.01, .exclude_layers = {"last"}}),
          ScheduleFreeAdamW({.learning_rate = 0.01}),
          LossScaleOptimizer({.inner_optimizer = Adam(), .dynamic_growth_steps = 4}),
          MultiOptimizer({.optimizer_map = OptimizerMap(SGD({.momentum = 0.9}),
                                                        {{".*bias", Adam({.use_ema = true})}})})};
}

Variable weight(const std::string& name) { return Variable(ops::ones({2}), {.name = name}); }

}  // namespace

TEST_CASE("a schedule that is set later counts from the next step on") {
  const schedules::PiecewiseConstantDecay whole({.boundaries = {2, 7}, .values = {0.1, 0.02, 0.5}});
  const auto made = [&](int kind, const LearningRate& rate) -> Optimizer {
    if (kind == 0) return SGD({.learning_rate = rate, .momentum = 0.9});
    if (kind == 1) return Adam({.learning_rate = rate});
    return LossScaleOptimizer({.inner_optimizer = SGD({.learning_rate = rate}), .name = "l"});
  };
  for (int kind = 0; kind < 3; ++kind) {
    CAPTURE(kind);
    Sequential expected = make_model(made(kind, whole));
    train(expected, 3);
    Sequential model = make_model(made(kind, 0.1));
    train(model, 1);  // three steps at a rate that the schedule has, too
    const size_t variables = model.optimizer().variables().size();
    model.optimizer().set_learning_rate(whole);
    CHECK(model.optimizer().variables().size() == variables - 1);
    CHECK(model.optimizer().learning_rate().item<float>() == 0.02F);
    train(model, 1);
    const test::Scratch scratch;
    model.save(scratch.path("m.keras"));
    Model loaded = load_model(scratch.path("m.keras"));
    train(model, 1);
    train(loaded, 1);
    CHECK(numbers_of(model.variables()) == numbers_of(expected.variables()));
    CHECK(numbers_of(model.optimizer().variables()) ==
          numbers_of(expected.optimizer().variables()));
    CHECK(numbers_of(loaded.variables()) == numbers_of(expected.variables()));
    CHECK(message_of([&] { model.optimizer().set_learning_rate(0.1); })
              .find("expected a learning rate that is a number, got PiecewiseConstantDecay, which "
                    "sets it at every step. Make the optimizer with a number to change the rate, "
                    "or set another schedule.") != std::string::npos);
  }
}

TEST_CASE("a callback sets a schedule between two epochs") {
  class Sets : public Callback {
   public:
    void on_epoch_begin(int64_t epoch, const Logs&) override {
      if (epoch != 1) return;
      model().optimizer().set_learning_rate(
          schedules::PiecewiseConstantDecay({.boundaries = {2}, .values = {0.1, 0.01}}));
    }
  };
  Sequential expected = make_model(SGD({.learning_rate = 0.1}));
  train(expected, 1);
  expected.optimizer().set_learning_rate(0.01);
  train(expected, 1);
  Sequential model = make_model(SGD({.learning_rate = 0.1}));
  model.fit(values({12, 4}, 1), values({12, 2}, 2),
            {.batch_size = 4,
             .epochs = 2,
             .verbose = 0,
             .callbacks = {make_callback<Sets>()},
             .shuffle = false});
  CHECK(numbers_of(model.variables()) == numbers_of(expected.variables()));
}

// A run's saved state contains the schedule; if it was saved before the schedule was set, it
// contains the number.
TEST_CASE("a run that was given a schedule goes on with it") {
  class Sets : public Callback {
   public:
    explicit Sets(int64_t fails) : fails_(fails) {}
    void on_epoch_begin(int64_t epoch, const Logs&) override {
      if (epoch == fails_) throw std::runtime_error("killed");
      if (epoch != 1) return;
      const schedules::PiecewiseConstantDecay set({.boundaries = {5}, .values = {0.1, 0.01}});
      const Optimizer& optimizer = model().optimizer();
      const auto parts = optimizer.impl().parts();
      if (parts.empty()) optimizer.set_learning_rate(set);
      for (const auto& part : parts) part.second.set_learning_rate(set);
    }

   private:
    int64_t fails_;
  };
  const auto made = [](int kind) -> Optimizer {
    const Optimizer sgd = SGD({.learning_rate = 0.1, .momentum = 0.9, .name = "s"});
    if (kind == 0) return sgd;
    return MultiOptimizer({.optimizer_map = [sgd](const Variable&) { return sgd; }, .name = "m"});
  };
  const auto fit = [](Model& model, int64_t fails, const std::vector<CallbackHandle>& kept) {
    std::vector<CallbackHandle> all(kept);
    all.push_back(make_callback<Sets>(fails));
    model.fit(values({12, 4}, 1), values({12, 2}, 2),
              {.batch_size = 4, .epochs = 4, .verbose = 0, .callbacks = all});
  };
  for (int kind = 0; kind < 2; ++kind) {
    CAPTURE(kind);
    Sequential expected = make_model(made(kind));
    fit(expected, -1, {});
    for (const int64_t fails : {1, 2, 3}) {
      CAPTURE(fails);
      const test::Scratch scratch;
      const callbacks::BackupAndRestore backup({.backup_dir = scratch.path("run")});
      Sequential first = make_model(made(kind));
      CHECK_THROWS_AS(fit(first, fails, {backup}), std::runtime_error);
      Sequential model = make_model(made(kind));
      fit(model, -1, {backup});
      CHECK(numbers_of(model.variables()) == numbers_of(expected.variables()));
      CHECK(numbers_of(model.optimizer().variables()) ==
            numbers_of(expected.optimizer().variables()));
    }
  }
}

TEST_CASE("schedules of a run's state") {
  const Optimizer sgd = SGD({.learning_rate = 0.25, .momentum = 0.9, .name = "s"});
  const Variable v = weight("v");
  sgd.build({v});
  const Json number = sgd.impl().schedules();
  sgd.set_learning_rate(
      schedules::ExponentialDecay({.initial_learning_rate = 0.5, .decay_steps = 5}));
  const Json schedule = sgd.impl().schedules();
  sgd.impl().restore_schedules(number);
  CHECK(sgd.variables().size() == 3);
  CHECK(sgd.variables()[1].name() == "learning_rate");
  CHECK(sgd.learning_rate().item<float>() == 0.25F);
  sgd.set_learning_rate(0.125);
  const int64_t version = sgd.impl().version();
  sgd.impl().restore_schedules(schedule);
  sgd.impl().restore_schedules(schedule);  // a no-op
  CHECK(sgd.impl().version() == version + 1);
  CHECK(sgd.variables().size() == 2);
  CHECK(sgd.impl().schedules() == schedule);
}

TEST_CASE("an optimizer's variables go to a store, and back") {
  for (const Optimizer& kind : all_kinds()) {
    CAPTURE(kind.impl().class_name());
    Sequential model = make_model(kind);
    train(model);
    const std::vector<float> wanted = numbers_of(model.optimizer().variables());
    std::map<std::string, Tensor> store;
    model.optimizer().save_own_variables(store);
    CHECK(store.size() == model.optimizer().variables().size());
    std::vector<Tensor> weights;
    for (const Variable& variable : model.optimizer().variables()) {
      weights.push_back(variable.value());
    }
    train(model);
    CHECK(numbers_of(model.optimizer().variables()) != wanted);
    model.optimizer().load_own_variables(store);
    CHECK(numbers_of(model.optimizer().variables()) == wanted);
    train(model);
    model.optimizer().set_weights(weights);
    CHECK(numbers_of(model.optimizer().variables()) == wanted);
  }
}

TEST_CASE("what an optimizer's variables can't be set to") {
  const Variable v = weight("v");
  const Optimizer sgd = SGD({.momentum = 0.9, .name = "s"});
  CHECK(message_of<FailedPrecondition>([&] { sgd.set_weights({}); }) ==
        "SGD 's': set_weights needs an optimizer that is built. Call build(variables) first.");
  std::map<std::string, Tensor> store;
  {
    const test::Log log;
    sgd.load_own_variables(store);
    CHECK(log.text().find("SGD 's': its state isn't loaded, since it has 2 variables, and 0 were "
                          "given. It isn't built: call build(variables) first.") !=
          std::string::npos);
  }
  sgd.build({v});
  CHECK(message_of([&] { sgd.set_weights({ops::ones({})}); }) ==
        "SGD 's': set_weights expected a tensor for each of 3 variables, got 1.");
  CHECK(message_of([&] {
          sgd.set_weights({ops::ones({}), ops::ones({}), ops::ones({3})});
        }) == "SGD 's': set_weights expected shape (2,) for 's/v_momentum', got (3,).");
  CHECK(message_of([&] {
          sgd.set_weights({ops::ones({}), ops::ones({}), Input({.batch_shape = {2}})});
        }) ==
        "SGD 's': set_weights expected numbers for 's/v_momentum', got a placeholder of a "
        "model.");
  CHECK(message_of([&] {
          sgd.set_weights(
              {ops::ones({}), ops::ones({}), Tensor::from(std::vector<std::string>{"a", "b"})});
        }) == "SGD 's': set_weights expected numbers for 's/v_momentum', got strings.");
  CHECK(sgd.variables()[0].value().item<int64_t>() == 0);
  sgd.save_own_variables(store);
  store["x"] = store.extract("1").mapped();
  CHECK(message_of([&] { sgd.load_own_variables(store); }) ==
        "SGD 's': load_own_variables expected the variables' numbers as names, but there is no "
        "'1'.");
}

TEST_CASE("optimizers of these kinds say what they need") {
  clear_session();
  CHECK(message_of([] { Optimizer("LossScaleOptimizer"); }) ==
        "LossScaleOptimizer 'loss_scale_optimizer': expected an inner_optimizer, got none.");
  clear_session();
  CHECK(message_of([] { LossScaleOptimizer({}); }) ==
        "LossScaleOptimizer 'loss_scale_optimizer': expected an inner_optimizer, got none.");
  CHECK(message_of([] {
          const LossScaleOptimizer inner({.inner_optimizer = SGD()});
          LossScaleOptimizer({.inner_optimizer = inner, .name = "l"});
        }) ==
        "LossScaleOptimizer 'l': expected an inner_optimizer that scales no losses itself, got "
        "another LossScaleOptimizer.");
  CHECK(message_of([] {
          LossScaleOptimizer({.inner_optimizer = SGD(), .initial_scale = 0, .name = "l"});
        }) == "LossScaleOptimizer 'l': expected initial_scale > 0, got 0.");
  CHECK(message_of([] {
          LossScaleOptimizer({.inner_optimizer = SGD(), .dynamic_growth_steps = 0, .name = "l"});
        }) == "LossScaleOptimizer 'l': expected dynamic_growth_steps > 0, got 0.");
  CHECK(message_of([] {
          Muon({.name = "m", .exclude_layers = {"a", "(b"}});
        }) == "Muon 'm': exclude_layers: expected regular expressions, got '(b': missing ): (b.");
  CHECK(message_of([] { Muon({.name = "m", .ns_steps = -1}); }) ==
        "Muon 'm': expected ns_steps in [0, 100], got -1.");
  CHECK(message_of([] { ScheduleFreeAdamW({.beta_1 = 0, .name = "s"}); }) ==
        "ScheduleFreeAdamW 's': expected beta_1 in (0, 1], got 0.");
  CHECK(message_of([] { ScheduleFreeAdamW({.warmup_steps = -1, .name = "s"}); }) ==
        "ScheduleFreeAdamW 's': expected warmup_steps >= 0, got -1.");
}

TEST_CASE("patterns and paths may be long") {
  const std::string path(100'000, 'a');
  const Variable variable(ops::ones({2, 2}), {.name = path});
  for (const char* pattern : {"(a|b)*c", "(variable|a*)*$x"}) {
    const OptimizerMap map(SGD(), {{pattern, Adam()}});
    CHECK(map(variable).impl().class_name() == "SGD");
  }
  CHECK(OptimizerMap(SGD(), {{"(a|b)*", Adam()}})(variable).impl().class_name() == "Adam");
  // A search takes time in proportion to the pattern's length times the path's.
  const std::string name(10'000, 'a');
  const Variable named(ops::ones({2, 2}), {.name = name});
  const Muon muon({.exclude_layers = {name}}), other({.exclude_layers = {name + "b"}});
  muon.build({named});
  other.build({named});
  CHECK(muon.variables().size() == other.variables().size() + 1);  // Adam's velocity, too
}

TEST_CASE("a MultiOptimizer says what it needs") {
  CHECK(message_of([] { Optimizer("MultiOptimizer"); }) ==
        "MultiOptimizer: expected an optimizer_map, got none.");
  CHECK(message_of([] { OptimizerMap{Optimizer()}; }) ==
        "OptimizerMap: expected a default_optimizer, got none.");
  CHECK(message_of([] {
          OptimizerMap(SGD(), {{"a", Optimizer()}});
        }) == "OptimizerMap: expected an optimizer for 'a', got none.");
  CHECK(message_of([] {
          OptimizerMap(SGD(), {{"(a", SGD()}});
        }) == "OptimizerMap: expected regular expressions, got '(a': missing ): (a.");
  auto multi = [](const OptimizerMap& map) {
    return MultiOptimizer({.optimizer_map = map, .name = "m"});
  };
  CHECK(message_of([&] {
          multi({SGD(), {{"a", LossScaleOptimizer({.inner_optimizer = SGD()})}}});
        }) ==
        "MultiOptimizer 'm': expected optimizers that update variables themselves, got a "
        "LossScaleOptimizer.");
  const Variable ab = weight("ab");
  CHECK(message_of([&] {
          multi({SGD(), {{"a.", SGD()}, {".b", SGD()}}}).build({ab});
        }) ==
        "OptimizerMap: expected one optimizer for variable 'ab', but 'a.' and '.b' match it.");
  const MultiOptimizer optimizer = multi({SGD()});
  const std::string no_rate =
      "MultiOptimizer 'm': its optimizers have learning rates of their own. Ask those that "
      "impl().parts() gives.";
  CHECK(message_of<FailedPrecondition>([&] { optimizer.learning_rate(); }) == no_rate);
  CHECK(message_of<FailedPrecondition>([&] { optimizer.set_learning_rate(0.1); }) == no_rate);
  CHECK(message_of([] {
          MultiOptimizer(
              {.optimizer_map = std::function<Optimizer(const Variable&)>(), .name = "m"});
        }) == "MultiOptimizer 'm': expected a function that chooses optimizers, got none.");
  const MultiOptimizer chosen(
      {.optimizer_map = [](const Variable&) { return Optimizer(); }, .name = "m"});
  CHECK(message_of([&] { serialize(chosen); }) ==
        "MultiOptimizer 'm': a function that chooses optimizers can't be saved. Use an "
        "OptimizerMap.");
  CHECK(message_of([&] { chosen.build({ab}); }) ==
        "MultiOptimizer 'm': expected an optimizer for variable 'ab', got none.");
}

TEST_CASE("an inner optimizer that was built for other variables is refused") {
  const SGD inner({.name = "i"});
  inner.build({weight("a")});
  const LossScaleOptimizer optimizer({.inner_optimizer = inner, .name = "l"});
  CHECK(message_of<FailedPrecondition>([&] { optimizer.build({weight("b")}); }) ==
        "LossScaleOptimizer 'l': expected optimizers that were built for no other variables, but "
        "SGD 'i' was. Make it with a new one.");
}

TEST_CASE("paths, patterns and functions choose a variable's optimizer") {
  const SGD fallback;
  const Adam exact;
  const Lion pattern;
  const OptimizerMap map(fallback, {{"enc.*", pattern}, {"encoder", exact}});
  auto chosen = [&](const char* name) { return &map(weight(name)).impl(); };
  CHECK(chosen("encoder") == &exact.impl());
  CHECK(chosen("encoders") == &pattern.impl());
  CHECK(chosen("my_enc") == &fallback.impl());
  const Optimizer fast = SGD({.learning_rate = 1.0});
  const Optimizer slow = SGD({.learning_rate = 0.125});
  const MultiOptimizer multi({.optimizer_map = [&](const Variable& variable) {
    return variable.name() == "a" ? fast : slow;
  }});
  const Variable a = weight("a");
  const Variable b = weight("b");
  multi.apply_gradients({ops::ones({2}), ops::ones({2})}, {a, b});
  CHECK(numbers_of({a, b}) == std::vector<float>{0, 0, 0.875f, 0.875f});
  CHECK(multi.iterations() == 1);
  REQUIRE(multi.impl().parts().size() == 2);
  CHECK(multi.impl().parts()[1].first == "optimizers/sgd_1");
}

TEST_CASE("a loss is scaled by what the variable holds, from the first traced step on") {
  const Variable w = weight("w");
  const LossScaleOptimizer optimizer({.inner_optimizer = SGD({.learning_rate = 0.25}),
                                      .initial_scale = 4.0,
                                      .dynamic_growth_steps = 2});
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = optimizer.scale_loss(ops::sum(x * w));
    optimizer.apply_gradients({tape.gradient(loss, w)}, {w});
    return loss;
  });
  auto loss_of = [&](float x) {
    return step.call({Tensor::from(std::vector<float>{x, 0})})[0].item<float>();
  };
  CHECK(loss_of(1) == 4);         // with w = 1
  CHECK(loss_of(1) == 4 * 0.75);  // the second step doubles the scale
  CHECK(loss_of(1) == 8 * 0.5);
  CHECK(std::isinf(loss_of(INFINITY)));  // skipped; halves the scale
  CHECK(loss_of(1) == 4 * 0.25);
  CHECK(optimizer.iterations() == 4);
}

TEST_CASE("scaling by powers of two changes no bit of a training") {
  Sequential plain = make_model(Adam({.learning_rate = 0.01}));
  Sequential scaled =
      make_model(LossScaleOptimizer({.inner_optimizer = Adam({.learning_rate = 0.01})}));
  const History expected = train(plain);
  CHECK(train(scaled)["loss"] == expected["loss"]);
  CHECK(numbers_of(scaled.weights()) == numbers_of(plain.weights()));
  scaled.optimizer().set_learning_rate(0.5);
  CHECK(scaled.optimizer().learning_rate().item<float>() == 0.5f);
}

TEST_CASE("a scale too large for float16 comes down until steps are taken") {
  Sequential model = make_model(
      LossScaleOptimizer({.inner_optimizer = SGD({.learning_rate = 0.1}), .initial_scale = 1e9}),
      "mixed_float16");
  const std::vector<float> before = numbers_of(model.weights());
  train(model, 12);
  const std::vector<float> after = numbers_of(model.weights());
  CHECK(after != before);
  for (const float value : after) CHECK(std::isfinite(value));
  CHECK(model.optimizer().iterations() < 36);
  CHECK(model.optimizer().iterations() > 0);
}

TEST_CASE("a model of mixed_float16 scales its losses itself") {
  for (const bool scales : {true, false}) {
    clear_session();
    const layers::Dense dense({.units = 2, .dtype = "mixed_float16"});
    Sequential model(Input({.shape = {4}}), {dense}, {.name = "m", .dtype = "mixed_float16"});
    const Optimizer given = SGD({.learning_rate = 0.1});
    model.compile({.optimizer = given, .loss = "mse", .auto_scale_loss = scales});
    const std::string expected = scales ? "LossScaleOptimizer" : "SGD";
    CHECK(model.optimizer().impl().class_name() == expected);
    train(model);
    CHECK(given.iterations() == 6);
    const test::Scratch scratch;
    model.save(scratch.path("m.keras"));
    Model back = load_model(scratch.path("m.keras"));
    CHECK(back.optimizer().impl().class_name() == expected);
    CHECK(numbers_of(back.optimizer().variables()) == numbers_of(model.optimizer().variables()));
    const LossScaleOptimizer own({.inner_optimizer = SGD()});
    model.compile({.optimizer = own, .loss = "mse"});
    CHECK(&model.optimizer().impl() == &own.impl());
  }
}

TEST_CASE("trainings go on from a saved model as if it hadn't been saved") {
  const test::Scratch scratch;
  for (const Optimizer& optimizer : all_kinds()) {
    CAPTURE(optimizer.impl().class_name());
    Sequential model = make_model(optimizer);
    train(model);
    model.save(scratch.path("model.keras"), {.overwrite = true});
    Model back = load_model(scratch.path("model.keras"));
    CHECK(numbers_of(back.optimizer().variables()) == numbers_of(optimizer.variables()));
    CHECK(serialize(back.optimizer()) == serialize(optimizer));
    train(model);
    train(back);
    CHECK(numbers_of(back.weights()) == numbers_of(model.weights()));
  }
}

TEST_CASE("a run that was stopped resumes with the bits it would have had") {
  for (size_t kind = 0; kind < all_kinds().size(); ++kind) {
    const Optimizer whole = all_kinds()[kind];
    CAPTURE(whole.impl().class_name());
    Sequential expected = make_model(whole);
    train(expected, 4);
    const test::Scratch scratch;
    auto part = [&](bool stops) {
      Sequential model = make_model(all_kinds()[kind]);
      const auto stop =
          callbacks::LambdaCallback({.on_epoch_begin = [&](int64_t epoch, const Logs&) {
            if (stops && epoch == 2) throw std::runtime_error("stopped");
          }});
      model.fit(
          values({12, 4}, 1), values({12, 2}, 2),
          {.batch_size = 4,
           .epochs = 4,
           .verbose = 0,
           .callbacks = {callbacks::BackupAndRestore({.backup_dir = scratch.path("state")}), stop},
           .shuffle = false});
      return numbers_of(model.weights());
    };
    CHECK_THROWS_WITH_AS(part(true), "stopped", std::runtime_error);
    CHECK(part(false) == numbers_of(expected.weights()));
  }
}
