// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "framework/graph/passes/pass.h"
#include "framework/graph/trace.h"
#include "framework/model/layer.h"
#include "framework/ops/ops.h"
#include "optimizers/optimizers.h"
#include "tests/support/errors.h"

using namespace cornu;
using test::message_of;

namespace {

Variable make_variable(const std::string& name, const std::vector<float>& values) {
  return Variable(Tensor::from(values), {.name = name});
}

std::vector<float> values_of(const Variable& variable) {
  return variable.stored().to_vector<float>();
}

// The traced update of a variable with 1000 elements, after the passes.
Graph update_graph(const Optimizer& optimizer) {
  const Variable weight(ops::zeros({1000}), {.name = "w"});
  const TracedGraph traced =
      trace({{DType::Float32, {1000}}}, [&](const std::vector<Tensor>& gradients) {
        optimizer.apply_gradients(gradients, {weight});
        return std::vector<Tensor>{};
      });
  return passes::fuse_elementwise(passes::simplify(traced.graph));
}

// The number of nodes that work on the variable's elements rather than on scalars.
int large_nodes(const Graph& graph) {
  int count = 0;
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.outputs) {
      if (graph.type(id).shape.num_elements() == 1000) {
        ++count;
        break;
      }
    }
  }
  return count;
}

}  // namespace

TEST_CASE("optimizers resolve by name in Keras's spellings") {
  CHECK(Optimizer("rmsprop").impl().class_name() == "RMSprop");
  CHECK(Optimizer("RMSprop").impl().class_name() == "RMSprop");
  CHECK(Optimizer("adamw").impl().class_name() == "AdamW");
  CHECK(Optimizer("sgd").impl().class_name() == "SGD");
  CHECK(message_of([] { Optimizer("adaam"); }).find("Unknown optimizer 'adaam'. Did you mean ") ==
        0);
}

TEST_CASE("optimizers name themselves after their class, and are unique") {
  clear_session();
  CHECK(optimizers::Adam().impl().name() == "adam");
  CHECK(optimizers::Adam().impl().name() == "adam_1");
  CHECK(optimizers::RMSprop().impl().name() == "rm_sprop");
  CHECK(optimizers::SGD({.name = "mine"}).impl().name() == "mine");
  // Models compiled with the same name each get their own optimizer, and therefore different names.
  const Optimizer named = "adam";
  CHECK(named.for_compile().impl().name() == "adam_2");
  CHECK(named.for_compile().impl().name() == "adam_3");
  CHECK(named.for_compile().impl().name() == "adam_4");
}

TEST_CASE("the learning rate can be changed, but not a schedule's") {
  const optimizers::SGD optimizer({.learning_rate = 0.5});
  const Variable w = make_variable("w", {1.0f});
  optimizer.apply_gradients({Tensor::from(std::vector<float>{1.0f})}, {w});
  CHECK(values_of(w) == std::vector<float>{0.5f});
  optimizer.set_learning_rate(0.25);
  CHECK(optimizer.learning_rate().item<float>() == 0.25f);
  optimizer.apply_gradients({Tensor::from(std::vector<float>{1.0f})}, {w});
  CHECK(values_of(w) == std::vector<float>{0.25f});
  CHECK(optimizer.iterations() == 2);

  const optimizers::SGD scheduled({.learning_rate = optimizers::schedules::CosineDecay(
                                       {.initial_learning_rate = 0.1, .decay_steps = 10})});
  CHECK(scheduled.learning_rate().item<float>() == 0.1f);
  CHECK(message_of<FailedPrecondition>([&] {
          scheduled.set_learning_rate(1.0);
        }).find("expected a learning rate that is a number, got CosineDecay") != std::string::npos);
  CHECK(scheduled.variables().size() == 1);
}

TEST_CASE("variables without a gradient are left alone") {
  const optimizers::Adam optimizer({.learning_rate = 0.1, .name = "adam"});
  const Variable a = make_variable("a", {1.0f});
  const Variable b = make_variable("b", {2.0f});
  optimizer.apply_gradients({Tensor(), Tensor::from(std::vector<float>{1.0f})}, {a, b});
  CHECK(values_of(a) == std::vector<float>{1.0f});
  CHECK(values_of(b)[0] < 2.0f);
  CHECK(message_of([&] {
          optimizer.apply_gradients({Tensor(), Tensor()}, {a, b});
        }) ==
        "Adam 'adam': expected gradients, got none for any variable ('a', 'b'). Does the loss "
        "depend on them?");
}

