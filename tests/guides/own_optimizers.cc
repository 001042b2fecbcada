// SPDX-License-Identifier: Apache-2.0
// Optimizers and learning-rate schedules of one's own, trained by fit and by a loop.
#include <cornu/cornu.h>
#include <doctest/doctest.h>

#include "tests/guides/guide.h"
#include "tests/support/scratch.h"

using namespace cornu;
using namespace cornu::guides;

namespace {

class Warmup : public ScheduleImpl {
 public:
  Warmup(double peak, double warmup_steps) : peak_(peak), warmup_steps_(warmup_steps) {}

  Tensor operator()(const Tensor& step) const override {
    Tensor progress = ops::cast(step + 1, "float32") / warmup_steps_;
    return peak_ * ops::minimum(progress, 1.0 / ops::sqrt(progress));
  }

  std::string class_name() const override { return "my_package>Warmup"; }
  Json get_config() const override {
    return Json::object({{"peak", peak_}, {"warmup_steps", warmup_steps_}});
  }

 private:
  double peak_, warmup_steps_;
};

class SoftSign : public OptimizerImpl {
 public:
  explicit SoftSign(double beta = 0.9, const OptimizerOptions& options = {})
      : OptimizerImpl("my_package>SoftSign", options), beta_(beta) {}

  Json get_config() const override {
    Json config = OptimizerImpl::get_config();
    config.set("beta", beta_);
    return config;
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override { return {{{"momentum"}}}; }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor& learning_rate = terms[0];
    const Variable& momentum = slot(0, index);
    Tensor mean = momentum * beta_ + gradient * (1 - beta_);
    momentum.assign(mean);
    variable.assign_sub(learning_rate * mean / (ops::abs(mean) + 0.01));
  }

 private:
  double beta_;
};

void register_own_optimizers() {
  register_serializable("my_package>Warmup", [](const Json& config) {
    return make_schedule<Warmup>(config.at("peak").as_double(),
                                 config.at("warmup_steps").as_double());
  });
  register_serializable("my_package>SoftSign", [](const Json& config) {
    return make_optimizer<SoftSign>(config.at("beta").as_double(),
                                    OptimizerOptions::from_config(config));
  });
}

// The weight after updates of two batches each, with averages and without fit.
Tensor accumulated(const Tensor& x, const Tensor& y) {
  Variable weight(values({6, 3}, 703), {.name = "weight"});
  Optimizer optimizer =
      make_optimizer<SoftSign>(0.9, OptimizerOptions{.learning_rate = 0.1,
                                                     .use_ema = true,
                                                     .ema_momentum = 0.5,
                                                     .gradient_accumulation_steps = 2});
  losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  for (int64_t begin = 0; begin < 16; begin += 4) {
    GradientTape tape;
    Tensor loss =
        loss_fn(y(Slice(begin, begin + 4)), ops::matmul(x(Slice(begin, begin + 4)), weight));
    optimizer.apply(tape.gradient(loss, {weight}), {weight});
  }
  optimizer.impl().finalize_variable_values();
  return weight;
}

}  // namespace

TEST_CASE("own_optimizer") {
  const Golden golden("own_optimizer");
  Sequential model({Input({.shape = {6}}), layers::Dense({.units = 8, .activation = "tanh"}),
                    layers::Dense({.units = 3})});
  initialize(model, 700);
  Optimizer optimizer = make_optimizer<SoftSign>(
      0.8,
      OptimizerOptions{
          .learning_rate = make_schedule<Warmup>(0.05, 3), .weight_decay = 0.01, .clipnorm = 1.0});
  model.compile({.optimizer = optimizer,
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  Tensor x = values({20, 6}, 701), y = labels(20, 3, 702);
  const FitOptions options{.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false};
  golden.check("history", model.fit(x, y, options));
  golden.check("rate", double(optimizer.learning_rate()));
  std::vector<std::string> names;
  for (const Variable& variable : optimizer.variables()) names.push_back(variable.path());
  golden.check("names", names);
  golden.check("momentum", optimizer.variables()[1].value());
  golden.check("accumulated", accumulated(x, y));

  // A file has the schedule, the momentum and beta: the loaded model trains on as this one does.
  register_own_optimizers();
  const test::Scratch folder;
  model.save(folder.path("own.keras"));
  Model loaded = load_model(folder.path("own.keras"));
  CHECK(loaded.fit(x, y, options)["loss"] == model.fit(x, y, options)["loss"]);
}
