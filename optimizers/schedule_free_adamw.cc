// SPDX-License-Identifier: Apache-2.0
#include "optimizers/schedule_free_adamw.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class ScheduleFreeAdamWImpl : public OptimizerWith<ScheduleFreeAdamWOptions> {
 public:
  explicit ScheduleFreeAdamWImpl(const ScheduleFreeAdamWOptions& options)
      : OptimizerWith("ScheduleFreeAdamW", options) {
    check<InvalidArgument>(options.beta_1 > 0 && options.beta_1 <= 1,
                           "ScheduleFreeAdamW '{}': expected beta_1 in (0, 1], got {}.", name(),
                           options.beta_1);
    check<InvalidArgument>(options.warmup_steps >= 0,
                           "ScheduleFreeAdamW '{}': expected warmup_steps >= 0, got {}.", name(),
                           options.warmup_steps);
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"momentum"}, {"velocity"}}};
  }

  // Momentums start at the values of the variables.
  void build_extra() override {
    for (size_t i = 0; i < trainable_variables().size(); ++i) {
      slot(0, i).store(trainable_variables()[i].stored());
    }
  }

  // The rate, the weight of this step in the average, and the bias correction of the second
  // moments.
  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    const Tensor number = update_number();
    Tensor rate = learning_rate;
    if (own_.warmup_steps > 0) {
      rate = rate * ops::minimum(number / static_cast<double>(own_.warmup_steps), 1.0);
    }
    return {rate, 1.0 / number, 1.0 - ops::power(own_.beta_2, number)};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Variable& momentum = slot(0, index);
    const Variable& velocity = slot(1, index);
    // As in Keras, so that 1 - beta_2 is rounded in the same way.
    const Tensor beta_1 = ops::cast(Tensor::scalar(own_.beta_1), variable.dtype());
    const Tensor beta_2 = ops::cast(Tensor::scalar(own_.beta_2), variable.dtype());
    const Tensor squares = velocity.value();
    const Tensor v = squares + (ops::square(gradient) - squares) * (1.0 - beta_2);
    velocity.assign(v);
    const Tensor z =
        momentum.value() - terms[0] * gradient / (ops::sqrt(v / terms[2]) + own_.epsilon);
    momentum.assign(z);
    // Interpolates between the average and the momentum. The paper extracts the average from the
    // old value using the old momentum; Keras on TensorFlow, which this follows, uses the new one.
    const Tensor average = (variable.value() - z * (1.0 - beta_1)) / beta_1;
    const Tensor moved = (1.0 - terms[1]) * average + terms[1] * z;
    variable.assign(z * (1.0 - beta_1) + moved * beta_1);
  }
};

}  // namespace

ScheduleFreeAdamW::ScheduleFreeAdamW(const ScheduleFreeAdamWOptions& options)
    : Optimizer(std::make_shared<ScheduleFreeAdamWImpl>(options)) {}

}  // namespace cornu::optimizers