TEST_CASE("mistakes are errors that name the optimizer") {
  const optimizers::SGD optimizer({.name = "sgd"});
  const Variable a = make_variable("a", {1.0f});
  const Tensor gradient = Tensor::from(std::vector<float>{1.0f});
  CHECK(message_of([&] {
          optimizer.apply_gradients({gradient, gradient}, {a});
        }) == "SGD 'sgd': expected a gradient for each of 1 variables, got 2.");
  CHECK(message_of([&] { optimizer.apply_gradients({gradient}, {make_variable("b", {1.0f})}); }) ==
        "SGD 'sgd': expected one of the variables it was built for, got 'b'. To train other "
        "variables, as after unfreezing layers, call compile again with a new optimizer.");
  CHECK(message_of([] { optimizers::SGD({.momentum = 2, .name = "sgd"}); }) ==
        "SGD 'sgd': expected momentum in [0, 1], got 2.");
  CHECK(message_of([] { optimizers::Adam({.clipnorm = 1.0, .clipvalue = 1.0}); }) ==
        "Adam: expected at most one of clipnorm, clipvalue and global_clipnorm, got more. Omit all "
        "but one.");
  CHECK(message_of([] { optimizers::Adam({.gradient_accumulation_steps = 1}); }) ==
        "Adam: expected gradient_accumulation_steps of at least 2, got 1. Omit it to update at "
        "every step.");
  CHECK(message_of([] { optimizers::AdamW({.weight_decay = std::nullopt}); }) ==
        "AdamW: expected a weight_decay, got None. Use Adam to train without.");
  CHECK(message_of([] { optimizers::schedules::CosineDecay({.decay_steps = 0}); }) ==
        "CosineDecay: expected decay_steps > 0, got 0.");
  CHECK(message_of([] {
          optimizers::schedules::PiecewiseConstantDecay({.boundaries = {1}, .values = {1.0}});
        }) ==
        "PiecewiseConstantDecay: expected one value more than boundaries, got 1 values and 1 "
        "boundaries.");
  CHECK(message_of<FailedPrecondition>([&] {
          optimizer.impl().exclude_from_weight_decay({.var_names = {"bias"}});
        }) == "SGD 'sgd': exclude_from_weight_decay must be called before the first step.");
}

TEST_CASE("iterations counts the updates of variables, as in Keras") {
  for (const bool scales : {false, true}) {
    CAPTURE(scales);
    const Variable v(ops::ones({2}), {.name = "v"});
    const Optimizer inner =
        optimizers::SGD({.learning_rate = 1.0, .gradient_accumulation_steps = 3});
    const Optimizer optimizer =
        scales ? optimizers::LossScaleOptimizer({.inner_optimizer = inner}) : inner;
    std::vector<int64_t> counts;
    for (int step = 0; step < 7; ++step) {
      optimizer.apply({ops::ones({2})}, {v});
      counts.push_back(optimizer.iterations());
    }
    CHECK(counts == std::vector<int64_t>{0, 0, 1, 1, 1, 2, 2});
    CHECK(optimizer.impl().iterations().item<int64_t>() == 7);
  }
}

TEST_CASE("a gradient of another shape than its variable") {
  const Variable v(ops::ones({2, 3}), {.name = "v"});
  const optimizers::SGD sgd({.name = "sgd"});
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{1, 3}, Shape{3, 2}}) {
    CHECK(message_of([&] { sgd.apply({ops::ones(shape)}, {v}); }) ==
          fmt::format("SGD 'sgd': expected a gradient of shape (2, 3) for variable 'v', got {}.",
                      shape));
  }
  CHECK(v.to_vector<float>() == std::vector<float>(6, 1.0f));
}

TEST_CASE("limits of 0 and less clip nothing, as in Keras") {
  for (const double limit : {0.0, -1.0}) {
    for (const auto& optimizer :
         {optimizers::SGD({.learning_rate = 0.1, .clipnorm = limit}),
          optimizers::SGD({.learning_rate = 0.1, .clipvalue = limit}),
          optimizers::SGD({.learning_rate = 0.1, .global_clipnorm = limit})}) {
      const Variable v = make_variable("v", {1.0f});
      optimizer.apply_gradients({Tensor::from(std::vector<float>{1.0f})}, {v});
      CHECK(v.value().item<float>() == doctest::Approx(0.9));
    }
  }
}

TEST_CASE("constraints act after the update") {
  const optimizers::SGD optimizer({.learning_rate = 1.0});
  const Variable w = make_variable("w", {1.0f, 1.0f});
  w.set_constraint([](const Tensor& value) { return ops::maximum(value, 0.0); });
  optimizer.apply_gradients({Tensor::from(std::vector<float>{3.0f, 0.5f})}, {w});
  CHECK(values_of(w) == std::vector<float>{0.0f, 0.5f});
}

