// SPDX-License-Identifier: Apache-2.0
#include "optimizers/nadam.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

class NadamImpl : public OptimizerWith<NadamOptions> {
 public:
  explicit NadamImpl(const NadamOptions& options) : OptimizerWith("Nadam", options) {}
  std::vector<Variable> untracked_variables() const override {
    return built() ? std::vector<Variable>{product_} : std::vector<Variable>{};
  }

 protected:
  std::vector<std::vector<Slot>> slot_groups() const override {
    return {{{"momentum"}, {"velocity"}}};
  }
  // The product of the momentum schedule so far. Keras leaves it unnamed.
  void build_extra() override { product_ = add_variable("variable", {}, DType::Float32, 1.0); }

  // The factors of the momentum and of the gradient, and the bias correction of the velocity.
  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    const Tensor number = update_number();
    const Tensor now = schedule(number);
    const Tensor next = schedule(number + 1.0);
    const Tensor product = product_.value() * now;
    product_.assign(product);
    return {learning_rate * next / (1.0 - product * next),
            learning_rate * (1.0 - now) / (1.0 - product), 1.0 - ops::power(own_.beta_2, number)};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor m = move_towards(slot(0, index), gradient, rest(own_.beta_1));
    const Tensor v = move_towards(slot(1, index), ops::square(gradient), rest(own_.beta_2));
    const Tensor step = m * terms[0] + gradient * terms[1];
    variable.assign(variable.value() - step / (ops::sqrt(v / terms[2]) + own_.epsilon));
  }

 private:
  // 1 - beta, with beta first rounded to float32, as in Keras.
  static double rest(double beta) { return 1.0f - static_cast<float>(beta); }
  Tensor schedule(const Tensor& number) const {
    return own_.beta_1 * (1.0 - 0.5 * ops::power(0.96, number));
  }

  Variable product_;
};

}  // namespace

Nadam::Nadam(const NadamOptions& options) : Optimizer(std::make_shared<NadamImpl>(options)) {}

}  // namespace cornu::optimizers
