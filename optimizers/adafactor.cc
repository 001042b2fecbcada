// SPDX-License-Identifier: Apache-2.0
#include "optimizers/adafactor.h"

#include "framework/ops/ops.h"

namespace cornu::optimizers {
namespace {

Tensor root_mean_square(const Tensor& x) { return ops::sqrt(ops::mean(ops::square(x))); }

class AdafactorImpl : public OptimizerWith<AdafactorOptions> {
 public:
  explicit AdafactorImpl(const AdafactorOptions& options) : OptimizerWith("Adafactor", options) {}
  std::vector<Variable> untracked_variables() const override {
    std::vector<Variable> integers;
    for (const Moments& own : moments_) {
      if (own.velocity.shape().rank() < 2) integers.insert(integers.end(), {own.rows, own.columns});
    }
    return integers;
  }

 protected:
  // In Keras's files, vectors and scalars also have rows and columns: an integer each.
  void build_extra() override {
    moments_.clear();
    for (const Variable& variable : trainable_variables()) {
      const std::string path = name() + "/" + variable.name();
      const Shape& shape = variable.shape();
      Moments own;
      if (shape.rank() < 2) {
        own.rows = add_variable(variable.name(), {}, DType::Int32, 0);
        own.columns = add_variable(variable.name(), {}, DType::Int32, 0);
      } else {
        const Shape columns = shape.slice(0, -2).concat(shape.slice(-1));
        own.rows = add_variable(path, shape.slice(0, -1), variable.dtype(), 0);
        own.columns = add_variable(path, columns, variable.dtype(), 0);
      }
      own.velocity = add_like(variable, {"velocity"});
      moments_.push_back(own);
    }
  }

  std::vector<Tensor> step_terms(const Tensor& learning_rate) override {
    const Tensor number = update_number();
    return {ops::minimum(learning_rate, 1.0 / ops::sqrt(number)),
            1.0 - ops::power(number, own_.beta_2_decay)};
  }

  void update_step(const Tensor& gradient, const Variable& variable, size_t index,
                   std::span<const Tensor> terms) override {
    const Tensor value = variable.value();
    const Tensor size = ops::maximum(root_mean_square(value), own_.epsilon_2);
    const Tensor update = gradient / ops::sqrt(velocity(gradient, index, terms[1]));
    const Tensor limit = ops::maximum(root_mean_square(update) / own_.clip_threshold, 1.0);
    variable.assign(value - size * terms[0] * (update / limit));
  }

 private:
  struct Moments {
    Variable rows;
    Variable columns;
    Variable velocity;
  };

  Tensor velocity(const Tensor& gradient, size_t index, const Tensor& momentum) const {
    const Moments& own = moments_[index];
    const Tensor squares = ops::square(gradient) + own_.epsilon_1;
    auto average = [&](const Variable& old, const Tensor& now) {
      const Tensor moved = momentum * old.value() + (1.0 - momentum) * now;
      old.assign(moved);
      return moved;
    };
    if (gradient.rank() < 2) return average(own.velocity, squares);
    const Tensor rows = average(own.rows, ops::mean(squares, -1));
    const Tensor columns = average(own.columns, ops::mean(squares, -2));
    const Tensor of_rows = ops::expand_dims(rows / ops::mean(rows, -1, true), -1);
    const Tensor all = of_rows * ops::expand_dims(columns, -2);
    own.velocity.assign(all);
    return all;
  }

  std::vector<Moments> moments_;
};

}  // namespace

Adafactor::Adafactor(const AdafactorOptions& options)
    : Optimizer(std::make_shared<AdafactorImpl>(options)) {}

}  // namespace cornu::optimizers