TEST_CASE("losses are scaled as gradients are scaled back") {
  const optimizers::SGD optimizer({.loss_scale_factor = 8.0});
  CHECK(optimizer.scale_loss(Tensor::scalar(2.0f)).item<float>() == 16.0f);
  CHECK(optimizers::SGD().scale_loss(Tensor::scalar(2.0f)).item<float>() == 2.0f);
}

TEST_CASE("slots have the dtype of their variable") {
  const optimizers::Adam optimizer({.learning_rate = 0.5});
  const Variable w(ops::cast(ops::ones({4}), DType::BFloat16), {.name = "w"});
  optimizer.apply_gradients({ops::ones({4})}, {w});
  CHECK(w.dtype() == DType::BFloat16);
  CHECK(optimizer.variables()[2].dtype() == DType::BFloat16);
  CHECK(ops::cast(w.value(), DType::Float32).data<float>()[0] ==
        doctest::Approx(0.5f).epsilon(0.01));
}

TEST_CASE("the traced update of a variable is one elementwise kernel") {
  CHECK(large_nodes(update_graph(optimizers::SGD())) == 1);
  CHECK(large_nodes(update_graph(optimizers::SGD({.momentum = 0.9, .nesterov = true}))) == 1);
  CHECK(large_nodes(update_graph(optimizers::Adam())) == 1);
  CHECK(large_nodes(update_graph(optimizers::Adam({.amsgrad = true}))) == 1);
  CHECK(large_nodes(update_graph(optimizers::AdamW())) == 1);
  CHECK(large_nodes(update_graph(optimizers::RMSprop({.momentum = 0.9, .centered = true}))) == 1);
  CHECK(large_nodes(update_graph(optimizers::Lion())) == 1);
  // A kernel has at most four outputs; accumulation has more.
  CHECK(large_nodes(update_graph(optimizers::Adam({.gradient_accumulation_steps = 2}))) <= 4);
}

TEST_CASE("an optimizer that couldn't make its state can be tried again") {
  class NoRoomAtFirst : public OptimizerImpl {
   public:
    NoRoomAtFirst() : OptimizerImpl("NoRoomAtFirst", {.learning_rate = 0.5, .use_ema = true}) {}

   protected:
    std::vector<std::vector<Slot>> slot_groups() const override { return {{{"momentum"}}}; }
    void build_extra() override {
      if (tries_++ == 0) raise<ResourceExhausted>("no room");
    }
    void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                     std::span<const Tensor> terms) override {
      slot(0, index).assign(gradient);
      variable.assign(variable.value() - terms[0] * gradient);
    }
    int tries_ = 0;
  };
  const Optimizer optimizer(std::make_shared<NoRoomAtFirst>());
  const size_t before = optimizer.impl().variables().size();
  const Variable w = make_variable("w", {1.0f});
  const Tensor gradient = Tensor::from(std::vector<float>{1.0f});
  CHECK(message_of<ResourceExhausted>([&] { optimizer.apply_gradients({gradient}, {w}); }) ==
        "no room");
  CHECK_FALSE(optimizer.impl().built());
  CHECK(optimizer.impl().variables().size() == before);
  optimizer.apply_gradients({gradient}, {w});
  CHECK(values_of(w) == std::vector<float>{0.5f});
  CHECK(optimizer.impl().variables().size() == before + 2);
}

TEST_CASE("an optimizer of the user's own") {
  class SignSGD : public OptimizerImpl {
   public:
    explicit SignSGD(double rate) : OptimizerImpl("test>SignSGD", {.learning_rate = rate}) {}

   protected:
    std::vector<std::vector<Slot>> slot_groups() const override { return {}; }
    void update_step(const Tensor& gradient, const Variable& variable, size_t,
                     std::span<const Tensor> terms) override {
      variable.assign(variable.value() - terms[0] * ops::sign(gradient));
    }
  };
  clear_session();
  const Optimizer optimizer(std::make_shared<SignSGD>(0.5));
  const Variable w = make_variable("w", {1.0f});
  optimizer.apply_gradients({Tensor::from(std::vector<float>{7.0f})}, {w});
  CHECK(values_of(w) == std::vector<float>{0.5f});
  CHECK(optimizer.impl().name() == "sign_sgd");
  CHECK(serialize(optimizer).at("registered_name") == Json("test>SignSGD"));
}
